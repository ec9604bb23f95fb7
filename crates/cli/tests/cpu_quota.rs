//! `cpu-quota`, real and simulated.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "../../sim/tests/body/quota.rs"]
mod quota;

use common::{Place, groups, says, turn};
use quota::{Seen, verdict};
use serde_json::Value;

/// Whether control groups with a quota can be made here. If not, prints why.
fn groups_or_skip() -> bool {
    let listed = Place::new().say(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let mine = listed.as_array().unwrap().iter().find(|row| row["id"] == "cpu-quota").unwrap();
    if mine["can_run"] == true {
        return true;
    }
    testing::skipped(format_args!("{}", mine["missing"]));
    false
}

fn sim(args: &[&str]) -> Value {
    let mut all = vec!["sim", "cpu-quota", "--json"];
    all.extend(args);
    let ran = Place::new().say(&all);
    assert_eq!(ran.code(), 0, "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn this_kernel_gives_a_group_its_quota() {
    if !groups_or_skip() {
        return;
    }
    let _turn = turn::take();
    // Less than a third of a CPU, so that the group uses up its quota beside another busy program
    // too. With the default of 80%, it would seldom be throttled there, and that is no verdict.
    let args = ["run", "cpu-quota", "--quota", "6ms", "--period", "20ms", "--burst", "0", "--json"];
    let Some(ran) = says("not-affected", &args) else { return };
    let record = ran.json();
    assert_eq!(ran.code(), 0, "{ran:?}");
    for arm in record["judgement"]["arms"].as_array().unwrap() {
        let median = |name: &str| arm["measures"][name]["median"].as_f64().unwrap();
        assert!(median("throttled") >= 3.0, "{arm}");
        // Other programs took the rest, in all arms alike. The verdict says that no arm lost
        // more.
        assert!(median("usage") >= 0.5 * median("entitled"), "{arm}");
    }
    assert_eq!(groups::of_tailback(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_a_killed_run_leaves_is_swept_by_the_next() {
    if !groups_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let args = ["run", "cpu-quota", "--duration", "20s", "--samples", "1"];
    let mut tool = place.tailback(&args).spawn().unwrap();
    common::wait_for("a group to be made", || (!groups::of_tailback().is_empty()).then_some(()));
    tool.kill().unwrap();
    tool.wait().unwrap();
    let short = ["run", "cpu-quota", "--duration", "100ms", "--samples", "1", "--burst", "0"];
    place.say(&short);
    assert_eq!(groups::of_tailback(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn values_that_the_kernel_or_the_machine_refuses() {
    if !groups_or_skip() {
        return;
    }
    let _turn = turn::take();
    let cases: &[(&[&str], &str)] = &[
        (&["--quota", "10us"], "between"),
        (&["--period", "2s"], "between"),
        (&["--burst", "20ms"], "burst"),
        (&["--threads", "-1"], "between"),
        (&["--threads", "999999"], "between"),
        (&["--threads", "2", "--fast", "3"], "--fast 3"),
        (&["--quota", "10500ns", "--period", "1ms"], ""),
    ];
    for (args, word) in cases {
        let mut all = vec!["run", "cpu-quota"];
        all.extend(*args);
        let ran = Place::new().say(&all);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(ran.out.is_empty() && ran.complaints()[0].contains(word), "{ran:?}");
    }
    assert_eq!(groups::of_tailback(), Vec::<std::path::PathBuf>::new());
}

/// The real arm: the output of the original program on this kernel.
fn measured(threads: u32) -> Seen {
    let ran = Place::new().say(&["compat", "runfibtest", &threads.to_string()]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(lines[0].starts_with("Iterations Completed(M): "), "{ran:?}");
    let number = |line: &str, before: &str| -> u32 {
        line.strip_prefix(before).unwrap().trim().parse().unwrap()
    };
    Seen {
        throttled: number(lines[1], "Throttled for: ").into(),
        usage_ms: number(lines[2], "CPU Usage (msecs) = ").into(),
    }
}

/// The simulated arm: the output of the model for this kernel and `cpus` CPUs.
fn modelled(cpus: u32, threads: u32) -> Seen {
    let kernel = rustix::system::uname().release().to_str().unwrap().to_owned();
    let (cpus, threads) = (cpus.to_string(), threads.to_string());
    let object = sim(&["--cpus", &cpus, "--threads", &threads, "--kernel", &kernel]);
    Seen {
        usage_ms: object["usage_ms"].as_f64().unwrap(),
        throttled: object["nr_throttled"].as_u64().unwrap(),
    }
}

#[test]
fn kernel_and_model_reach_the_same_verdict() {
    if !groups_or_skip() {
        return;
    }
    let _turn = turn::take();
    let cpus = u32::try_from(common::allowed_cpus().len()).unwrap();
    let model = verdict(cpus, |threads| modelled(cpus, threads)).unwrap();
    // Other work on the machine keeps the group below its quota, and never puts it above.
    let mut real = (0..5).filter_map(|_| verdict(cpus, measured)).peekable();
    if real.peek().is_none() {
        testing::skipped("other work keeps a thread from its quota");
        return;
    }
    assert!(real.any(|real| real == model), "never {model:?}");
}

#[test]
fn fibtest_prints_a_line_a_thread_and_the_sum() {
    let _turn = turn::take();
    let ran = Place::new().say(&["compat", "fibtest", "-v", "-t", "2", "-s", "1"]);
    assert_eq!(ran.out.lines().count(), 3, "{ran:?}");
    assert!(ran.out.starts_with("fib["), "{ran:?}");
}

#[test]
fn slices_that_expire_cost_a_large_machine_its_quota() {
    let old = sim(&["--cpus", "64", "--kernel", "4.18"]);
    let new = sim(&["--cpus", "64", "--kernel", "5.4"]);
    let usage = |object: &Value| object["usage_ms"].as_f64().unwrap();
    assert!(usage(&old) < 350.0, "{old}");
    assert!((485.0..515.0).contains(&usage(&new)), "{new}");
    assert!(old["quota_ms"]["expired"].as_f64().unwrap() > 100.0, "{old}");
    assert_eq!(old, sim(&["--cpus", "64", "--kernel", "4.18"]), "a seed gives the same each time");
    assert!(usage(&sim(&["--cpus", "1", "--kernel", "4.18"])) > 485.0, "one CPU loses nothing");
}

#[test]
fn a_quota_is_found_for_a_trace() {
    let place = Place::new();
    let path = place.path("trace.csv");
    let trace: String = (0..500).map(|i| format!("{}ms, 2ms\n", i * 10)).collect();
    std::fs::write(&path, format!("arrival, service\n{trace}")).unwrap();
    let file = path.to_str().unwrap();
    let found = sim(&["--trace", file, "--cpus", "4", "--find-quota", "--p99", "20ms"]);
    let quota = found["quota"]["quota_ms"].as_f64().unwrap();
    // 2 ms in each 10 ms are 20 ms in each period. So a smaller quota cannot be enough for long.
    assert!((20.0..=100.0).contains(&quota), "{found}");
    assert!(found["quota"]["latency_ms"].as_f64().unwrap() <= 20.0, "{found}");
    let args = ["--trace", file, "--cpus", "4", "--find-quota", "--p99", "20ms", "--burst", "20ms"];
    let burst = sim(&args);
    assert!(burst["with_burst"]["quota_ms"].as_f64().unwrap() <= quota, "{burst}");
    let two =
        ["sim", "cpu-quota", "--trace", file, "--find-quota", "--p50", "9ms", "--p99", "20ms"];
    let ran = place.say(&two);
    assert!(ran.code() == 2 && ran.err.contains("takes one target"), "{ran:?}");
    std::fs::write(&path, "1ms, 2ms\n2ms; 3ms\n").unwrap();
    let ran = place.say(&["sim", "cpu-quota", "--trace", file]);
    assert!(ran.code() == 2 && ran.err.contains("line 2"), "{ran:?}");
}

#[test]
fn simulations_that_make_no_sense_are_refused_in_a_line() {
    let cases: &[&[&str]] = &[
        &["--quota", "10us"],
        &["--period", "2s"],
        &["--cpus", "0"],
        &["--cpus", "9999999"],
        &["--hz", "0"],
        &["--kernel", "2.6.32"],
        &["--kernel", "x"],
        &["--threads", "0"],
        &["--load", "trace"],
        &["--load", "periodic"],
        &["--load", "periodic", "--task", "1:2"],
        &["--trace", "/nosuch"],
        &["--find-quota"],
        &["--find-quota", "--p99", "20ms"],
    ];
    for args in cases {
        let mut all = vec!["sim", "cpu-quota"];
        all.extend(*args);
        let ran = Place::new().say(&all);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(ran.out.is_empty() && ran.complaints().len() == 1, "{ran:?}");
    }
}
