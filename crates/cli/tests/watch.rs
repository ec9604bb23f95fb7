//! `tailback watch` with the tool's own loads: which tasks are held up, and by which.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::groups::parent_or_skip;
use common::watching::{Load, assert_parts_add_up, finding, has_programs, seen};
use common::{BINARY, Place, allowed_cpus, turn, two_cpus_or_skip};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use testing::{does_not_apply, has_or_skip, root_or_skip, skipped};

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
    // With other work on the machine, the output also names a larger loss, and other waits near a
    // limit.
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
    // One event per second.
    assert!(of("C", "mapper ") >= 2 && of("X", "mmap-lock") == 1, "{trace}");
}

/// Least share of the held time for which readers at nice 15 have no CPU beside three programs that
/// compute. These leave them some percent of the CPU, on any machine.
const WITHOUT_CPU: f64 = 0.7;

/// The kernel gives the lock to a reader that sleeps, and wakes the reader then. The reader holds
/// the lock from its wake-up on, and mostly has no CPU meanwhile. When the time without a CPU was
/// counted only from the moment at which the reader ran, `watch` showed 43% instead of 99%.
#[test]
fn readers_that_were_given_the_lock_and_wait_for_a_cpu_are_told_apart() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let cpus = allowed_cpus();
    let first = cpus[0].to_string();
    let last = cpus[cpus.len() - 1].to_string();
    let mapper = ["mapper", "--mb", "128", "--duration-ms", "300000", "--cpu", &first];
    let mapper = Load::generator(&mapper);
    let pid = mapper.pid();
    let scanner = ["scanner", "--pid", &pid, "--file", "smaps", "--workers", "2"];
    let _scanners = Load::generator(&[&scanner[..], &["--nice", "15", "--cpu", &last]].concat());
    let hog = ["taskset", "-c", &last, "sh", "-c", "while :; do :; done"];
    let _hogs = [(); 3].map(|()| Load::in_this_session(&hog));
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &pid]));
    if !has_programs(&live) {
        return;
    }
    let sources = live["sources"].as_array().unwrap();
    let lock = sources.iter().find(|one| one["source"] == "mmap-lock").unwrap();
    if !has_or_skip(lock["missing"].is_null(), lock) {
        return;
    }
    let found = finding(&live, "mmap-lock").unwrap_or_else(|| panic!("{live:#}"));
    assert_eq!(found["culprits"][0]["name"], "scanner", "{found}");
    assert!(found["facts"]["preempted"].as_f64().unwrap() >= WITHOUT_CPU, "{found}");
}

/// Since Linux 6.17, `maps` is read under the lock of one mapping. That lock has no tracepoint.
#[test]
fn a_reader_of_a_single_mapping_is_named_by_the_stack_of_who_waits() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let cpus = allowed_cpus();
    let (first, last) = (cpus[0].to_string(), cpus[cpus.len() - 1].to_string());
    let mapper = Load::generator(&["mapper", "--mb", "64", "--duration-ms", "300000"]);
    let scanner = ["scanner", "--pid", &mapper.pid(), "--file", "maps", "--workers", "4"];
    let scanners = Load::generator(&[&scanner[..], &["--nice", "15"]].concat());
    // Readers that are preempted keep the lock. The mapper has another CPU, so that it reaches
    // the lock.
    mapper.pin(&first);
    scanners.pin(&last);
    let hog = ["taskset", "-c", &last, "sh", "-c", "while :; do :; done"];
    let _hogs = [(); 2].map(|()| Load::start(&hog));
    let pid = mapper.pid();
    let mut found = None;
    for _ in 0..10 {
        let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &pid]));
        if !has_programs(&live) {
            return;
        }
        let sources = live["sources"].as_array().unwrap();
        let source = sources.iter().find(|one| one["source"] == "mapping-lock");
        let Some(source) = source else {
            return does_not_apply("this kernel has one lock of a memory map");
        };
        if !has_or_skip(source["missing"].is_null(), source) {
            return;
        }
        found = finding(&live, "mmap-lock").cloned().or(found);
        // A look in which the mapper waited only once or twice may not know the file.
        if found.as_ref().is_some_and(|found| found["facts"]["file"].is_string()) {
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
    let Some(parent) = parent_or_skip() else { return };
    let _turn = turn::take();
    let group = BandwidthGroup::create(&parent).unwrap();
    group.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let hog = Load::start(&["sh", "-c", "while :; do :; done"]);
    group.add(hog.0.id()).unwrap();
    let began = Instant::now();
    let before = group.usage();
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json"]));
    let throttled = group.usage().since(&before).throttled_ns.unwrap() as f64 / 1e6;
    let throttled = throttled / began.elapsed().as_secs_f64();
    if !has_programs(&live) {
        return;
    }
    let name = group.path().file_name().unwrap().to_str().unwrap();
    let mut all = live["findings"].as_array().unwrap().iter();
    // Other groups on this machine may be throttled too.
    let own = |one: &&Value| one["facts"]["group"].as_str().is_some_and(|it| it.ends_with(name));
    let found = all.find(own).unwrap_or_else(|| panic!("{live:#}"));
    let facts = &found["facts"];
    assert_eq!(found["stall"], "cpu-quota", "{found}");
    assert_eq!((&facts["whose"], &facts["cause"]), (&"own".into(), &"used-up".into()), "{found}");
    assert_eq!((&facts["quota_us"], &facts["period_us"]), (&5000.into(), &50_000.into()));
    assert!(found["run"].is_null(), "no kernel bug, so no scenario: {found}");
    // About as much of each second as the group's own counter, which counts for a longer time.
    let held = found["cost_ms_per_s"].as_f64().unwrap();
    assert!(held > 0.5 * throttled && held < 1.2 * throttled, "{held} of {throttled}");
    assert_parts_add_up(&live);
}

/// A shell that computes on the first CPU together with `yes`, watched for four seconds. Only this
/// shell is watched, since another busy program may have the same name.
fn beside_yes() -> Value {
    let cpu = allowed_cpus()[0].to_string();
    let victim = ["taskset", "-c", &cpu, "nice", "-n", "5", "sh", "-c", "while :; do :; done"];
    let victim = Load::start(&victim);
    // If this test runs in a control group, both would belong to the group of one program.
    let parent = ParentGroup::find(&host::Roots::real());
    let group = parent.ok().map(|parent| BandwidthGroup::create(&parent).unwrap());
    let hog = Load::start(&["taskset", "-c", &cpu, "yes"]);
    group.iter().for_each(|group| group.add(hog.0.id()).unwrap());
    seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &victim.pid()]))
}

/// Idle time of all CPUs except the first allowed one, in clock ticks, from /proc/stat.
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
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let before = idle_ticks_beside_the_first();
    let start = Instant::now();
    let live = beside_yes();
    let idle = idle_ticks_beside_the_first().saturating_sub(before);
    let ticks = start.elapsed().as_secs_f64() * rustix::param::clock_ticks_per_second() as f64;
    let idle = idle as f64 / ticks;
    if !has_programs(&live) {
        return;
    }
    let confined = &live["victims"][0]["parts"]["confined"];
    let Some(found) = finding(&live, "confined") else {
        // It counts as confined only while another CPU is idle. Other work on this machine may
        // leave none idle.
        assert!(idle < 0.5, "{idle}: {live:#}");
        return;
    };
    // It may wait as long for another busy program on this CPU.
    let culprits = found["culprits"].as_array().unwrap();
    assert!(culprits.iter().any(|one| one["name"] == "yes"), "{found}");
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
    assert_eq!(found["facts"]["real_time"], "fifo", "{found}");
    assert!(found["cost_ms_per_s"].as_f64().unwrap() > 200.0, "{found}");
}

#[test]
fn a_thread_that_waits_before_and_all_the_time_is_counted() {
    if !root_or_skip() || !has_or_skip(Path::new("/proc/self/autogroup").exists(), "autogroup") {
        return;
    }
    let _turn = turn::take();
    // The heavy one has six thousand times the weight. The light one gets a few milliseconds in
    // many seconds.
    let cpu = allowed_cpus()[0].to_string();
    let heavy = Load::start(&["taskset", "-c", &cpu, "sha1sum", "/dev/zero"]);
    let light = Load::start(&["taskset", "-c", &cpu, "sha256sum", "/dev/zero"]);
    // With its low weight, a program would take long to become another one.
    for (of, name) in [(&light, "sha256sum"), (&heavy, "sha1sum")] {
        let file = format!("/proc/{}/comm", of.pid());
        let is_named = || fs::read_to_string(&file).is_ok_and(|text| text.trim_end() == name);
        common::wait_for(name, || is_named().then_some(()));
    }
    thread::sleep(Duration::from_millis(300));
    for (of, nice) in [(&light, "19"), (&heavy, "-20")] {
        fs::write(format!("/proc/{}/autogroup", of.pid()), nice).unwrap();
        // In a control group, the weights of sessions have no effect.
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

/// The kernel's clock stands still from a wake-up that preempts until its switch. Otherwise
/// `watch` would report a quarter less waiting time for `yes`.
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
    let pid = yes.pid();
    let mut both = Value::Null;
    for _ in 0..3 {
        let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &pid]));
        if !has_programs(&live) {
            return;
        }
        both = live["victims"][0]["compared"].clone();
        // A reader that is held up compares nothing.
        if both["kernel_ns"].as_f64() > Some(1e8) {
            break;
        }
    }
    let of = |key: &str| both[key].as_f64().unwrap_or_default();
    assert!(of("kernel_ns") > 1e8, "{both}");
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
    // If a lot is cached, the first compaction may last for seconds. `watch` does not see one
    // that began before it.
    fs::write(file, "1").unwrap();
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
        // How much the kernel has to move depends on what else is in memory.
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
    let sleeper = Load::start(&["sleep", "600"]);
    // A hypervisor that takes CPU time is reported, whatever the sleeper does. Then it looks again.
    let look = |_| Place::new().say(&["watch", "--for", "3s", "--pid", &sleeper.pid()]);
    let mut looks = (0..5).map(look);
    let ran = looks.find(|ran| !ran.out.contains("but the hypervisor takes"));
    let ran = ran.expect("the hypervisor takes CPU time in five looks");
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
    // A user who cannot load programs.
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = place.program("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", BINARY]);
            command
        }
        false => place.program(BINARY),
    };
    command.args(["watch", "--for", "3s", "--json"]);
    let live = seen(&place.run(command));
    let answers = live["answers"].as_array().unwrap();
    for scenario in scenarios::ALL {
        let id = scenario.meta().id;
        // On live systems this stall has a wider name: the sleeper may wait at a condition
        // variable, or for a message that passes a lock on.
        let stall = if id == "held-mutex" { "asleep-behind" } else { id };
        let answer = answers.iter().find(|one| one["stall"] == stall).unwrap();
        let is_honest = !answer["state"]["not-measurable"].is_null();
        // Everybody may read the counters of cpu.stat and memory.events.
        let files = ["cpu-quota", "quota-blind", "memory-high"];
        let is_honest = is_honest || files.contains(&id);
        assert!(is_honest, "{answer}");
    }
}
