//! Groups with a quota on this machine's kernel. If the kernel allows none, each test prints the
//! reason and passes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::group::BadQuota;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tailback_host::Roots;
use tailback_host::cgroup::{Bandwidth, BandwidthGroup, CgroupError, ParentGroup, sweep};

/// Environment variable that makes this test the owner that gets killed.
const OWNER: &str = "TAILBACK_TEST_OWNER";

/// Timeout for a slow machine; it is no measurement.
const PATIENCE: Duration = Duration::from_secs(60);

const FIVE_PERCENT: Bandwidth = Bandwidth { quota_us: 1_000, period_us: 20_000, burst_us: 0 };

fn parent_group() -> Option<ParentGroup> {
    match ParentGroup::find(&Roots::real()) {
        Ok(parent_group) => Some(parent_group),
        Err(why) => {
            testing::skipped(format!("{why:?}"));
            None
        }
    }
}

/// A process that is always busy; it is reaped when this value is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn paths(group: &BandwidthGroup) -> Vec<PathBuf> {
    group.join_paths().into_iter().map(Path::to_owned).collect()
}

#[test]
fn a_busy_process_is_throttled_and_counted_and_goes_with_its_group() {
    let Some(parent_group) = parent_group() else { return };
    let group = BandwidthGroup::create(&parent_group).unwrap();
    group.set(&FIVE_PERCENT).unwrap();
    let before = group.usage();
    let mut busy = Busy::start();
    group.add(busy.0.id()).unwrap();
    // Since Linux 6.18, a period counts as throttled before any throttled time is added.
    until("some throttled periods", || {
        let usage = group.usage();
        usage.nr_throttled >= Some(5) && usage.since(&before).throttled_ns > Some(0)
    });
    let used = group.usage().since(&before);
    assert!(used.nr_periods >= used.nr_throttled, "{used:?}");
    assert!(used.throttled_ns > Some(0) && used.usage_ns.is_none_or(|ns| ns > 0), "{used:?}");

    let paths = paths(&group);
    group.remove().unwrap();
    assert!(paths.iter().all(|path| !path.exists()));
    assert_eq!(busy.0.wait().unwrap().signal(), Some(9));
}

#[test]
fn settings_are_taken_in_any_order_and_read_back() {
    let Some(parent_group) = parent_group() else { return };
    let group = BandwidthGroup::create(&parent_group).unwrap();
    let bandwidths = [
        Bandwidth { quota_us: 50_000, period_us: 100_000, burst_us: 50_000 },
        Bandwidth { quota_us: 1_000, period_us: 1_000_000, burst_us: 1_000 },
        Bandwidth { quota_us: 1_000, period_us: 1_000, burst_us: 0 },
        Bandwidth { quota_us: 20_000, period_us: 10_000, burst_us: 0 },
    ];
    for bandwidth in bandwidths {
        match group.set(&bandwidth) {
            Err(CgroupError::Value(BadQuota::NoBurst { .. })) => testing::skipped("no burst here"),
            done => done.unwrap(),
        }
    }
    let text = |file: &str| std::fs::read_to_string(group.path().join(file)).unwrap_or_default();
    let quota = text("cpu.cfs_quota_us") + &text("cpu.max");
    assert!(quota.starts_with("20000"), "{quota}");
    let absurd = Bandwidth { quota_us: u64::MAX, period_us: 1_000, burst_us: 0 };
    let error = group.set(&absurd).unwrap_err();
    assert!(error.is_bad_value(), "{error:?}");
}

#[test]
fn groups_below_and_their_processes_go_too() {
    let Some(parent_group) = parent_group() else { return };
    let group = BandwidthGroup::create(&parent_group).unwrap();
    let below = group.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let busy = Busy::start();
    std::fs::write(below.join("cgroup.procs"), busy.0.id().to_string()).unwrap();
    let path = group.path().to_owned();
    drop(group);
    assert!(!path.exists());
}

#[test]
fn what_a_killed_owner_left_is_swept_and_nothing_else() {
    let Some(parent_group) = parent_group() else { return };
    if std::env::var_os(OWNER).is_some() {
        return be_an_owner(&parent_group);
    }
    let mine = BandwidthGroup::create(&parent_group).unwrap();
    let name = "what_a_killed_owner_left_is_swept_and_nothing_else";
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(OWNER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (left, worker) = read_announcement(&mut owner);
    assert!(left.iter().all(|path| path.exists()));
    assert!(
        sweep(&parent_group).removed.iter().all(|path| !left.contains(path)),
        "its owner lives"
    );

    // The owner is not reaped: a zombie counts as dead.
    owner.kill().unwrap();
    // Another test may sweep first, or a sweep may run while the worker still ends.
    until("the end of the owner and of what it left", || {
        sweep(&parent_group);
        left.iter().all(|path| !path.exists())
    });
    owner.wait().unwrap();
    until("the end of its worker", || !runs(worker));
    assert!(mine.path().exists());
}

/// Makes a group with a busy process in it, prints its path, and waits to be killed.
fn be_an_owner(parent_group: &ParentGroup) {
    let group = BandwidthGroup::create(parent_group).unwrap();
    group.set(&FIVE_PERCENT).unwrap();
    let busy = Busy::start();
    group.add(busy.0.id()).unwrap();
    let paths: Vec<String> = paths(&group).iter().map(|path| path.display().to_string()).collect();
    println!("\nleft {} {}", busy.0.id(), paths.join(" "));
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// The groups of an owner and the process in them.
fn read_announcement(owner: &mut Child) -> (Vec<PathBuf>, u32) {
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.starts_with("left ")).unwrap();
    let mut words = line.split(' ').skip(1);
    let worker = words.next().unwrap().parse().unwrap();
    (words.map(PathBuf::from).collect(), worker)
}

/// Whether a process still runs; a zombie does not.
fn runs(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}
