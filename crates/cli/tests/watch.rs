//! `tailback watch` beside the tool's own loads: who is held up, by whom, and that nothing is
//! written.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{BINARY, Place, Ran, allowed_cpus, turn};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup};
use libbpf_rs::query;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use testing::{has_or_skip, root_or_skip, skipped};

/// A load that ends with the test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Load {
    /// A program of its own session, as a service is.
    fn start(words: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: prctl is one of the calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // Nobody drops it where the test is killed.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        Load(command.spawn().unwrap())
    }

    /// A generator of the tool, once it is set up and released.
    fn generator(words: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.arg("load").args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.contains("ready"), "{ready}");
        child.stdin.as_mut().unwrap().write_all(b"g").unwrap();
        Load(child)
    }

    /// Confines it and its children to this CPU.
    fn pin(&self, cpu: &str) {
        let pin = |pid: &str| {
            let mut taskset = Command::new("taskset");
            taskset.args(["-a", "-c", "-p", cpu, pid]).stdout(Stdio::null());
            assert!(taskset.status().unwrap().success(), "{pid}");
        };
        let own = self.pid();
        pin(&own);
        let children = Command::new("pgrep").args(["-P", &own]).output().unwrap();
        String::from_utf8(children.stdout).unwrap().split_whitespace().for_each(pin);
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

/// The last line of JSON: what was seen in all of the time.
fn seen(ran: &Ran) -> Value {
    ran.assert_no_panic();
    let last = ran.out.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    let line: Value = serde_json::from_str(last).unwrap();
    assert_eq!(line["schema"], "tailback/watch/1");
    line["live"].clone()
}

/// Whether programs can be had here, by the tool's own word.
fn has_programs(live: &Value) -> bool {
    let scheduler = &live["sources"][0];
    assert_eq!(scheduler["source"], "scheduler");
    has_or_skip(scheduler["missing"].is_null(), scheduler)
}

fn finding<'a>(live: &'a Value, stall: &str) -> Option<&'a Value> {
    live["findings"].as_array().unwrap().iter().find(|one| one["stall"] == stall)
}

/// Every victim's parts add up to its ready time.
fn assert_parts_add_up(live: &Value) {
    for victim in live["victims"].as_array().unwrap() {
        let parts: model::live::Parts = serde_json::from_value(victim["parts"].clone()).unwrap();
        assert_eq!(parts.sum_ns(), parts.ready_ns, "{victim}");
    }
}

#[test]
fn a_reader_of_a_memory_map_is_named_with_its_file() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let mapper = Load::generator(&["mapper", "--mb", "64", "--duration-ms", "60000"]);
    let scanner = ["scanner", "--pid", &mapper.pid(), "--file", "smaps", "--workers", "2"];
    let _scanners = Load::generator(&[&scanner[..], &["--nice", "0"]].concat());
    let place = Place::new();
    let record = place.path("watch.record.json");
    let (to, pid) = (record.to_str().unwrap(), mapper.pid());
    let ran = place.say(&["watch", "--for", "4s", "--json", "--record", to, "--pid", &pid]);
    let live = seen(&ran);
    if !has_programs(&live) {
        return;
    }
    assert_eq!(ran.code(), 1, "{ran:?}");
    let found = finding(&live, "mmap-lock").unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(found["victim"]["name"], "mapper", "{found}");
    assert_eq!(found["culprits"][0]["name"], "scanner", "{found}");
    assert_eq!(found["facts"]["file"], "smaps", "{found}");
    assert_eq!(found["run"]["parameters"]["procfile"], "smaps", "{found}");
    assert_parts_add_up(&live);

    let explained = place.say(&["explain", to]);
    assert_eq!(explained.code(), 1, "{explained:?}");
    // Beside other work a larger loss is named too, and other waits are near a limit.
    assert!(explained.out.lines().count() <= 30, "{}", explained.out);
    let explained = place.say(&["explain", "--why", to]);
    let words: Vec<&str> = explained.out.split_whitespace().collect();
    assert!(words.join(" ").contains("reads the victim's smaps"), "{explained:?}");
    let judged = place.say(&["judge", to]);
    assert_eq!(judged.code(), 2, "{judged:?}");
    let trace = place.path("trace.json");
    place.say(&["explain", "--perfetto", trace.to_str().unwrap(), to]);
    let trace: Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |kind: &str, name: &str| {
        let is = |e: &&Value| e["ph"] == kind && e["name"].as_str().unwrap().starts_with(name);
        events.iter().filter(is).count()
    };
    // One each second.
    assert!(of("C", "mapper ") >= 2 && of("X", "mmap-lock") == 1, "{trace}");
}

/// Since Linux 6.17 `maps` is read under the lock of one mapping, which has no tracepoint.
#[test]
fn a_reader_of_a_single_mapping_is_named_by_the_stack_of_who_waits() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let cpus = allowed_cpus();
    let (first, last) = (cpus[0].to_string(), cpus[cpus.len() - 1].to_string());
    let mapper = Load::generator(&["mapper", "--mb", "64", "--duration-ms", "60000"]);
    let scanner = ["scanner", "--pid", &mapper.pid(), "--file", "maps", "--workers", "4"];
    let scanners = Load::generator(&[&scanner[..], &["--nice", "15"]].concat());
    // Readers that are preempted keep the lock; who maps has another CPU, so that it gets to it.
    mapper.pin(&first);
    scanners.pin(&last);
    let hog = ["taskset", "-c", &last, "sh", "-c", "while :; do :; done"];
    let _hogs = [(); 2].map(|()| Load::start(&hog));
    let pid = mapper.pid();
    let mut found = None;
    for _ in 0..5 {
        let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &pid]));
        if !has_programs(&live) {
            return;
        }
        let sources = live["sources"].as_array().unwrap();
        let source = sources.iter().find(|one| one["source"] == "mapping-lock");
        let Some(source) = source else {
            eprintln!("this kernel has one lock of a memory map");
            return;
        };
        if !has_or_skip(source["missing"].is_null(), source) {
            return;
        }
        found = finding(&live, "mmap-lock").cloned();
        if found.is_some() {
            break;
        }
    }
    let found = found.expect("no reader was found");
    assert_eq!(found["victim"]["name"], "mapper", "{found}");
    assert_eq!(found["culprits"][0]["name"], "scanner", "{found}");
    assert_eq!(found["facts"]["file"], "maps", "{found}");
}

#[test]
fn a_quota_that_work_uses_up_is_the_groups_own() {
    let Ok(parent) = ParentGroup::find(&host::Roots::real()) else {
        skipped("no groups can be made here");
        return;
    };
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let group = BandwidthGroup::create(&parent).unwrap();
    group.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let hog = Load::start(&["sh", "-c", "while :; do :; done"]);
    group.add(hog.0.id()).unwrap();
    let before = group.usage();
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json"]));
    let throttled = group.usage().since(&before).throttled_ns.unwrap() as f64 / 1e6;
    if !has_programs(&live) {
        return;
    }
    let name = group.path().file_name().unwrap().to_str().unwrap();
    let mut all = live["findings"].as_array().unwrap().iter();
    // Others on this machine may be throttled too.
    let own = |one: &&Value| one["facts"]["group"].as_str().is_some_and(|it| it.ends_with(name));
    let found = all.find(own).unwrap_or_else(|| panic!("{live:#}"));
    let facts = &found["facts"];
    assert_eq!(found["stall"], "cpu-quota", "{found}");
    assert_eq!((&facts["whose"], &facts["cause"]), (&"own".into(), &"used-up".into()), "{found}");
    assert_eq!((&facts["quota_us"], &facts["period_us"]), (&5000.into(), &50_000.into()));
    assert_eq!(found["run"]["parameters"]["quota"], "5ms");
    // As much as the group's own counter, which counts a little longer.
    let held = found["cost_ms_per_s"].as_f64().unwrap() * live["over_ns"].as_f64().unwrap() / 1e9;
    assert!(held > 0.5 * throttled && held < 1.2 * throttled, "{held} of {throttled}");
    assert_parts_add_up(&live);
}

/// What the kubelet keeps of a container, and its group below one with a quota, until it is
/// dropped.
struct InPod {
    group: BandwidthGroup,
    folders: Vec<PathBuf>,
    link: PathBuf,
}

impl InPod {
    fn create(parent: &ParentGroup) -> Self {
        let group = BandwidthGroup::create(parent).unwrap();
        let id = format!("{:064x}", std::process::id());
        let below = ["kubepods", "kubepods/pod6f1b", &format!("kubepods/pod6f1b/{id}")];
        let groups = below.map(|name| group.path().join(name));
        let logs = PathBuf::from("/var/log/containers");
        let folders: Vec<PathBuf> =
            groups.into_iter().chain([logs.clone()]).filter(|it| !it.exists()).collect();
        let link = logs.join(format!("orders-0_shop_db-{id}.log"));
        let made = InPod { group, folders, link };
        made.folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        std::os::unix::fs::symlink("/dev/null", &made.link).unwrap();
        made
    }

    fn add(&self, pid: u32) {
        let inner = format!("kubepods/pod6f1b/{:064x}", std::process::id());
        let inner = self.group.path().join(inner);
        fs::write(inner.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for InPod {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.link);
        self.folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

#[test]
fn a_container_is_called_what_the_kubelet_calls_it() {
    // Below a unit or a container, groups may be anybody's.
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let is_of_cpu = |line: &&str| {
        let controllers = line.split(':').nth(1).unwrap_or_default();
        controllers.is_empty() || controllers.split(',').any(|one| one == "cpu")
    };
    let is_top = own.lines().filter(is_of_cpu).all(|line| line.ends_with(":/"));
    let parent = ParentGroup::find(&host::Roots::real());
    let (Ok(parent), true) = (parent, has_or_skip(is_top, "this test runs in a group")) else {
        return;
    };
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let pod = InPod::create(&parent);
    pod.group.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let hog = Load::start(&["sh", "-c", "while :; do :; done"]);
    pod.add(hog.0.id());
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &hog.pid()]));
    if !has_programs(&live) {
        return;
    }
    let found = finding(&live, "cpu-quota").unwrap_or_else(|| panic!("{live:#}"));
    let container = &found["victim"]["workload"]["container"];
    assert_eq!(container["name"], "db", "{found:#}");
    assert_eq!(container["pod"], json!({"uid": "6f1b", "namespace": "shop", "name": "orders-0"}));
    let named: Vec<&String> = found["workloads"].as_object().unwrap().keys().collect();
    assert!(named.iter().any(|group| group.ends_with("/pod6f1b")), "{named:?}");
}

/// A shell that computes on the first CPU beside `yes`, watched for four seconds.
fn beside_yes() -> Value {
    let cpu = allowed_cpus()[0].to_string();
    let victim = ["taskset", "-c", &cpu, "nice", "-n", "5", "sh", "-c", "while :; do :; done"];
    let _victim = Load::start(&victim);
    // Where this test runs in a control group, both would be of one program's group.
    let parent = ParentGroup::find(&host::Roots::real());
    let group = parent.ok().map(|parent| BandwidthGroup::create(&parent).unwrap());
    let hog = Load::start(&["taskset", "-c", &cpu, "yes"]);
    group.iter().for_each(|group| group.add(hog.0.id()).unwrap());
    seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--comm", "sh"]))
}

/// How long the CPUs but the first one that may be used were idle, in clock ticks, by /proc/stat.
fn idle_ticks_beside_the_first() -> u64 {
    let first = format!("cpu{}", allowed_cpus()[0]);
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let cpus = stat.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let others = cpus.filter(|words| {
        let number = words[0].strip_prefix("cpu");
        number.is_some_and(|number| !number.is_empty()) && words[0] != first
    });
    others.map(|words| words[4].parse::<u64>().unwrap()).sum()
}

#[test]
fn a_program_that_may_not_use_an_idle_cpu_is_told_so() {
    if !root_or_skip() || allowed_cpus().len() < 2 {
        return;
    }
    let _turn = turn::take();
    let before = idle_ticks_beside_the_first();
    let start = std::time::Instant::now();
    let live = beside_yes();
    let idle = idle_ticks_beside_the_first().saturating_sub(before);
    let ticks = start.elapsed().as_secs_f64() * rustix::param::clock_ticks_per_second() as f64;
    let idle = idle as f64 / ticks;
    if !has_programs(&live) {
        return;
    }
    let confined = &live["victims"][0]["parts"]["confined"];
    let Some(found) = finding(&live, "confined") else {
        // It is one only while another CPU is idle: other work on this machine may leave none.
        assert!(idle < 0.5, "{idle}: {live:#}");
        return;
    };
    assert_eq!(found["culprits"][0]["name"], "yes", "{found}");
    assert_eq!(confined["cpus"], allowed_cpus()[0].to_string());
}

#[test]
fn a_real_time_policy_is_named_although_a_timer_wakes_it() {
    if !root_or_skip() || !has_or_skip(Path::new("/usr/bin/chrt").exists(), "no chrt here") {
        return;
    }
    let _turn = turn::take();
    let cpu = allowed_cpus()[0].to_string();
    let beat = "import time\nwhile True:\n  until = time.monotonic() + 0.04\n  \
                while time.monotonic() < until: pass\n  time.sleep(0.04)";
    let _hog = Load::start(&["chrt", "--fifo", "40", "taskset", "-c", &cpu, "python3", "-c", beat]);
    let _victim = Load::start(&["taskset", "-c", &cpu, "sh", "-c", "while :; do :; done"]);
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--comm", "sh"]));
    if !has_programs(&live) {
        return;
    }
    let found = finding(&live, "real-time").unwrap_or_else(|| panic!("{live:#}"));
    assert_eq!(found["facts"]["policy"]["real-time"], 40, "{found}");
    assert!(found["cost_ms_per_s"].as_f64().unwrap() > 200.0, "{found}");
}

#[test]
fn a_thread_that_waits_before_and_all_the_time_is_counted() {
    if !root_or_skip() || !has_or_skip(Path::new("/proc/self/autogroup").exists(), "autogroup") {
        return;
    }
    let _turn = turn::take();
    // Six thousand times the weight: the other gets a few milliseconds in many seconds.
    let cpu = allowed_cpus()[0].to_string();
    let heavy = Load::start(&["taskset", "-c", &cpu, "sha1sum", "/dev/zero"]);
    let light = Load::start(&["taskset", "-c", &cpu, "sha256sum", "/dev/zero"]);
    thread::sleep(Duration::from_millis(300));
    for (of, nice) in [(&light, "19"), (&heavy, "-20")] {
        fs::write(format!("/proc/{}/autogroup", of.pid()), nice).unwrap();
        // In a control group, sessions do not count.
        let pid = rustix::process::Pid::from_child(&of.0);
        rustix::process::setpriority_process(Some(pid), nice.parse().unwrap()).unwrap();
    }
    thread::sleep(Duration::from_millis(300));
    let live = seen(&Place::new().say(&["watch", "--for", "3s", "--json"]));
    if !has_programs(&live) {
        return;
    }
    let victims = live["victims"].as_array().unwrap();
    let name = |victim: &&Value| victim["program"]["name"] == "sha256sum";
    let ready = victims.iter().find(name).map_or(0, |it| it["parts"]["ready_ns"].as_u64().unwrap());
    assert!(ready * 2 > live["over_ns"].as_u64().unwrap(), "{live}");
    assert_parts_add_up(&live);
}

/// Two processes on two CPUs that wake each other thousands of times a second. When the first one
/// ends, the second one ends too.
const TURNS: &str = "import os, sys
there, back = os.pipe(), os.pipe()
if os.fork() == 0:
  os.close(there[1])
  os.sched_setaffinity(0, {int(sys.argv[1])})
  while os.read(there[0], 1): os.write(back[1], b'x')
  os._exit(0)
os.sched_setaffinity(0, {int(sys.argv[2])})
while True:
  os.write(there[1], b'x')
  os.read(back[0], 1)";

/// The kernel's clock stands still from a wake-up that preempts to its switch. Otherwise `watch`
/// would report a quarter less waiting time for `yes`.
#[test]
fn wake_ups_that_preempt_count_as_the_kernel_counts_them() {
    if !root_or_skip() || !has_or_skip(allowed_cpus().len() > 1, "a second CPU is missing") {
        return;
    }
    let _turn = turn::take();
    let cpus: Vec<String> = allowed_cpus().iter().map(usize::to_string).collect();
    let _turns = Load::start(&["python3", "-c", TURNS, &cpus[0], &cpus[1]]);
    let yes = Load::start(&["taskset", "-c", &cpus[0], "yes"]);
    thread::sleep(Duration::from_millis(300));
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &yes.pid()]));
    if !has_programs(&live) {
        return;
    }
    let both = &live["victims"][0]["compared"];
    let of = |key: &str| both[key].as_f64().unwrap_or_default();
    assert!(of("kernel_ns") > 1e8, "{live:#}");
    assert!((of("parts_ns") / of("kernel_ns") - 1.0).abs() < 0.1, "{both}");
}

/// A program that makes the kernel move pages waits for memory.
#[test]
fn a_thread_that_compacts_memory_itself_is_found() {
    let file = "/proc/sys/vm/compact_memory";
    let writable = || fs::OpenOptions::new().write(true).open(file).is_ok();
    if !root_or_skip() || !has_or_skip(writable(), file) {
        return;
    }
    let _turn = turn::take();
    let forever = format!("while :; do echo 1 >{file}; done");
    let load = Load::start(&["sh", "-c", &forever]);
    thread::sleep(Duration::from_millis(300));
    let live = seen(&Place::new().say(&["watch", "--for", "3s", "--json"]));
    let pid = load.0.id();
    drop(load);
    let sources = live["sources"].as_array().unwrap();
    let reclaim = sources.iter().find(|one| one["source"] == "reclaim").unwrap();
    if !has_programs(&live) || !has_or_skip(reclaim["missing"].is_null(), reclaim) {
        return;
    }
    let mut rows = live["victims"].as_array().unwrap().iter();
    let row = rows.find(|one| one["program"]["pid"] == pid).unwrap_or_else(|| panic!("{live:#}"));
    let compacting = row["memory"]["compaction_ns"].as_f64().unwrap();
    assert!(compacting > 1e6, "{row}");
    let Some(found) = finding(&live, "memory-stall") else {
        // How much there is to move depends on what else is in memory.
        let mut answers = live["answers"].as_array().unwrap().iter();
        let answer = answers.find(|one| one["stall"] == "memory-stall").unwrap();
        let limit = answer["state"]["not-hitting"]["finding_at_ms_per_s"].as_f64().unwrap();
        let rate = compacting / live["over_ns"].as_f64().unwrap() * 1e3;
        return assert!(rate < limit, "{live:#}");
    };
    assert_eq!(found["victim"]["name"], "sh", "{found}");
    assert!(found["facts"]["compacting"].as_f64().unwrap() > 0.5, "{found}");
}

#[test]
fn a_neighbour_on_the_same_cpu_is_named() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    // No other CPU is idle.
    let others = allowed_cpus().into_iter().skip(1);
    let _others: Vec<Load> =
        others.map(|cpu| Load::start(&["taskset", "-c", &cpu.to_string(), "yes"])).collect();
    let live = beside_yes();
    if !has_programs(&live) {
        return;
    }
    let found = finding(&live, "neighbour").unwrap_or_else(|| panic!("{live:#}"));
    assert_eq!(found["victim"]["name"], "sh", "{found}");
    let named = live["victims"][0]["parts"]["neighbours"].as_array().unwrap();
    assert!(named.iter().any(|one| one["program"]["name"] == "yes"), "{live:#}");
}

#[test]
fn a_process_that_sleeps_is_well() {
    let _turn = turn::take();
    let sleeper = Load::start(&["sleep", "60"]);
    let ran = Place::new().say(&["watch", "--for", "1s", "--pid", &sleeper.pid()]);
    ran.assert_no_panic();
    if ran.code() == 3 {
        skipped(&ran.err);
        return;
    }
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.lines().last().unwrap().starts_with("All well"), "{ran:?}");
}

#[test]
fn every_known_stall_has_an_answer_without_programs_too() {
    let place = Place::new();
    // Somebody who may load no programs.
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = place.program("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", BINARY]);
            command
        }
        false => place.program(BINARY),
    };
    command.args(["watch", "--for", "1s", "--json"]);
    let live = seen(&place.run(command));
    let answers = live["answers"].as_array().unwrap();
    for scenario in scenarios::ALL {
        let id = scenario.meta().id;
        // On live systems it has a wider name: who is to wake another one may hold no lock.
        let stall = if id == "held-mutex" { "asleep-behind" } else { id };
        let answer = answers.iter().find(|one| one["stall"] == stall).unwrap();
        let is_honest = !answer["state"]["not-measurable"].is_null();
        // What cpu.stat and memory.events count everybody may read.
        let files = ["cpu-quota", "quota-blind", "memory-high"];
        let is_honest = is_honest || files.contains(&id);
        assert!(is_honest, "{answer}");
    }
}

#[test]
fn wrong_words_are_refused_with_what_is_wrong() {
    common::assert_refused(
        &["watch"],
        &[
            (&["--for", "1s", "--pid", "4194305"], 2, "no such process"),
            (&["--for", "never"], 2, "never"),
            (&["--for", "1s", "--pid", "0"], 2, "0"),
            (&[], 2, "--for 30s"),
            (&["--for", "1s", "--ring", "1MiB"], 2, "--record FILE"),
        ],
    );
}

/// System calls by which a process could be stopped, changed or read under its locks, and those
/// that change what outlives this one.
const FORBIDDEN: &[&str] = &[
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kill",
    "tgkill",
    "tkill",
    "rt_sigqueueinfo",
    "pidfd_send_signal",
    "pidfd_getfd",
    "setpriority",
    "sched_setscheduler",
    "sched_setattr",
    "ioprio_set",
    "mkdir",
    "mkdirat",
    "rmdir",
    "mknod",
    "mknodat",
    "symlink",
    "symlinkat",
    "truncate",
    "chmod",
    "fchmodat",
    "chown",
    "fchownat",
    "setxattr",
    "utimensat",
    "mount",
    "umount2",
    "fsopen",
    "execve",
    "connect",
    "sendto",
    "sendmsg",
    "init_module",
    "finit_module",
];

/// System calls by which a file gets its name.
const NAMING: &[&str] =
    &["link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat"];

/// Files of /proc/PID that are made under a lock of the process.
const UNDER_LOCK: &[&str] = &[
    "smaps",
    "smaps_rollup",
    "maps",
    "numa_maps",
    "cmdline",
    "environ",
    "pagemap",
    "mem",
    "auxv",
    "map_files",
    "clear_refs",
    "stack",
    "syscall",
];

/// A line of strace: the call, and what it was given.
fn call(line: &str) -> Option<(&str, &str)> {
    line.split_once(' ')?.1.trim_start().split_once('(')
}

/// The file of another process that a call names, by its path or below an open folder.
fn file_of_process(given: &str, own: u32) -> Option<&str> {
    let (folder, rest) = given.split_once('"')?;
    let name = rest.split_once('"')?.0;
    let (pid, file) = match name.strip_prefix("/proc/") {
        Some(path) => path.split_once('/')?,
        None => (folder.split_once("</proc/")?.1.split_once('>')?.0, name),
    };
    let pid: u32 = pid.parse().ok()?;
    (pid != own).then(|| file.rsplit('/').next().unwrap_or(file))
}

/// The processes of a trace that are the reader or its workers: it is started as a program, and
/// ends those that it forks.
fn readers(trace: &str) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let call = rest.trim_start();
        if call.starts_with("execve(\"/proc/self/exe\", [\"tailback\", \"reader\"]") {
            all.insert(pid);
        }
        let forked = all.contains(pid) && ["clone(", "fork("].iter().any(|it| call.starts_with(it));
        if let (true, Some((_, child))) = (forked, call.rsplit_once("= ")) {
            all.insert(child);
        }
    }
    all
}

#[test]
fn it_writes_its_record_and_nothing_else() {
    let place = Place::new();
    let works = place.program("strace").arg("-V").output().is_ok();
    if !has_or_skip(works, "needs strace") || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (trace, record) = (place.path("trace"), place.path("kept.json"));
    let mut command = place.program("strace");
    command.args(["-f", "-y", "-qq", "-o", trace.to_str().unwrap(), BINARY, "watch"]);
    command.args(["--for", "2s", "--record", record.to_str().unwrap()]);
    let ran = place.run(command);
    assert!([0, 1].contains(&ran.code()), "{ran:?}");
    let trace = std::fs::read_to_string(trace).unwrap();
    let own: u32 = trace.split(' ').next().unwrap().parse().unwrap();
    let folder = record.parent().unwrap().to_str().unwrap();
    let readers = readers(&trace);
    assert!(!readers.is_empty(), "no reader");
    let mut read = 0;
    // The first call is the program itself.
    for line in trace.lines().skip(1) {
        let is_reader = line.split_once(' ').is_some_and(|(pid, _)| readers.contains(pid));
        let Some((call, given)) = call(line) else { continue };
        let fine = is_reader && ["execve", "kill"].contains(&call);
        // To and from the reader; nothing connects to anything.
        let fine = fine || call == "sendto" && given.contains("<socket:");
        assert!(fine || !FORBIDDEN.contains(&call), "{call}({given}");
        assert!(!NAMING.contains(&call) || given.contains(folder), "{call}({given}");
        let creates = ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| given.contains(flag));
        let creates = creates && !given.contains("\"/dev/null\"");
        let opens = ["open", "openat", "openat2", "creat"].contains(&call);
        assert!(!(opens && creates) || given.contains(folder), "{call}({given}");
        // What stays behind in the kernel is pinned somewhere.
        assert!(!(call == "bpf" && given.contains("BPF_OBJ_PIN")), "{call}({given}");
        if ["write", "pwrite64", "writev", "ftruncate"].contains(&call) {
            let to = given.split_once('<').map_or("", |(_, to)| to);
            let ways = ["pipe:", "anon_inode:", "socket:", "UNIX"];
            let fine = ways.iter().any(|way| to.starts_with(way));
            assert!(fine || to.starts_with(folder), "{call}({given}");
        }
        if opens && let Some(file) = file_of_process(given, own) {
            read += 1;
            assert!(!UNDER_LOCK.contains(&file), "{call}({given}");
        }
    }
    assert!(read > 0, "no file of a process was read");
    assert!(record.exists());
}

/// What a process has of the kernel's programs, tables and links, by number.
#[derive(Debug, Default, PartialEq, Eq)]
struct InKernel {
    programs: BTreeSet<u32>,
    tables: BTreeSet<u32>,
    links: BTreeSet<u32>,
}

impl InKernel {
    fn of(pid: u32) -> Self {
        let mut all = InKernel::default();
        for file in common::files(Path::new(&format!("/proc/{pid}/fdinfo"))) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let number = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|number| number.trim().parse().ok())
            };
            // A link names its program too.
            match number("link_id:") {
                Some(link) => drop(all.links.insert(link)),
                None => all.programs.extend(number("prog_id:")),
            }
            all.tables.extend(number("map_id:"));
        }
        all
    }

    /// Those of them that the kernel still has.
    fn left(&self) -> Self {
        let of = |mine: &BTreeSet<u32>, all: BTreeSet<u32>| mine & &all;
        InKernel {
            programs: of(&self.programs, query::ProgInfoIter::default().map(|it| it.id).collect()),
            tables: of(&self.tables, query::MapInfoIter::default().map(|it| it.id).collect()),
            links: of(&self.links, query::LinkInfoIter::default().map(|it| it.id).collect()),
        }
    }
}

#[test]
fn killed_it_leaves_nothing() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let mut command = place.program(BINARY);
    let record = place.path("kept.json");
    command.args(["watch", "--json", "--ring", "1MiB", "--record", record.to_str().unwrap()]);
    let running = place.start(command);
    let out = place.path("out");
    common::wait_for("a line", || std::fs::metadata(&out).unwrap().len().checked_sub(1));
    let had = InKernel::of(running.pid());
    let live: Value =
        serde_json::from_str(std::fs::read_to_string(&out).unwrap().lines().next().unwrap())
            .unwrap();
    if !has_programs(&live["live"]) {
        return;
    }
    assert!(!had.programs.is_empty() && !had.tables.is_empty() && !had.links.is_empty(), "{had:?}");
    assert_eq!(had.left(), had);
    let journal = || common::files(Path::new("/run/tailback"));
    let before = journal();
    running.signal(rustix::process::Signal::KILL);
    let ran = running.end();
    assert_eq!(common::processes::below(ran.pid).len(), 0);
    common::wait_for("the kernel to let go of it", || {
        (had.left() == InKernel::default()).then_some(())
    });
    assert_eq!(journal(), before);
    // A ring writes where a finding began, and never half a record.
    let mut names: Vec<_> = common::files(record.parent().unwrap());
    names.retain(|file| !file.ends_with("out") && !file.ends_with("err"));
    for file in names.iter().filter(|file| file.is_file()) {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", file.display());
    }
}

#[test]
fn processes_that_come_and_go_by_the_thousand_are_counted_within_bounds() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let many = "while :; do for i in 1 2 3 4 5 6 7 8; do /bin/true & done; wait; done";
    let parent = ParentGroup::find(&host::Roots::real());
    let group = parent.ok().map(|parent| BandwidthGroup::create(&parent).unwrap());
    let loads = [(); 2].map(|()| Load::start(&["sh", "-c", many]));
    let pids = loads.iter().map(|load| load.0.id());
    pids.for_each(|pid| group.iter().for_each(|group| group.add(pid).unwrap()));
    let began = forks();
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json"]));
    let made = forks() - began;
    drop(loads);
    if !has_programs(&live) {
        return;
    }
    assert!(made >= 1000, "only {made} processes");
    assert_parts_add_up(&live);
    let cost: model::live::Cost = serde_json::from_value(live["cost"].clone()).unwrap();
    // Twice what a storm of threads takes that fills every table, in a build for debugging.
    assert!(cost.memory_bytes + cost.table_bytes < 192 << 20, "{cost:?}");
    // How many find no place is for the speed of the machine to say; that they are few is not.
    assert!(cost.lost_threads * 2 < made, "{made} processes, {cost:?}");
    // However many there were, they are one program of each load, or of the group of both. When one
    // is looked at that ends, it has left its group (version 1).
    let victims = live["victims"].as_array().unwrap();
    let same = victims.iter().map(|one| &one["program"]).filter(|one| one["name"] == "true");
    let rows = if group.is_some() { 1 } else { 2 };
    assert!(same.count() <= rows, "{live:#}");
}

/// Processes that this machine has made.
fn forks() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let line = stat.lines().find_map(|line| line.strip_prefix("processes "));
    line.unwrap().trim().parse().unwrap()
}
