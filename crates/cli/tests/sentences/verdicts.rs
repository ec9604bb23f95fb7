//! Sentences about a study: its verdict, what it needs, and what went wrong.

#[path = "../common/packed.rs"]
#[allow(dead_code, reason = "it also writes, for other tests")]
mod packed;

use super::{Lines, amount, estimate, of, shift};
use model::generator::{GeneratorEnd, GeneratorProblem};
use model::group::BadQuota;
use model::problem::{ArmsProblem, UnusableCpu};
use model::reason::Doubt;
use model::{Caveat, Changed, Facts, Fix, GroupProblem, Headline, LeftOut, Need, Problem, Reason};
use model::{Suggestion, What, WhyLeftOut};
use report::prose;
use serde_json::{Value, json};

/// Each sentence with its variant.
pub fn lines() -> Lines {
    let meta = scenarios::find("mmap-lock").map(|scenario| scenario.meta());
    let facts = Facts::from_json(&packed::read(&packed::golden("mmap-lock"))).unwrap();
    let record = scenarios::judged(facts);
    let mut all =
        of("headline", &headlines(), |one: &Headline| prose::headline::headline(one, meta));
    all.extend(of("reason", &reasons(), |one: &Reason| prose::reason::reason(one, &record, meta)));
    all.extend(of("caveat", &caveats(), |one: &Caveat| prose::caveat::caveat(one, meta)));
    all.extend(of("doubt", &doubts(), |one: &Doubt| {
        prose::reason::reason(&Reason::Doubt(one.clone()), &record, meta)
    }));
    all.extend(of("suggestion", &whats(), |one: &What| {
        prose::suggestion::step(&Suggestion::from(one.clone()), meta, None).what
    }));
    all.extend(of("need", &needs(), |one: &Need| prose::need(one, meta)));
    all.extend(of("problem", &problems(), |one: &Problem| prose::problem(one, meta)));
    all.extend(of("problem arms", &arms(), |one: &ArmsProblem| {
        prose::problem(&one.clone().into(), meta)
    }));
    all.extend(of("problem cpu", &cpus(), |one: &UnusableCpu| prose::unusable_cpu(one)));
    all.extend(of("problem generator", &generators(), |what: &GeneratorEnd| {
        let (role, what) = ("scanner".to_owned(), what.clone());
        prose::problem(&Problem::Generator(GeneratorProblem { role, pid: Some(7), what }), meta)
    }));
    all.extend(of("problem group", &groups(), |one: &GroupProblem| prose::group(one)));
    all.extend(of("problem quota", &quotas(), |one: &BadQuota| prose::group(&one.clone().into())));
    all.extend(of("change of an arm", &changes(), |one: &Changed| prose::arm::change(one, meta)));
    all.extend(of("left out", &left_out(), |why: &WhyLeftOut| {
        prose::left_out(&LeftOut { id: "burst".to_owned(), why: why.clone() }, meta)
    }));
    for outcome in ["fixed", "helped", "not-shown"] {
        let fix: Fix = serde_json::from_value(fix(outcome)).unwrap();
        all.push(("fix".to_owned(), outcome.to_owned(), prose::fix::effect(&fix, meta)));
    }
    all
}

/// A fact that only one scenario has.
fn own() -> Value {
    json!({ "scenario": { "id": "more-time" } })
}

fn headlines() -> Vec<Value> {
    let study = json!({ "name": "locks", "affected": 2, "of": 9, "measure": "stalled",
        "worst": "busy=3" });
    let words =
        ["untrustworthy", "not-measured", "skipped", "broken", "unknown-scenario", "watched"];
    [own(), json!({ "study": study })].into_iter().chain(words.map(Value::from)).collect()
}

fn carry_over() -> Value {
    json!({ "control": "twin-10", "after_case": amount(9.0, "ms/s"),
        "otherwise": amount(1.0, "ms/s") })
}

fn reasons() -> Vec<Value> {
    let pair = json!({ "arm": "busy-10", "worse": 9, "better": 0 });
    let enough = json!({ "value": 39.2, "needed": 20.0, "error_rate": 0.05 });
    let little = json!({ "value": 1.5, "needed": 20.0, "error_rate": 0.05 });
    let why = json!({ "cpus-unread": null });
    vec![
        own(),
        json!({ "evidence": { "blocks": 9, "pairs": [pair], "affected": enough,
            "not_affected": little } }),
        json!({ "over-control": { "arm": "busy-10", "measure": "stall_ms_per_s",
            "shift": shift(980.0, "ms/s") } }),
        json!({ "hung": { "arm": "busy-10", "hung": [3, 9], "control": "twin-10",
            "control_hung": [0, 9] } }),
        "no-control".into(),
        "no-case".into(),
        json!({ "no-whole-block": { "measure": "stalled" } }),
        json!({ "nor-in": { "measure": "late" } }),
        json!({ "not-settled-in": { "measure": "late", "why": "no-case" } }),
        json!({ "too-noisy": { "control": "twin-10", "shows_above": amount(80.0, "ms/s"),
            "most": amount(50.0, "ms/s") } }),
        json!({ "control-stalls": { "control": "twin-10", "measure": "late",
            "level": amount(980.0, "ms/s"), "most": amount(930.0, "ms/s") } }),
        json!({ "larger-margin": { "arm": "busy=1", "own": amount(20.0, "ms/s"),
            "used": amount(320.0, "ms/s") } }),
        json!({ "doubt": { "tainted": { "flags": 128 } } }),
        json!({ "carry-over": carry_over() }),
        json!({ "broke": { "error": why } }),
        json!({ "missing": { "what": "erl" } }),
        json!({ "unusable": { "why": why } }),
        json!({ "would-have-been": { "blocks": 3, "state": "affected", "headline": own() } }),
        "interrupted".into(),
        json!({ "out-of-time": { "blocks": 9 } }),
        "not-ended".into(),
    ]
}

fn caveats() -> Vec<Value> {
    vec![
        own(),
        json!({ "margin": amount(1.0, "ms/s") }),
        json!({ "arms-open": { "arms": ["busy-1", "busy-4"] } }),
        json!({ "no-interval": { "confidence": 0.95, "blocks": 6 } }),
        json!({ "left-out": { "trials": 2 } }),
        json!({ "hang-cut-off": { "after": amount(500.0, "ms"), "parameter": "hang-after" } }),
        "emulated".into(),
        "shared-machine".into(),
        json!({ "carry-over": carry_over() }),
        json!({ "washed-out": carry_over() }),
        json!({ "doubt": { "tainted": { "flags": 128 } } }),
        "quiet-machine-unknown".into(),
        json!({ "more-blocks": { "more": 4, "blocks": 28, "goes_on": true } }),
        json!({ "more-blocks": { "more": 4, "blocks": 28, "goes_on": false } }),
        json!({ "never-settles": { "blocks": 1000 } }),
        "needs-quiet-blocks".into(),
        "hang-rules-out".into(),
        json!({ "figure-lacking": { "arm": "busy-10", "measure": "late", "blocks": 4,
            "control": "twin-10", "control_blocks": 0 } }),
        json!({ "control-hung": { "arm": "busy-10", "control": "twin-10", "blocks": 3,
            "lacking": 0 } }),
        json!({ "control-hung": { "arm": "busy-10", "control": "twin-10", "blocks": 1,
            "lacking": 2 } }),
        json!({ "needs-blocks": { "least": 6, "most": 24 } }),
        "needs-case".into(),
        "needs-control".into(),
    ]
}

fn doubts() -> Vec<Value> {
    vec![
        json!({ "tainted": { "flags": 128 } }),
        json!({ "steal": { "arm": "busy-10", "control": "twin-10", "more": 0.07, "most": 0.05 } }),
        json!({ "no-cpu": { "arm": "busy-10", "ms_per_s": 300.0 } }),
        json!({ "no-cpu": { "ms_per_s": 300.0 } }),
    ]
}

fn whats() -> Vec<Value> {
    vec![own(), json!({ "fix": "priority" }), json!({ "grant": "erl" }), "run-again".into()]
}

fn needs() -> Vec<Value> {
    let denied = json!({ "denied": { "path": "/sys/fs/cgroup/x/cpu.max" } });
    let refused = json!({ "otp": 25, "flags": "+sfwi x", "why": "bad number" });
    let kernel = json!({ "reported": { "by": "kernel", "trouble": "failed", "about": "fork",
        "message": "Resource temporarily unavailable (os error 11)" } });
    vec![
        json!({ "cpus": { "least": 2, "allowed": 1 } }),
        json!({ "quota": denied }),
        json!({ "memory-limit": denied }),
        json!({ "priority": { "nice": -5 } }),
        json!({ "privilege": kernel }),
        json!({ "limit": kernel }),
        "erl".into(),
        json!({ "otp": kernel }),
        json!({ "fetch": { "problem": kernel, "full": false } }),
        json!({ "fetch": { "problem": kernel, "full": true } }),
        "cache-folder".into(),
        json!({ "flags": refused }),
        json!({ "native-functions": { "otp": 25, "error": "no C compiler" } }),
        json!({ "strace": { "error": "not found" } }),
        json!({ "strace": { "error": "/tmp/strace", "unsafe_program": true } }),
        json!({ "scenario": { "what": { "id": "no-burst" }, "grant": { "id": "more-time" } } }),
    ]
}

fn problems() -> Vec<Value> {
    let kernel = json!({ "reported": { "by": "kernel", "trouble": "failed", "about": "/proc/self",
        "message": "Permission denied (os error 13)" } });
    vec![
        own(),
        json!({ "missing": "erl" }),
        json!({ "group": "memory-of-v1" }),
        json!({ "generator": { "role": "mapper", "what": "closed" } }),
        kernel.clone(),
        json!({ "value": { "message": "invalid digit found in string" } }),
        json!({ "cpu": { "option": "--cpu-load", "cpu": 9, "why": { "absent": { "online": [0, 1] } } } }),
        json!({ "too-many-cpus": { "asked": 9, "allowed": 2 } }),
        json!({ "flags": { "otp": 25, "flags": "+sfwi x", "why": "bad number" } }),
        json!({ "arms": "no-control" }),
        "strace-late".into(),
        "cpus-unread".into(),
        json!({ "wrong-report": { "role": "mapper" } }),
        json!({ "in-folder": { "folder": "/tmp", "why": kernel } }),
        json!({ "unreadable": { "series": "request", "error": "bad histogram" } }),
    ]
}

fn arms() -> Vec<Value> {
    let arm = |of: &str| json!({ of: { "arm": "busy-10" } });
    let why = json!({ "arm": "busy-10", "why": "cpus-unread" });
    vec![
        json!({ "several": { "arms": ["busy-1", "busy-10"] } }),
        arm("not-had"),
        arm("same-name"),
        arm("same-combination"),
        "one-combination".into(),
        json!({ "only-control": why }),
        json!({ "control-not-had": why }),
        "no-control".into(),
        json!({ "not-one-value": { "option": "--busy" } }),
    ]
}

fn cpus() -> Vec<Value> {
    vec![
        json!({ "absent": { "online": [0, 1] } }),
        json!({ "forbidden": { "allowed": [0] } }),
        json!({ "refused": { "error": "Invalid argument (os error 22)" } }),
    ]
}

fn generators() -> Vec<Value> {
    vec![
        json!({ "not-started": { "program": "/usr/bin/tailback", "error": "not found" } }),
        json!({ "gave-up": { "message": "mmap: Cannot allocate memory (os error 12)" } }),
        json!({ "killed": { "signal": 9 } }),
        json!({ "exited": { "code": 1 } }),
        "closed".into(),
        json!({ "workers-killed": { "killed": 1, "workers": 9, "signal": 9 } }),
        json!({ "not-ready": { "limit_ms": 30_000 } }),
        json!({ "no-report": { "limit_ms": 30_000 } }),
        json!({ "message": { "message": "an unknown word" } }),
        json!({ "system": { "error": "Too many open files (os error 24)" } }),
    ]
}

fn groups() -> Vec<Value> {
    let path = |of: &str| json!({ of: { "path": "/sys/fs/cgroup/x" } });
    vec![
        json!({ "no-controller": { "controller": "memory", "path": "/sys/fs/cgroup" } }),
        "memory-of-v1".into(),
        json!({ "not-visible": { "group": "/user.slice" } }),
        path("read-only"),
        path("denied"),
        json!({ "occupied": { "path": "/sys/fs/cgroup/x", "processes": 3 } }),
        path("threaded"),
        path("no-bandwidth"),
        json!({ "value": { "quota-too-small": { "quota_us": 500 } } }),
        json!({ "busy": { "path": "/sys/fs/cgroup/x", "left": [7, 8] } }),
        json!({ "own-process": { "path": "/sys/fs/cgroup/x", "pid": 7 } }),
        json!({ "journal": { "error": "/var/lib/tailback: read-only file system" } }),
        json!({ "io": { "path": "/sys/fs/cgroup/x", "error": "Device or resource busy" } }),
    ]
}

fn quotas() -> Vec<Value> {
    let above = |refused: bool| {
        json!({ "quota-above-parent": { "quota_us": 200_000, "period_us": 100_000,
            "above": "/sys/fs/cgroup/x", "above_quota_us": 50_000, "above_period_us": 100_000,
            "refused": refused } })
    };
    let file = "/sys/fs/cgroup/x/cpu.max.burst";
    vec![
        json!({ "quota-too-small": { "quota_us": 500 } }),
        json!({ "period-out-of-range": { "period_us": 500 } }),
        above(true),
        above(false),
        json!({ "burst-above-quota": { "burst_us": 9000, "quota_us": 4000 } }),
        json!({ "no-burst": { "path": file } }),
        json!({ "memory-above": { "path": "/sys/fs/cgroup/memory.max", "limit_bytes": 50_331_648,
            "needed_bytes": 100_663_296 } }),
        json!({ "refused": { "path": file, "value": "4000", "error": "Invalid argument" } }),
    ]
}

fn changes() -> Vec<Value> {
    vec![json!({ "scenario": { "id": "no-limit" } }), json!({ "flags": "+sbwt none" })]
}

fn left_out() -> Vec<Value> {
    vec![
        json!({ "scenario": { "id": "no-burst" } }),
        json!({ "flags": { "otp": 25, "flags": "+sfwi x", "why": "bad number" } }),
        json!({ "refused": { "why": "cpus-unread" } }),
    ]
}

fn fix(outcome: &str) -> Value {
    let all = |ms: f64| json!({ "stalled": estimate(ms, "ms/s") });
    let with = match outcome {
        "fixed" => 2.0,
        "helped" => 120.0,
        _ => 950.0,
    };
    json!({ "arm": "priority", "change": { "flags": "+sbwt none" }, "outcome": outcome,
        "case": "busy-10", "measure": "stalled", "with": all(with), "without": all(980.0) })
}
