//! Guests, with a real QEMU if there is one: verdicts, panics, and nothing left behind.
//!
//! The kernel comes from the cache or from Debian. Without either, tests that boot a guest print
//! that they are skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, wait_for};
use guest::{
    Accel, Cache, Clock, Ending, Event, Guest, Job, Kernel, Limits, Outcome, Qemu, Search, Setup,
    initramfs,
};
use os::arch::Arch;
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const KERNEL: &str = "debian:6.1";

/// Far longer than a study takes in an emulated guest, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(540);

/// The cache of the user, which all tests share, so that a kernel is fetched only once.
fn cache() -> PathBuf {
    os::folders::cache().unwrap_or_else(|| "/var/cache".into())
}

fn vm(place: &Place, args: &[&str]) -> Command {
    let mut command = place.tailback(args);
    command.env("XDG_CACHE_HOME", cache());
    command
}

/// Runs a command that boots a guest, until its end.
fn booted(place: &Place, args: &[&str]) -> Ran {
    place.start(vm(place, args)).end_within(PATIENCE)
}

/// Whether there are QEMU and a kernel. If not, prints that the test is skipped.
fn kernel_or_skip() -> bool {
    static LACKS: OnceLock<Option<String>> = OnceLock::new();
    let lacks = LACKS.get_or_init(|| {
        let qemu = Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
        if qemu { no_kernel() } else { Some("needs qemu-system-x86".to_owned()) }
    });
    if let Some(why) = lacks {
        testing::skipped(why);
    }
    lacks.is_none()
}

/// The reason why there is no kernel; None if there is one. If none is cached, a guest fetches it.
/// That guest may take only a second and is then ended, but its kernel is fetched before that.
fn no_kernel() -> Option<String> {
    let is_cached = || cache().join("tailback/kernels/debian/6.1.json").exists();
    if is_cached() {
        return None;
    }
    let place = Place::new();
    let ran = booted(&place, &["vm", "--kernel", KERNEL, "--limit", "1s", "--", "list"]);
    (!is_cached()).then(|| format!("{KERNEL} is neither cached nor to be had: {}", ran.err))
}

fn refused(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code(), code, "{ran:?}");
    let wrongs = ran.wrongs();
    assert_eq!(wrongs.len(), 1, "{ran:?}");
    for word in words {
        assert!(wrongs[0].contains(word), "{word}: {ran:?}");
    }
    assert_eq!(ran.out, "");
}

/// Emulators that have this word on their command line.
fn emulators(word: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // The path of the program is the first word.
            let program = line.split(' ').next().unwrap_or_default();
            program.contains("qemu-system") && line.contains(word)
        })
        .collect()
}

#[test]
fn without_qemu_the_package_is_named() {
    let place = Place::new();
    let mut command = vm(&place, &["vm", "--kernel", KERNEL, "--", "list"]);
    command.env("PATH", "/nonexistent");
    refused(&place.run(command), 3, &["apt-get install qemu-system-x86"]);
}

#[test]
fn what_is_no_kernel_is_refused_before_anything_is_booted() {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        testing::skipped("needs qemu-system-x86");
        return;
    }
    let place = Place::new();
    std::fs::write(place.path("text"), "not a kernel\n").unwrap();
    let mut arm = vec![0; 4096];
    arm[56..60].copy_from_slice(b"ARM\x64");
    std::fs::write(place.path("Image"), arm).unwrap();
    let say = |kernel: &str, rest: &[&str]| {
        let words = [&["vm", "--kernel", kernel], rest, &["--", "list"]].concat();
        place.run(vm(&place, &words))
    };
    let path = |name: &str| place.path(name).display().to_string();
    refused(&say(&path("text"), &[]), 2, &["not a kernel", "bzImage"]);
    refused(&say(&path("Image"), &[]), 2, &["arm64"]);
    refused(&say(&path("missing"), &[]), 2, &["missing"]);
    refused(&say(common::BINARY, &[]), 2, &["ELF"]);
    refused(&say("debian:2.4", &[]), 2, &["debian:6.12"]);
    refused(&say("debian:6.1", &["--cpus", "4096"]), 2, &["--cpus 4096"]);
    refused(&say("debian:6.1", &["--memory", "16MiB"]), 2, &["--memory 16MiB"]);
}

#[test]
fn a_command_that_is_none_is_refused_before_anything_is_booted() {
    let place = Place::new();
    for command in [&["run", "no-such"][..], &["man", "/tmp"], &["run", "mmap-lock", "--busy", "x"]]
    {
        let words = [&["vm", "--kernel", "/nonexistent", "--"], command].concat();
        let ran = place.run(vm(&place, &words));
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert_eq!(ran.wrongs().len(), 1, "{ran:?}");
    }
}

#[test]
fn without_a_network_what_is_cached_works_and_what_is_not_says_so() {
    let place = Place::new();
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        testing::skipped("needs qemu-system-x86");
        return;
    }
    let mut command = place.tailback(&["vm", "--kernel", "debian:6.1", "--", "list"]);
    // A cache that other users may write to would be refused.
    let cache = tempfile::tempdir().unwrap();
    // A proxy address that nobody listens on acts as a missing network.
    command.env("XDG_CACHE_HOME", cache.path()).env("http_proxy", "http://127.0.0.1:9");
    let ran = place.run(command);
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.wrongs()[0].contains("debian:6.1: ") && ran.err.contains("--kernel"), "{ran:?}");
    let left = common::files(&cache.path().join("tailback/kernels"));
    assert!(left.iter().all(|path| !path.ends_with("apt")), "{left:?}");
}

#[test]
fn a_verdict_comes_back_with_the_guest_as_its_host() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let words = ["vm", "--kernel", KERNEL, "--cpus", "4", "--accel", "tcg", "--"];
    let command = ["run", "memory-high", "--quick", "--fixes", "", "--no-probe"];
    let words = [&words[..], &command, &["--duration", "500ms", "--json"]].concat();
    // A kernel that puts work to sleep does so at any speed of emulation. If the host is never
    // quiet, the emulated guest may report that, but the opposite verdict only by chance.
    let (place, ran) = common::never("not-affected", |place| booted(place, &words));
    ran.assert_no_panic();
    let record = ran.json();
    let kernel = record["machine"]["kernel"].as_str().unwrap_or_else(|| panic!("{ran:?}"));
    assert!(kernel.starts_with("6.1."), "{ran:?}");
    assert_eq!(record["machine"]["allowed_cpus"].as_array().unwrap().len(), 4);
    assert_eq!(record["machine"]["cgroup"]["version"], "v2");
    let guest = &record["machine"]["guest"];
    assert_eq!(
        (guest["accelerator"].as_str(), guest["kernel_name"].as_str()),
        (Some("tcg"), Some(KERNEL))
    );
    let state = record["judgement"]["state"].as_str().unwrap();
    assert_eq!(ran.code(), if state == "affected" { 1 } else { 4 });
    assert_eq!(place.records().len(), 1);
    let judged = place.say(&["judge", "--json", place.records()[0].to_str().unwrap()]);
    assert_eq!(judged.json()["judgement"]["state"], state, "judged again on the host");
}

#[test]
fn a_study_runs_its_part_in_the_kernel_that_is_a_level() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let place = Place::new();
    let file = place.path("kernels.toml");
    let text = format!(
        "scenario = \"mmap-lock\"\ncontrol = {{ kernel = \"{KERNEL}\", busy = 0 }}\nblocks = 1\n\
         guest = {{ cpus = 2, memory = \"1GiB\" }}\nfixed.duration = \"200ms\"\n\
         fixed.size = \"4MiB\"\n\
         factors.kernel = [\"{KERNEL}\"]\nfactors.busy = [0, 2]\n"
    );
    std::fs::write(&file, text).unwrap();
    let ran = booted(&place, &["study", file.to_str().unwrap(), "--json"]);
    ran.assert_no_panic();
    // One block settles no verdict.
    assert_eq!(ran.code(), 4, "{ran:?}");
    let record = ran.json();
    let arms: Vec<&str> = record["judgement"]["arms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["id"].as_str().unwrap())
        .collect();
    let busy = "kernel=debian:6.1,busy=2";
    assert_eq!(arms, [&format!("control of {busy}"), "kernel=debian:6.1,busy=0", busy]);
    assert_eq!(record["factorial"]["factors"][0]["name"], "kernel");
    let kernel = record["machine"]["kernel"].as_str().unwrap_or_else(|| panic!("{ran:?}"));
    assert!(kernel.starts_with("6.1."), "{ran:?}");
    assert_eq!(record["machine"]["guest"]["kernel_name"], KERNEL);
}

/// Fails unless every trial had its quota, and the kernel counted the throttling.
fn assert_throttled(record: &serde_json::Value) {
    assert_eq!(record["machine"]["cgroup"]["version"], "v2");
    for trial in record["trials"].as_array().unwrap() {
        let measures = &trial["observation"]["measures"];
        let value = |name: &str| measures[name]["value"].as_f64().unwrap();
        // The thread never pauses and has a tenth of a CPU: it is throttled, and gets a tenth.
        assert!(value("throttled") >= 1.0 && value("periods") >= 1.0, "{trial}");
        assert!(value("usage") < 0.6 * trial["took_ms"].as_f64().unwrap(), "{trial}");
    }
}

#[test]
fn a_guest_dies_with_the_tool_however_that_dies() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let place = Place::new();
        // An unusual memory size tells this guest from the others.
        let memory = format!("{}MiB", 700 + signal.as_raw());
        let word = format!("-m {}M", 700 + signal.as_raw());
        let words = ["vm", "--kernel", KERNEL, "--accel", "tcg", "--memory", &memory];
        let running = place.start(vm(&place, &[&words[..], &["--", "run", "mmap-lock"]].concat()));
        wait_for("the emulator", || (!emulators(&word).is_empty()).then_some(()));
        running.signal(signal);
        let ran = running.end();
        assert_eq!(ran.status.code(), code, "{ran:?}");
        wait_for("its end", || emulators(&word).is_empty().then_some(()));
    }
}

#[test]
fn an_interrupted_guest_brings_back_what_it_measured_under_quotas_of_cgroup_v2() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let place = Place::new();
    let words = ["vm", "--kernel", KERNEL, "--cpus", "2", "--accel", "tcg", "--"];
    let command = ["run", "cpu-quota", "--quick", "--json"];
    let mut running = place.start(vm(&place, &[&words[..], &command].concat()));
    let deadline = Instant::now() + PATIENCE;
    while !running.err().contains(": block 1: ") {
        assert!(!running.has_ended() && Instant::now() < deadline, "{}", running.err());
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(Signal::INT);
    let ran = running.end_within(PATIENCE);
    assert_eq!(ran.code(), 130, "{ran:?}");
    let record = ran.json();
    assert_eq!(record["ended"], "interrupted");
    assert_eq!(record["machine"]["guest"]["kernel_name"], KERNEL);
    assert!(record["trials"].as_array().unwrap().len() >= 2, "a whole block: {record}");
    assert_throttled(&record);
    assert_eq!(place.records().len(), 1, "{ran:?}");
}

#[test]
fn an_erlang_scenario_runs_in_a_guest_that_shares_the_hosts_root() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() || !common::erlang_or_skip() || !testing::root_or_skip() {
        return;
    }
    if !["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"].iter().any(|p| Path::new(p).exists())
    {
        testing::skipped("needs virtiofsd");
        return;
    }
    let place = Place::new();
    let words = ["vm", "--kernel", KERNEL, "--cpus", "2", "--accel", "tcg", "--root", "host", "--"];
    let command = ["run", "blocking-nif", "--quick", "--fixes", "", "--no-probe"];
    let command = [&command[..], &["--samples", "1", "--json"]].concat();
    // Compiles the Erlang application here. The emulated compiler takes a minute.
    {
        let _turn = common::turn::take();
        let ran = booted(&place, &command);
        assert!(!ran.json()["trials"].as_array().unwrap().is_empty(), "{ran:?}");
    }
    let ran = booted(&place, &[&words[..], &command].concat());
    ran.assert_no_panic();
    if ran.code() == 3 && ran.err.contains("fetching") {
        // An older version cached the kernel without modules, and there is no network to fetch
        // them.
        testing::skipped(format_args!("the modules of {KERNEL} are not to be had: {}", ran.err));
        return;
    }
    let record = ran.json();
    let kernel = record["machine"]["kernel"].as_str().unwrap_or_else(|| panic!("{ran:?}"));
    assert!(kernel.starts_with("6.1."), "{ran:?}");
    let trials = record["trials"].as_array().unwrap_or_else(|| panic!("no trial: {ran:?}"));
    assert_eq!(trials.len(), record["plan"]["arms"].as_array().unwrap().len(), "{ran:?}");
    for trial in trials {
        let vm = &trial["observation"]["vm"];
        assert!(vm["otp"].is_string() || vm["schedulers"].is_number(), "{trial}");
    }
    assert!(!Path::new("/root-of-host").exists(), "that folder is the guest's alone");
}

#[test]
fn a_kernel_that_cannot_unpack_itself_ends_within_its_limit() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let place = Place::new();
    let mut bytes = std::fs::read(kernel().image).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0);
    let broken = place.path("vmlinuz");
    std::fs::write(&broken, bytes).unwrap();
    let kernel = broken.to_str().unwrap();
    let words = ["vm", "--kernel", kernel, "--accel", "tcg", "--limit", "15s", "--"];
    let ran = booted(&place, &[&words[..], &["run", "mmap-lock", "--json"]].concat());
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert_eq!(ran.wrongs().len(), 1, "{ran:?}");
    let result = ran.json();
    assert_eq!(result["schema"], "tailback/guest/1");
    assert_eq!(result["result"], "boot-failure", "{ran:?}");
    assert_eq!(result["record"], serde_json::Value::Null);
    assert!(ran.err.contains("no results of its study came back"), "{ran:?}");
}

/// A PATH with a QEMU that boots the first kernel without an init.
fn panics_once(place: &Place) -> std::ffi::OsString {
    let folders = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join("qemu-system-x86_64"));
    let qemu = found.find(|path| path.exists()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" -append \"*) mkdir {0}/once 2>/dev/null && \
         words=rdinit=/none ;; esac\nfor word; do shift; \
         [ \"$before\" = -append ] && word=\"$word $words\"\n\
         set -- \"$@\" \"$word\"; before=$word; done\nexec {1} \"$@\"\n",
        place.path("").display(),
        qemu.display()
    );
    let wrapper = place.path("qemu-system-x86_64");
    testing::write_program(&wrapper, &script);
    let folders = std::iter::once(place.path("")).chain(std::env::split_paths(&folders));
    std::env::join_paths(folders).unwrap()
}

/// Runs a command whose guest panics in its first boot, and checks the result of the second boot.
fn booted_once_more(words: &[&str], is_whole: impl Fn(&Ran) -> bool) {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let place = Place::new();
    let folders = panics_once(&place);
    // On a busy emulator a kernel may panic by itself. Then the test tries again.
    for tries in 1.. {
        let mut command = vm(&place, words);
        command.env("PATH", &folders);
        let ran = place.start(command).end_within(PATIENCE);
        assert_eq!(ran.err.matches("booting once more").count(), 1, "{ran:?}");
        // The panic of a kernel is not a panic of the tool.
        ran.assert_no_panic();
        if is_whole(&ran) {
            return;
        }
        assert!(tries < 3, "{ran:?}");
        std::fs::remove_dir(place.path("once")).unwrap();
    }
}

#[test]
fn a_guest_whose_kernel_panics_at_boot_is_booted_once_more() {
    booted_once_more(&["vm", "--kernel", KERNEL, "--accel", "tcg", "--", "list"], |ran| {
        assert!(ran.err.contains("Kernel panic"), "{ran:?}");
        ran.code() == 0 && ran.out.contains("mmap-lock")
    });
}

#[test]
fn a_guest_of_a_matrix_whose_kernel_panics_at_boot_is_booted_once_more() {
    let words = ["matrix", "mmap-lock", "--kernels", KERNEL, "--accel", "tcg", "--json", "--"];
    let short = ["--samples", "1", "--busy", "1", "--size", "4MiB", "--duration", "50ms"];
    booted_once_more(&[&words[..], &short, &["--no-probe"]].concat(), |ran| {
        let row = &ran.json()["rows"][0];
        assert_eq!(row["kernel"], KERNEL);
        row["result"] == "inconclusive"
    });
}

#[test]
fn a_kernel_whose_init_ends_panics_and_its_words_come_back() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let (qemu, kernel) = (Qemu::find(Arch::OWN).unwrap(), kernel());
    let initramfs = initramfs::build(Path::new("/bin/true"), &kernel, &Job::default()).unwrap();
    let setup = Setup {
        qemu: &qemu,
        kernel: &kernel,
        cpus: 1,
        memory: 512 << 20,
        clock: Clock::Host,
        initramfs: &initramfs,
        // The guest never reports that it is up, so only the time limit of booting counts.
        limits: Limits { boot: PATIENCE, ..Limits::new(1, Clock::Host, Some(PATIENCE)) },
        root: None,
    };
    // On a busy emulator a kernel may panic by itself. Then the test tries again.
    for tries in 1.. {
        let mut guest = Guest::start(&setup, Accel::Tcg).unwrap();
        let event = guest.next(&|| false).unwrap();
        let console = guest.console(200);
        if let Event::End(Outcome::Failed { ending: Ending::Panic { line, up }, .. }) = &event
            && line.contains("Attempted to kill init")
        {
            assert!(!up, "{line}");
            assert!(console.iter().any(|said| said.contains("Run /init as init process")));
            return;
        }
        assert!(tries < 3, "{event:?}: {console:#?}");
    }
}

/// The kernel of these tests, from the cache.
fn kernel() -> Kernel {
    let cache = Cache::at(cache().join("tailback/kernels"));
    let search = Search::default();
    guest::find_kernel(KERNEL, Arch::OWN, &cache, search, &mut |_| {}, &|| false).unwrap()
}

#[test]
fn work_above_memory_high_stands_still_in_a_guest_with_cgroup_v2() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let place = Place::new();
    let words = ["vm", "--kernel", KERNEL, "--cpus", "2", "--accel", "tcg", "--"];
    let command = ["run", "memory-high", "--samples", "1", "--duration", "2s", "--probe", "--json"];
    let ran = booted(&place, &[&words[..], &command].concat());
    ran.assert_no_panic();
    // One block settles no verdict.
    assert_eq!(ran.code(), 4, "{ran:?}");
    let record = ran.json();
    let trials = record["trials"].as_array().unwrap();
    let of = |arm: &str, figure: &str| {
        let trial = trials.iter().find(|trial| trial["arm"] == arm).unwrap();
        trial["observation"]["measures"][figure]["value"].as_f64().unwrap()
    };
    assert!(of("raised", "lost") < 1.0 && of("raised", "events") == 0.0, "{record}");
    assert!(of("case", "lost") > 10.0 && of("case", "events") > 0.0, "{record}");
    assert!(of("case", "over") > 0.0 && of("case", "kills") == 0.0, "{record}");
    assert!(of("memory-max", "kills") >= 1.0, "{record}");
    // A guest has no swap, so the arm is left out, with its reason.
    assert_eq!(record["plan"]["left_out"][0]["why"]["scenario"]["id"], "no-swap", "{record}");
    let probed = record["probed"].as_array().unwrap().iter();
    let mut evidence = probed.map(|one| &one["trial"]["observation"]["evidence"]["memory"]);
    let held_up = evidence.find(|memory| memory["high_events"].as_u64() > Some(0)).unwrap();
    assert_eq!(held_up["high_bytes"], 32 << 20, "{held_up}");
    assert!(held_up["filled_by"]["bytes"].as_u64().unwrap() > 16 << 20, "{held_up}");
}

/// The record of a command in a guest of this kernel. None if this machine cannot have the kernel,
/// or no driver for it: Debian drops a kernel when the next one comes.
fn record_in_guest(kernel: &str, command: &str) -> Option<serde_json::Value> {
    let words = ["vm", "--kernel", kernel, "--cpus", "2", "--accel", "tcg", "--"];
    let command: Vec<&str> = command.split(' ').chain(["--no-probe", "--json"]).collect();
    let ran = booted(&Place::new(), &[&words[..], &command].concat());
    let series = kernel.trim_start_matches("debian:");
    let cached = cache().join(format!("tailback/kernels/debian/{series}.json"));
    let lacks = !cached.exists() || ran.err.contains("driver of loop devices");
    if ran.code() == 3 && lacks {
        testing::does_not_apply(format_args!("{kernel} cannot be had: {}", ran.err));
        return None;
    }
    ran.assert_no_panic();
    Some(ran.json())
}

/// The median of a figure over the trials of an arm.
fn median(record: &serde_json::Value, arm: &str, figure: &str) -> f64 {
    let trials = record["trials"].as_array().unwrap().iter();
    let of_arm = trials.filter(|trial| trial["arm"] == arm);
    let mut values: Vec<f64> = of_arm
        .map(|trial| trial["observation"]["measures"][figure]["value"].as_f64().unwrap())
        .collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nothing else moves processes in a guest. From 6.18 on, the kernel has another lock, but only
/// with favordynmods. Each trial has about five moves, and the median of five trials decides.
#[test]
fn a_move_between_groups_waits_in_a_guest_and_a_write_to_another_file_does_not() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    for kernel in [KERNEL, "debian:6.18"] {
        let ran = record_in_guest(kernel, "run group-move --quick --samples 5");
        let Some(record) = ran else { continue };
        let calls = ["other-file", "case", "clone-into"].map(|arm| median(&record, arm, "call"));
        let [other_file, moved, cloned] = calls;
        assert!(moved > 3.0 && moved > 3.0 * other_file, "{kernel}: {calls:?}");
        assert!(cloned < moved, "{kernel}: {calls:?}");
        let [control, case] = ["other-file", "case"].map(|arm| median(&record, arm, "lost"));
        assert!(case > control, "{kernel}: {record}");
        // A single run decides: five blocks give this verdict only if the case lost less than its
        // control in three of them and more in none. Then the medians above would differ less.
        let state = record["judgement"]["state"].as_str().unwrap();
        assert_ne!(state, "not-affected", "{kernel}: {record}");
    }
}

/// The cap decides how long the victim waits, so a slow machine changes only the rest of a trial.
#[test]
fn fsync_waits_for_a_capped_writer_in_a_guest_and_not_on_another_file_system() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let kernel = "debian:6.12";
    let ran = record_in_guest(kernel, "run io-journal --quick --no-fixes --samples 3");
    let Some(record) = ran else { return };
    // A round of 1 MiB under a cap of 1 MiB/s waits for a second in both arms.
    for arm in ["other-file-system", "case"] {
        assert!(median(&record, arm, "writer_fsync") > 400.0, "{arm}: {record}");
    }
    for (figure, least) in [("lost", 200.0), ("worst", 400.0)] {
        let [other, case] = ["other-file-system", "case"].map(|arm| median(&record, arm, figure));
        assert!(case > least && case > other, "{other} and {case}: {record}");
    }
    assert!(median(&record, "case", "behind_writer") > 50.0, "{record}");
    // Three blocks never give this verdict, so chance has no part in it.
    assert_ne!(record["judgement"]["state"], "not-affected", "{record}");
}

/// Newer kernels change data that the programs of `watch` read: since 7.2, two of these numbers
/// are bytes. Debian drops a kernel when the next one comes. So the test is skipped when 7.3 is
/// gone. Debian's cloud kernels have jbd2 built in, so the commits of journals are watched too.
#[test]
fn the_programs_of_watch_load_on_a_newer_kernel() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let newer = "debian:7.3";
    let words = ["vm", "--kernel", newer, "--", "watch", "--for", "1s", "--json"];
    let mut ran = booted(&Place::new(), &words);
    // An emulated CPU may execute an instruction while it is being replaced. Attaching a program
    // replaces instructions at tracepoints. Such a crash of the kernel tells nothing about the
    // program.
    for _ in 0..2 {
        if ran.code() == 4 {
            eprintln!("tried again: {ran:?}");
            ran = booted(&Place::new(), &words);
        }
    }
    if ran.code() == 3 && !cache().join("tailback/kernels/debian/7.3.json").exists() {
        return testing::does_not_apply(format_args!(
            "{newer} is neither cached nor to be had: {}",
            ran.err
        ));
    }
    ran.assert_no_panic();
    let last = ran.out.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    let line: serde_json::Value =
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let sources = line["live"]["sources"].as_array().unwrap();
    let missing: Vec<_> = sources.iter().filter(|one| !one["missing"].is_null()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A git tree. Its branch main has this many commits.
fn tree(place: &Place, commits: usize) -> PathBuf {
    let folder = place.path("tree");
    std::fs::create_dir(&folder).unwrap();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        // If a git hook starts this test, the environment names another tree.
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
        let ran = command.arg("-C").arg(&folder).args(words).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    for number in 0..commits {
        git(&["commit", "--quiet", "--allow-empty", "-m", &format!("commit {number}")]);
    }
    folder
}

/// The guest has none of the runtimes that the scenario needs. So after two boots the good end
/// counts as untestable. The second call finds that in the log.
#[test]
fn a_bisection_stops_at_an_end_without_a_verdict_and_goes_on_from_its_log() {
    let _turn = common::turn::take_of("-guests");
    if !kernel_or_skip() {
        return;
    }
    let place = Place::new();
    let folder = tree(&place, 3);
    let words = ["bisect", "quota-blind", "--good", "main~2", "--bad", "main", "--build", "true"];
    let words = [&words[..], &["--kernel", KERNEL]].concat();
    let bisect = || {
        let mut command = vm(&place, &words);
        command.current_dir(&folder);
        place.start(command).end_within(PATIENCE)
    };
    let first = bisect();
    assert_eq!(first.code(), 4, "{first:?}");
    assert!(first.out.contains(" commit 0 has no verdict, so nothing was bisected"), "{first:?}");
    let head = std::fs::read_to_string(folder.join(".git/HEAD")).unwrap();
    assert_eq!(head, "ref: refs/heads/main\n");
    let again = bisect();
    assert_eq!((again.code(), &again.out), (4, &first.out), "{again:?}");
    assert!(again.err.contains("continues after 2 boots"), "{again:?}");
}
