//! Bad input: one line names the problem, standard output is empty, and nothing is measured.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, affected_record, allowed_cpus};
use std::path::Path;

/// The record of a run that must not happen.
const RECORD: &str = "record.json";

/// Runs `run mmap-lock` with these words. A record would be kept in the folder of the place.
fn run_mmap_lock(place: &Place, args: &[&str]) -> Ran {
    let record = place.path(RECORD);
    let mut words = vec!["run", "mmap-lock", "--record", record.to_str().unwrap()];
    words.extend(args);
    place.say(&words)
}

/// Fails unless standard output is empty and nothing was measured. A study prints its seed before
/// it starts its first child, and keeps its measurements.
fn assert_not_begun(place: &Place, ran: &Ran) {
    ran.assert_no_panic();
    assert_eq!(ran.out, "", "{ran:?}");
    assert!(!ran.err.contains("; seed "), "{ran:?}");
    assert_eq!(place.records(), Vec::<std::path::PathBuf>::new(), "{ran:?}");
    assert!(!place.path(RECORD).exists(), "{ran:?}");
    assert_eq!(common::processes::of(ran.pid), [], "{ran:?}");
}

/// Fails unless a line contains each of these words.
fn assert_says(line: &str, all: &[&str]) {
    for word in all {
        assert!(line.contains(word), "`{word}` is missing in: {line}");
    }
}

/// Fails unless the run ended with this code and one line that contains each of these words.
fn assert_refused(place: &Place, ran: &Ran, code: i32, all: &[&str]) {
    assert_not_begun(place, ran);
    assert_eq!(ran.code(), code, "{ran:?}");
    let lines = ran.complaints();
    assert_eq!(lines.len(), 1, "{ran:?}");
    assert_says(lines[0], all);
}

/// Fails unless the command line was refused and the first line contains each of these words.
fn assert_bad_usage(place: &Place, ran: &Ran, all: &[&str]) {
    assert_not_begun(place, ran);
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert_says(ran.complaints()[0], all);
}

#[test]
fn unknown_words() {
    let place = Place::new();
    assert_bad_usage(&place, &place.say(&["run", "nosuch"]), &["nosuch"]);
    assert_bad_usage(&place, &place.say(&["nosuch"]), &["nosuch"]);
    assert_bad_usage(&place, &run_mmap_lock(&place, &["--nosuch"]), &["--nosuch"]);
    assert_bad_usage(&place, &run_mmap_lock(&place, &["stray"]), &["stray"]);
    assert_bad_usage(&place, &place.say(&["check", "--only", "nosuch"]), &["nosuch", "--only"]);
}

#[test]
fn values_that_no_machine_can_use() {
    let cases: &[(&str, &str, &str)] = &[
        ("--procfile", "../1/maps", "/proc/PID"),
        ("--procfile", "/etc/passwd", "/proc/PID"),
        ("--procfile", "", "/proc/PID"),
        ("--procfile", "fd/1", "leads away"),
        ("--busy", "-1", "between 0 and"),
        ("--busy", "999999", "between 0 and"),
        ("--busy", "", "whole number"),
        ("--busy", "1,,2", "whole number"),
        ("--duration", "0", "between"),
        ("--duration", "5", "with a unit"),
        ("--duration", "-5s", "with a unit"),
        ("--size", "1B", "between"),
        ("--size", "99999999999TiB", "address space"),
        ("--samples", "0", "1..="),
        ("--samples", "-1", ""),
        ("--nice", "40", "between -20 and 19"),
        ("--seed", "abc", "number"),
        ("--cpu-load", "-1", "number of a CPU"),
        ("--time", "soon", "with a unit"),
    ];
    let place = Place::new();
    for (flag, value, why) in cases {
        // Flag and value are one word, so that a value that begins with a dash arrives.
        let ran = run_mmap_lock(&place, &[&format!("{flag}={value}")]);
        assert_bad_usage(&place, &ran, &[flag, value, why]);
    }
}

#[test]
fn a_time_of_zero_measures_nothing() {
    let place = Place::new();
    let says = ["--for", "`0s` is no time"];
    assert_bad_usage(&place, &place.say(&["watch", "--for", "0s"]), &says);
    let calls = ["probe", "calls", "--pid", "1", "--lib", "libc.so.6", "--symbol", "write"];
    let ran = place.say(&[&calls[..], &["--every", "0"]].concat());
    assert_bad_usage(&place, &ran, &["--every", "`0` is no time"]);
}

#[test]
fn negative_values_stand_in_a_word_of_their_own() {
    let place = Place::new();
    let ran = run_mmap_lock(&place, &["--busy", "-1"]);
    assert_bad_usage(&place, &ran, &["--busy", "-1 is not between 0 and"]);
}

#[test]
fn files_of_proc_that_cannot_be_read() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    for file in ["nosuch", "attr", "mem"] {
        let ran = run_mmap_lock(&place, &["--procfile", file]);
        let path = format!("/proc/self/{file}");
        assert_refused(&place, &ran, 2, &["--procfile", &path, "such as smaps"]);
    }
}

#[test]
fn a_cpu_that_does_not_exist_is_answered_with_those_that_do() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    for flag in ["--cpu-mapper", "--cpu-load", "--cpu-tool"] {
        let ran = run_mmap_lock(&place, &[flag, "99999"]);
        assert_refused(&place, &ran, 2, &[flag, "99999", "this machine has CPU"]);
    }
}

#[test]
fn a_cpu_that_the_affinity_mask_excludes() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let cpus = allowed_cpus();
    let place = Place::new();
    // With only two CPUs, the mask leaves too few for any trial, and the line says that instead.
    let (mask, excluded) = cpus[..cpus.len().min(3)].split_at(cpus.len().min(3) - 1);
    let excluded = excluded[0].to_string();
    let command = place.tailback(&["run", "mmap-lock", "--cpu-load", &excluded]);
    let ran = place.start_on(mask, command).end();
    match mask.len() {
        1 => {
            assert_eq!(ran.code(), 3, "{ran:?}");
            assert_says(ran.complaints()[0], &["needs 2 CPUs", "may use 1"]);
        }
        _ => {
            let words = ["--cpu-load", &excluded, "affinity mask", "it may use CPU"];
            assert_refused(&place, &ran, 2, &words);
        }
    }
}

#[test]
fn mapper_and_load_on_the_same_cpu() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let cpu = allowed_cpus()[1].to_string();
    let ran = run_mmap_lock(&place, &["--cpu-mapper", &cpu, "--cpu-load", &cpu]);
    assert_refused(&place, &ran, 2, &["--cpu-mapper", "--cpu-load", "the same", "two CPUs"]);
}

#[test]
fn a_region_beyond_the_memory() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let ran = run_mmap_lock(&place, &["--size", "16TiB"]);
    assert_refused(&place, &ran, 2, &["--size 16TiB", "memory available", "smaller"]);
}

#[test]
fn no_scenario_is_left() {
    let place = Place::new();
    let ran = place.say(&["check", "--only", "mmap-lock", "--skip", "mmap-lock"]);
    assert_refused(&place, &ran, 2, &["--only", "--skip", "tailback list"]);
}

#[test]
fn flags_that_would_do_nothing() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let golden = golden.to_str().unwrap();
    let sim = ["sim", "cpu-quota"];
    let cases: &[(&[&str], &str)] = &[
        (&["--p99", "20ms"], "work only with --find-quota"),
        (&["--find-quota", "--p99", "20ms", "--quota", "20ms"], "leave out --quota"),
        (&["--task", "100ms:5ms:0"], "--task works only with --load periodic"),
        (&["--gap", "2ms"], "--gap works only with --load arrivals"),
        (&["--load", "arrivals", "--fast", "2"], "--fast works only with --load fibtest"),
        (&["--load", "arrivals", "--burst-size", "3"], "works only with --burst-gap"),
    ];
    for (args, words) in cases {
        let ran = place.say(&[&sim[..], *args].concat());
        assert_refused(&place, &ran, 2, &[words]);
    }
    let ran = place.say(&["export", "--format", "csv", "--host-name", "web1", golden]);
    assert_refused(&place, &ran, 2, &["--host-name works only with --format brief"]);
    let ran = place.say(&["export", "--format", "brief", "--undecided", "skip", golden]);
    assert_refused(&place, &ran, 2, &["--undecided works only with --format ktap"]);
    // Without a name, there is nothing to hash.
    let ran = place.say(&["export", "--format", "brief", "--hash-host-name", "/salt", golden]);
    assert_not_begun(&place, &ran);
    assert_eq!(ran.code(), 2, "{ran:?}");
}

#[test]
fn what_cannot_be_printed_is_no_success() {
    let place = Place::new();
    for args in [&["--version"][..], &["--help"], &["list", "--help"], &["version"]] {
        let mut command = place.tailback(args);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = command.stdout(full).stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(ended.code(), Some(3), "{args:?}");
    }
}

#[test]
fn a_trace_replaces_no_record() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let before = std::fs::read(&golden).unwrap();
    let file = golden.to_str().unwrap();
    let ran = place.say(&["explain", file, "--perfetto", file]);
    assert_refused(&place, &ran, 2, &["--perfetto", file, "name another file"]);
    assert_eq!(std::fs::read(&golden).unwrap(), before);
}

#[test]
fn a_trace_in_a_missing_folder_is_bad_usage() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let trace = place.path("missing").join("run.trace");
    let to = trace.to_str().unwrap();
    let ran = place.say(&["explain", golden.to_str().unwrap(), "--perfetto", to]);
    assert_eq!(ran.code(), 2, "{ran:?}");
    let complaints = ran.complaints();
    let last = complaints.last().unwrap();
    assert_says(last, &["--perfetto", to, "name a file that can be written"]);
}

#[test]
fn a_page_on_standard_output_is_all_that_is_printed() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let record = golden.to_str().unwrap();
    let folder = golden.parent().unwrap().to_str().unwrap();
    for words in [&["compare", record, record][..], &["history", folder]] {
        let page = place.say(&[words, &["-o", "-"]].concat());
        let text = &page.out;
        assert!(text.starts_with("<!DOCTYPE html>"), "{words:?}: {text}");
        assert!(text.trim_end().ends_with("</html>"), "{words:?}: {text}");
        let both = place.say(&[words, &["-o", "-", "--json"]].concat());
        assert_eq!(both.code(), 2, "{both:?}");
        assert_says(both.complaints().last().unwrap(), &["--json", "name a file for the page"]);
    }
}

#[test]
fn a_place_where_no_record_can_be_kept() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let file = place.path("file");
    std::fs::write(&file, "").unwrap();
    let below_a_file = file.join("record.json");
    for path in ["/proc/nosuch/record.json", "/", "", below_a_file.to_str().unwrap()] {
        let ran = place.say(&["run", "mmap-lock", "--record", path]);
        assert_not_begun(&place, &ran);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert_says(ran.complaints()[0], &["record", path]);
    }
}

#[test]
fn what_is_no_record() {
    let place = Place::new();
    let mut newer = affected_record();
    newer["schema"] = "tailback/record/4".into();
    let mut unknown = affected_record();
    unknown["scenario"] = "nosuch".into();
    let whole = affected_record().to_string();
    let cut = &whole[..whole.len() / 2];
    let cases: &[(&str, &str, &[&str])] = &[
        ("empty", "", &["not a whole record"]),
        ("cut", cut, &["not a whole record", "another copy"]),
        ("number", "1", &["not a record"]),
        ("foreign", r#"{"schema":"other/1"}"#, &["not a record of tailback"]),
        ("bare", r#"{"schema":"tailback/record/3"}"#, &["does not hold together", "missing"]),
        ("newer", &newer.to_string(), &["tailback/record/4", "newer tailback"]),
        ("unknown", &unknown.to_string(), &["nosuch", "tailback that wrote it"]),
        ("deep", &"[".repeat(10 << 20), &["not a record of tailback"]),
    ];
    for (name, text, all) in cases {
        let ran = judge(&place, name, text);
        let path = place.path(name);
        assert_refused(&place, &ran, 2, &[all, &[path.to_str().unwrap()][..]].concat());
    }
}

#[test]
fn a_record_that_cannot_be_read() {
    let place = Place::new();
    let folder = place.path("state");
    for path in [Path::new("/nosuch/record.json"), &folder] {
        let ran = place.say(&["judge", path.to_str().unwrap()]);
        assert_refused(&place, &ran, 2, &[path.to_str().unwrap()]);
    }
    std::fs::write(place.path("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    let ran = place.say(&["judge", place.path("bytes").to_str().unwrap()]);
    assert_refused(&place, &ran, 2, &["bytes"]);
}

#[test]
fn absurd_numbers_in_a_record() {
    let place = Place::new();
    let text = affected_record().to_string();
    let window = r#""window_ms":"#;
    assert!(text.contains(window), "the record has no window to be made absurd");
    for absurd in ["NaN", "1e999", "\"NaN\"", "null", "-"] {
        let text = text.replace(window, &format!("{window}{absurd},\"was\":"));
        let ran = judge(&place, "absurd", &text);
        assert_refused(&place, &ran, 2, &["absurd", "record"]);
    }
    for (what, value) in [("block", -1.0), ("block", 1e300), ("block", 0.5)] {
        let mut record = affected_record();
        record["trials"][0][what] = value.into();
        let ran = judge(&place, "absurd", &record.to_string());
        assert_refused(&place, &ran, 2, &["absurd", "does not hold together"]);
    }
    let mut record = affected_record();
    record["trials"][0]["observation"]["latencies"]["mmap"]["count"] = (-1).into();
    let ran = judge(&place, "absurd", &record.to_string());
    assert_refused(&place, &ran, 2, &["absurd", "does not hold together"]);
}

#[test]
fn a_damaged_histogram_changes_no_verdict_and_crashes_nothing() {
    let place = Place::new();
    let whole = judge(&place, "record", &affected_record().to_string());
    for damage in ["", "AAAA", "not base64!", "HISTFAAAAAA="] {
        let mut record = affected_record();
        for trial in record["trials"].as_array_mut().unwrap() {
            trial["observation"]["latencies"]["mmap"]["data"] = damage.into();
        }
        let ran = judge(&place, "record", &record.to_string());
        ran.assert_no_panic();
        // The verdict depends only on the figures. Other parts of a record cannot change it.
        assert_eq!((ran.code(), &ran.out), (whole.code(), &whole.out), "{damage}");
    }
}

/// Judges a text.
fn judge(place: &Place, name: &str, text: &str) -> Ran {
    std::fs::write(place.path(name), text).unwrap();
    place.say(&["judge", place.path(name).to_str().unwrap()])
}

/// Fails unless one of the original programs refused. After its usage it must print a line that
/// contains each of these words. On standard output it may print only the echo of its command
/// line.
fn assert_compat_refused(place: &Place, args: &[&str], code: i32, all: &[&str]) {
    let command = place.tailback(&[&["compat"], args].concat());
    let ran = place.start_on(&without_cpu_2(), command).end();
    ran.assert_no_panic();
    assert_eq!(ran.code(), code, "{ran:?}");
    let echo = ["./mapper PID: ", " --- ./proc-vs-map.sh ", "Running ./run-proc-vs-map.sh "];
    assert!(ran.out.is_empty() || echo.iter().any(|echo| ran.out.starts_with(echo)), "{ran:?}");
    assert!(ran.out.lines().count() <= 1, "{ran:?}");
    assert_eq!(ran.wrongs().len(), 1, "{ran:?}");
    assert_says(ran.complaints().last().unwrap(), all);
}

/// Two CPUs, chosen so that the default CPU 2 is missing on larger machines too.
fn without_cpu_2() -> Vec<usize> {
    allowed_cpus().into_iter().filter(|cpu| *cpu != 2).take(2).collect()
}

#[test]
fn bad_words_for_the_original_programs() {
    let place = Place::new();
    assert_bad_usage(&place, &place.say(&["compat", "nosuch"]), &["nosuch"]);
    if !common::two_cpus_or_skip() {
        return;
    }
    let cases: &[(&[&str], &[&str])] = &[
        (&["mapper", "--duration", "x"], &["--duration x"]),
        (&["mapper", "--duration"], &["--duration needs a value"]),
        (&["mapper", "--mb", "1", "--gb", "1"], &["--gb", "--mb"]),
        (&["mapper", "--mb", "0"], &["smaller than a page"]),
        (&["mapper", "--mb", "134217728"], &["134217728 MiB"]),
        (&["mapper", "--nosuch"], &["--nosuch"]),
        (&["busywait", "x"], &["Unrecognized argument: x"]),
        (&["busywait", "--pid", "-1"], &["--pid -1"]),
        (&["scanpid"], &["needs a PID"]),
        (&["scanpid", "x"], &["Unknown argument x"]),
        (&["scanpid", "1", "../2/maps"], &["../2/maps"]),
        (&["proc-vs-map", "--nbusytasks", "x"], &["--nbusytasks x"]),
        (&["proc-vs-map", "--procfile", "nosuch"], &["--procfile nosuch"]),
        (&["proc-vs-map", "--procfile", "../1/maps"], &["--procfile ../1/maps"]),
        (&["proc-vs-map", "--cpumapper", "99999"], &["--cpumapper 99999", "CPU"]),
        (&["run-proc-vs-map", "--nsamples", "x"], &["--nsamples x"]),
        (&["run-proc-vs-map", "--", "--nosuch"], &["--nosuch"]),
    ];
    for (args, all) in cases {
        assert_compat_refused(&place, args, 2, all);
    }
}

#[test]
fn a_default_cpu_that_does_not_exist() {
    let cpus: Vec<usize> = without_cpu_2();
    if !testing::has_or_skip(cpus.len() == 2, "needs two CPUs of which none is CPU 2") {
        return;
    }
    let place = Place::new();
    let words =
        ["--cpubusytasks 2", "CPUs", &cpus[1].to_string(), "name a CPU with --cpubusytasks"];
    assert_compat_refused(&place, &["proc-vs-map"], 2, &words);
    assert_compat_refused(&place, &["run-proc-vs-map", "--nsamples", "1"], 2, &words);
}

#[test]
fn a_single_cpu_is_too_few_for_the_original_programs() {
    let place = Place::new();
    for name in ["proc-vs-map", "run-proc-vs-map"] {
        let command = place.tailback(&["compat", name]);
        let ran = place.start_on(&allowed_cpus()[..1], command).end();
        ran.assert_no_panic();
        assert_eq!(ran.code(), 3, "{ran:?}");
        assert_says(ran.complaints().last().unwrap(), &["at least two CPUs", "ncpus = 1"]);
    }
}
