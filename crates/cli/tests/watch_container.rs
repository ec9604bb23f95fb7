//! `tailback watch` in a PID namespace with its own /proc, as in a container. Programs have the
//! PIDs of the namespace, and programs outside have none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::groups::parent_or_skip;
use common::{BINARY, Place, allowed_cpus, turn};
use host::cgroup::{Bandwidth, BandwidthGroup};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use testing::{has_or_skip, root_or_skip};

const SPIN: &str = "while :; do :; done";

/// A program outside of the namespace. It ends with the test.
struct Outside(Child);

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a watch in a namespace, and the PID there of the victim. The script `start`
/// starts the victim first. None if eBPF programs do not work.
fn watched(start: &str) -> Option<(Value, u64)> {
    let place = Place::new();
    let script = format!("{start} echo $victim; exec {BINARY} watch --for 4s --json");
    let mut command = place.program("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script]);
    let ran = place.run(command);
    ran.assert_no_panic();
    let mut lines = ran.out.lines();
    let victim: u64 = lines.next().unwrap_or_else(|| panic!("{ran:?}")).parse().unwrap();
    let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let live = last["live"].clone();
    let scheduler = &live["sources"][0];
    assert_eq!(scheduler["source"], "scheduler");
    has_or_skip(scheduler["missing"].is_null(), scheduler).then_some((live, victim))
}

/// The same, where both counts of the shell's waits were compared. A reader that is held up
/// compares nothing, so a few watches may be needed.
fn compared(start: &str) -> Option<(Value, u64)> {
    for _ in 0..3 {
        let (live, victim) = watched(start)?;
        let mut victims = live["victims"].as_array().unwrap().iter();
        if victims.any(|one| one["program"]["name"] == "sh" && one["compared"].is_object()) {
            return Some((live, victim));
        }
        eprintln!("watched again, since nothing was compared");
    }
    panic!("nothing was compared in three watches");
}

/// The CPU of the shell and of `yes`. It is the last one, since other programs, such as those that
/// handle interrupts, are often on the first. Beside several programs, the shell would wait for a
/// long time at once, and one such wait may be over between the two counts that are compared.
fn cpu() -> usize {
    *allowed_cpus().last().unwrap()
}

/// Script lines that start a shell in its own session, which computes on that CPU. If sessions
/// share the CPUs, its session has little weight. So it is a victim whether or not another CPU is
/// idle.
fn victim() -> String {
    let cpu = cpu();
    let light = "{ echo 10 >/proc/self/autogroup; } 2>/dev/null";
    format!("setsid taskset -c {cpu} nice -n 10 sh -c '{light}; {SPIN}' & victim=$!;")
}

/// The culprit named `yes` in a finding about the shell.
fn culprit(live: &Value, victim: u64) -> Value {
    let findings = live["findings"].as_array().unwrap();
    let of_victim = |one: &&Value| one["victim"]["name"] == "sh" && one["victim"]["pid"] == victim;
    let culprits = findings.iter().filter(of_victim).filter_map(|one| one["culprits"].as_array());
    let found = culprits.flatten().find(|one| one["name"] == "yes");
    found.unwrap_or_else(|| panic!("{victim}: {findings:#?}")).clone()
}

/// All programs that lost something are inside, with small PIDs and thread numbers. Their ready
/// time is the time that the kernel counts.
fn assert_all_inside(live: &Value) {
    let victims: Vec<model::live::Victim> =
        serde_json::from_value(live["victims"].clone()).unwrap();
    for one in &victims {
        assert!(!one.program.outside && (1..1000).contains(&one.program.pid), "{one:?}");
        assert!(one.threads.iter().all(|thread| (1..1000).contains(&thread.tid)), "{one:?}");
        assert_eq!(one.parts.sum_ns(), one.parts.ready_ns, "{one:?}");
    }
    let shell = victims.iter().find(|one| one.program.name == "sh").unwrap();
    let over_ns = live["over_ns"].as_u64().unwrap();
    assert!(shell.compared.unwrap().agrees(over_ns), "{shell:?}");
}

fn source<'a>(live: &'a Value, source: &str) -> Option<&'a Value> {
    live["sources"].as_array().unwrap().iter().find(|one| one["source"] == source)
}

#[test]
fn a_container_sees_who_holds_up_whom_in_it() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let beside = format!("setsid taskset -c {} yes >/dev/null &", cpu());
    let Some((live, shell)) = compared(&format!("{} {beside}", victim())) else { return };
    let by = culprit(&live, shell);
    assert!(by["outside"].is_null(), "{by}");
    assert_all_inside(&live);
    assert_eq!(source(&live, "outside-programs").unwrap()["missing"], "pid-namespace");
}

#[test]
fn a_program_outside_is_told_as_one_without_a_pid() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let mut command = Command::new("setsid");
    command.args(["taskset", "-c", &cpu().to_string(), "yes"]);
    let _yes = Outside(command.stdout(Stdio::null()).spawn().unwrap());
    let Some((live, shell)) = compared(&victim()) else { return };
    let by = culprit(&live, shell);
    assert_eq!((&by["outside"], &by["pid"]), (&true.into(), &0.into()), "{by}");
    assert_all_inside(&live);
}

#[test]
fn a_quota_holds_a_program_of_a_container() {
    let Some(parent) = parent_or_skip() else { return };
    let _turn = turn::take();
    let group = BandwidthGroup::create(&parent).unwrap();
    group.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let procs = group.path().join("cgroup.procs");
    let held = format!("setsid sh -c 'echo $$ >{}; {SPIN}' & victim=$!;", procs.display());
    let Some((live, shell)) = watched(&held) else { return };
    let name = group.path().file_name().unwrap().to_str().unwrap();
    // Other groups on this machine may be throttled too.
    let own = |one: &&Value| one["facts"]["group"].as_str().is_some_and(|it| it.ends_with(name));
    let mut findings = live["findings"].as_array().unwrap().iter();
    let found = findings.find(own).unwrap_or_else(|| panic!("{live:#}"));
    assert_eq!(found["stall"], "cpu-quota", "{found}");
    assert_eq!((&found["victim"]["name"], &found["victim"]["pid"]), (&"sh".into(), &shell.into()));
}

/// As in a pod: in its cgroup namespace, its own group is mounted. The groups of the machine are
/// mounted too, and the kernel names them by `..`.
#[test]
fn a_quota_of_another_group_is_found_from_within_a_cgroup_namespace() {
    let Some(parent) = parent_or_skip() else { return };
    let _turn = turn::take();
    let [held, own] = [(); 2].map(|()| BandwidthGroup::create(&parent).unwrap());
    held.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let join = |group: &BandwidthGroup| {
        format!("echo $$ >{}", group.path().join("cgroup.procs").display())
    };
    let (place, loads) = (Place::new(), Place::new());
    let mut load = loads.program("sh");
    load.args(["-c", &format!("{} && {SPIN}", join(&held))]);
    let load = loads.start(load);
    let in_namespace = |mounts: &str, words: &str| {
        let watch = format!("{{ {mounts}; }} && exec {BINARY} watch {words}");
        let watch = format!("exec unshare --cgroup --mount sh -c '{watch}'");
        let mut command = place.program("sh");
        command.args(["-c", &format!("{} && {watch}", join(&own))]);
        place.run(command)
    };
    let pod = place.path("pod");
    std::fs::create_dir(&pod).unwrap();
    let pod = pod.display();
    let beside =
        format!("mount -t cgroup -o cpu pod {pod} 2>/dev/null || mount -t cgroup2 pod {pod}");
    let ran = in_namespace(&beside, "--for 4s --json");
    ran.assert_no_panic();
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let live = &last["live"];
    let scheduler = &live["sources"][0];
    if !has_or_skip(scheduler["missing"].is_null(), scheduler) {
        return;
    }
    let name = held.path().file_name().unwrap().to_str().unwrap();
    let of_held =
        |one: &&Value| one["facts"]["group"].as_str().is_some_and(|it| it.ends_with(name));
    let mut findings = live["findings"].as_array().unwrap().iter();
    let found = findings.find(of_held).unwrap_or_else(|| panic!("{live:#}"));
    assert_eq!(
        (&found["stall"], &found["victim"]["pid"]),
        (&"cpu-quota".into(), &load.pid().into())
    );
    let victim = found["victim"]["group"].as_str().unwrap();
    assert!(victim.ends_with(name) && !victim.contains(".."), "{found}");
    assert!(source(live, "groups-above").is_none(), "{live:#}");
    // If the groups of the machine are not mounted, it reports what it cannot see.
    let v1 = "cd /sys/fs/cgroup/cpu/.. && umount -l cpu && mount -t cgroup -o cpu pod cpu";
    let v2 = "cd / && umount -l /sys/fs/cgroup && mount -t cgroup2 pod /sys/fs/cgroup";
    let instead = format!("{{ {v1}; }} 2>/dev/null || {{ {v2}; }}");
    let ran = in_namespace(&instead, "--incidents --for 3s");
    assert!(ran.err.contains("quotas of groups above and beside this container"), "{ran:?}");
}
