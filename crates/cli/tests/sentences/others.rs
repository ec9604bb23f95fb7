//! Sentences about evidence, comparisons and versions.

use super::{Lines, estimate, of, shift};
use model::change::{ChangeHeadline, ChangeReason, ChangeSuggestion};
use model::explanation::{Cause, Happened, MissingEvidence, Remedy, Seen};
use model::ladder::Ladder;
use model::not_seen::{NotSeen, OnlyPrograms};
use model::{Change, ChangeState, Explanation, Meta};
use report::prose;
use serde_json::{Value, json};

/// Each sentence with its variant.
pub fn lines() -> Lines {
    let meta = scenarios::find("mmap-lock").map(|scenario| scenario.meta());
    let missing =
        |one: &NotSeen| prose::not_seen::missing(&MissingEvidence::NotSeen(one.clone()), meta);
    let mut all = of("cause", &causes(), |one: &Cause| cause(one, meta));
    all.extend(of("share of waits", &happened(), |one: &Happened| {
        prose::explanation::happened(*one).to_owned()
    }));
    all.extend(of("seen", &seen(), |one: &Seen| prose::explanation::seen(one)));
    all.extend(of("remedy", &remedies(), |one: &Remedy| {
        prose::explanation::remedy(one, meta, None).what
    }));
    all.extend(of("evidence from", &sources(), prose::not_seen::source));
    all.extend(of("evidence missing", &missing_evidence(), |one: &MissingEvidence| {
        prose::not_seen::missing(one, meta)
    }));
    all.extend(of("evidence not seen", &not_seen(), missing));
    all.extend(of("evidence only programs", &only_programs(), |one: &OnlyPrograms| {
        missing(&NotSeen::OnlyPrograms(*one))
    }));
    all.extend(of("no programs", &no_programs(), prose::no_programs));
    all.extend(of("comparison", &change_headlines(), |one: &ChangeHeadline| {
        prose::change::headline(&change(|change| change.headline = one.clone()), meta)
    }));
    all.extend(of("comparison state", &change_states(), |one: &ChangeState| {
        prose::change::headline(&in_state(*one), meta)
    }));
    all.extend(of("comparison reason", &change_reasons(), |one: &ChangeReason| {
        prose::change::reasons(&change(|change| change.reasons = vec![one.clone()]), meta).concat()
    }));
    all.extend(of("comparison suggestion", &change_suggestions(), |one: &ChangeSuggestion| {
        let change = change(|change| change.suggestions = vec![one.clone()]);
        prose::change::suggestions(&change).remove(0).what
    }));
    all.extend(ladders());
    all
}

fn cause(cause: &Cause, meta: Option<&Meta>) -> String {
    let waits = json!([{ "at_ms": 3.0, "took_ns": 260_000_000, "waiter": task("mapper", 5),
        "resource": { "mmap-lock": { "pid": 5 } }, "mode": "write", "covered_ns": 0,
        "holders": [{ "task": task("scanner", 7), "mode": "read", "overlap_ns": 250_000_000,
            "running_ns": 3_000_000, "preempted_ns": 240_000_000, "blocked_ns": 0, "cpu": 1,
            "behind": [behind()] }] }]);
    let whole = json!({ "schema": "", "scenario": "mmap-lock", "state": "affected", "cause": cause,
        "shares": [], "evidence": [], "sources": [], "missing": [], "waits": waits });
    prose::explanation::cause(&serde_json::from_value::<Explanation>(whole).unwrap(), meta)
}

fn task(part: &str, tid: u32) -> Value {
    json!({ "pid": tid, "tid": tid, "name": "tailback", "part": part, "nice": 15 })
}

fn behind() -> Value {
    json!({ "name": "spinner", "kind": "part", "threads": 10, "ns": 200_000_000 })
}

fn delay() -> Value {
    json!({ "task": task("scanner", 7), "running_ns": 2_000_000, "runnable_ns": 260_000_000,
        "longest_ns": 200_000_000, "behind": [behind()] })
}

fn causes() -> Vec<Value> {
    let work = |more: Value| {
        let mut work = json!({ "watched_ns": 2_000_000_000_u64, "schedulers": 8,
            "ran_ns": 900_000_000, "spun": { "ns": 600_000_000, "at_least": true, "percent": 67.0 } });
        work.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        work
    };
    let busiest = json!({ "task": task("scanner", 7), "ran_ns": 400_000_000,
        "runnable_ns": 3_000_000, "mostly": "work" });
    vec![
        "longest-wait".into(),
        json!({ "quota": { "task": task("spread", 7), "used_ns": 400_000_000, "percent": 40.0,
            "throttled_periods": 9, "worst": { "task": task("spread", 8),
                "throttled_ns": 90_000_000 } } }),
        json!({ "memory": { "group": "/x", "high_bytes": 33_554_432, "held_bytes": 41_943_040,
            "kills": 1, "stalled_ns": 900_000_000,
            "filled_by": { "task": task("worker", 7), "bytes": 41_943_040 },
            "longest": [task("worker", 7), 80_000_000] } }),
        json!({ "no-cpu": delay() }),
        json!({ "schedulers-throttled": work(json!({ "throttled_periods": 9,
            "throttled_ns": 700_000_000 })) }),
        json!({ "schedulers-uneven": { "watched_ns": 2_000_000_000_u64, "most": task("s", 7),
            "most_ran_ns": 100_000_000, "most_native_ns": 1_800_000_000_u64,
            "least": { "task": task("s", 8), "ran_ns": 1_000_000, "idle_ns": 1_900_000_000_u64 } } }),
        json!({ "schedulers-ran": work(json!({ "delayed_ns": 9_000_000, "busiest": busiest })) }),
        json!({ "verdict": "not-measured" }),
    ]
}

fn happened() -> Vec<Value> {
    let words = ["holder-preempted", "holder-ran", "holders-slept", "holder-unknown"];
    let more = ["waiter-delayed", "no-holder-known"];
    words.into_iter().chain(more).map(Value::from).collect()
}

fn seen() -> Vec<Value> {
    vec![
        json!({ "futex": { "calls": 9000, "per_second": 4500.0, "ns": 80_000_000 } }),
        json!({ "schedulers-delayed": { "ns": 90_000_000, "longest_ns": 9_000_000,
            "throttled_ns": 50_000_000 } }),
        json!({ "throttles": { "times": 9, "ns": 500_000_000, "counted_ns": 510_000_000,
            "longest_ns": 90_000_000, "used_up_by": { "task": task("spread", 7), "times": 6 } } }),
        json!({ "waits": { "count": 90, "ns": 900_000_000 } }),
        json!({ "ran-meanwhile": { "behind": [behind()] } }),
        json!({ "no-cpu": delay() }),
    ]
}

fn remedies() -> Vec<Value> {
    let measured = |outcome: &str| {
        json!({ "measured": { "arm": "flags", "change": { "flags": "+sbwt none" },
            "outcome": outcome } })
    };
    let suggested = json!({ "suggested": { "what": "run-again" } });
    vec![measured("fixed"), measured("helped"), measured("not-shown"), suggested]
}

fn sources() -> Vec<Value> {
    let probe = |sees: &str| json!({ "probe": sees });
    vec![
        probe("scheduler"),
        probe("mmap-lock"),
        probe("futex"),
        "quota-return".into(),
        "thread-files".into(),
    ]
}

fn missing_evidence() -> Vec<Value> {
    let words = ["no-probe", "nothing-run", "not-affected", "not-probed"].map(Value::from);
    words.into_iter().chain([json!({ "not-seen": "tables" })]).collect()
}

fn not_seen() -> Vec<Value> {
    vec![
        json!({ "no-programs": "privilege" }),
        json!({ "only-programs": "holders" }),
        "quota-return".into(),
        json!({ "no-tracepoint": "mmap-lock" }),
        json!({ "not-attached": { "sees": "futex", "why": "ENOENT" } }),
        "tables".into(),
        json!({ "ring": { "why": "ENOMEM" } }),
        json!({ "crowded": { "lookups": 9 } }),
        "listener".into(),
        json!({ "trial-broke": { "why": "cpus-unread" } }),
    ]
}

fn only_programs() -> Vec<Value> {
    ["holders", "vm-schedulers", "throttled"].map(Value::from).to_vec()
}

fn no_programs() -> Vec<Value> {
    let refused = |what: Value| json!({ "refused": { "what": what, "why": "EPERM" } });
    vec![
        "not-built".into(),
        "privilege".into(),
        json!({ "no-btf": { "file": "/sys/kernel/btf/vmlinux" } }),
        json!({ "lockdown": { "mode": "confidentiality" } }),
        "pid-namespace".into(),
        refused("programs".into()),
        refused("table".into()),
        refused("btf".into()),
        refused("thread".into()),
        refused(json!({ "hook": "sched_switch" })),
        "tables".into(),
        "loader-ended".into(),
    ]
}

/// A comparison of one record with another, changed by `with`.
fn change(with: impl FnOnce(&mut Change)) -> Change {
    let side = |name: &str| {
        json!({ "name": name, "started": "2026-01-01T00:00:00Z", "verdict": "affected",
            "host": model::Machine::default() })
    };
    let whole = json!({ "schema": "", "scenario": "mmap-lock", "before": [side("a.json")],
        "after": [side("b.json")], "basis": "pairs", "state": "worse", "headline": largest(),
        "reasons": [], "suggestions": [], "differs": [],
        "arms": [{ "id": "busy-10", "role": "case", "state": null,
            "measures": { "stalled": difference(20.0, 900.0) } }] });
    let mut change = serde_json::from_value(whole).unwrap();
    with(&mut change);
    change
}

/// A comparison that ended in this state, with figures that give it.
fn in_state(state: ChangeState) -> Change {
    let headline = match state {
        ChangeState::Worse | ChangeState::Differs => largest(),
        ChangeState::Better => largest_of(900.0, 20.0),
        ChangeState::NoDifferenceShown => largest_of(20.0, 20.4),
        ChangeState::NotComparable => "not-comparable".into(),
    };
    let headline: ChangeHeadline = serde_json::from_value(headline).unwrap();
    change(|change| {
        change.state = state;
        change.headline = headline;
    })
}

/// A figure of the first record and of the second one.
fn difference(before: f64, after: f64) -> Value {
    json!({ "over": "control", "before": estimate(before, "ms/s"),
        "after": estimate(after, "ms/s"), "comparison": shift(after - before, "ms/s"),
        "margin": 1.0 })
}

fn largest() -> Value {
    largest_of(20.0, 900.0)
}

fn largest_of(before: f64, after: f64) -> Value {
    let difference = difference(before, after);
    json!({ "largest": { "arm": "busy-10", "measure": "stalled", "difference": difference } })
}

fn change_headlines() -> Vec<Value> {
    vec![largest(), "no-figure".into(), "not-comparable".into()]
}

fn change_states() -> Vec<Value> {
    let words = ["worse", "better", "differs", "no-difference-shown", "not-comparable"];
    words.map(Value::from).to_vec()
}

fn change_reasons() -> Vec<Value> {
    let with = |record: &str, has: &str| json!({ "record": record, "has": has });
    let setting = json!({ "what": "kernel", "before": "6.12.0", "after": "7.0.0" });
    let turn = |side: &str| json!({ "side": side, "records": 4 });
    vec![
        "one-record-each".into(),
        json!({ "too-few-pairs": { "pairs": 2, "needed": 7, "judged": 2, "confidence": 0.95 } }),
        "order-unknown".into(),
        json!({ "not-in-turns": { "order": [turn("before"), turn("after")] } }),
        json!({ "fixed-order": { "order": [turn("before"), turn("after")] } }),
        "order-by-hand".into(),
        json!({ "unpaired": { "before": 2, "after": 0 } }),
        json!({ "hung": { "arm": "busy-10", "before": [0, 12], "after": [11, 12] } }),
        json!({ "one-sided": { "arms": ["busy-4"] } }),
        json!({ "no-interval": { "arms": ["busy-1", "busy-10"] } }),
        json!({ "control-changed": { "arm": "twin-10", "measure": "stalled",
            "shift": shift(5.0, "ms/s") } }),
        json!({ "claim": { "error_rate": 0.05 } }),
        "no-record".into(),
        json!({ "other-scenario": { "record": with("a.json", "mmap-lock"),
            "other": with("b.json", "cpu-quota") } }),
        json!({ "untrustworthy": { "record": "a.json" } }),
        json!({ "no-trials": { "record": "a.json" } }),
        "judged-otherwise".into(),
        "no-common-case".into(),
        json!({ "other-control": { "arm": "busy-10", "record": with("a.json", "twin-10"),
            "other": with("b.json", "control") } }),
        json!({ "same-record": { "record": "a.json", "other": "b.json" } }),
        json!({ "mixed-side": { "record": "a.json", "other": "b.json", "setting": setting } }),
        json!({ "confounded": { "by": ["host", "kernel"] } }),
    ]
}

fn change_suggestions() -> Vec<Value> {
    let pairs = |purpose: &str| json!({ "make-pairs": { "pairs": 9, "purpose": purpose } });
    vec![
        pairs("cause"),
        pairs("detect"),
        pairs("narrow"),
        json!({ "explain": { "record": "b.json" } }),
        "one-scenario".into(),
        json!({ "replace": { "record": "a.json" } }),
        "same-version".into(),
        "same-parameters".into(),
        "name-once".into(),
        "one-set-up".into(),
        json!({ "across": { "names": ["host", "kernel"] } }),
    ]
}

/// The sentences about the steps of a ladder.
fn ladders() -> Lines {
    let rung = |name: &str, preemption: &str, effect: f64| {
        json!({ "name": name, "release": name, "preemption": preemption,
            "effect": shift(effect, "ms/s") })
    };
    let known = json!([{ "since": "6.18", "commit": "e1fad12dcb66", "what": "throttled tasks go on \
        to the end of their system call", "source": "git" }]);
    let step = |more: Value| {
        let mut step = json!({ "from": "6.17", "to": "6.18", "state": "no-difference-shown" });
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    let verdicts = json!(["affected", "not-affected"]);
    let differs = |more: Value| {
        let mut step = step(json!({ "state": "differs", "shift": shift(-880.0, "ms/s"),
            "verdicts": verdicts, "known": known }));
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    [
        ("no boundary", step(json!({}))),
        ("these runs differ", differs(json!({}))),
        (
            "boundary",
            differs(json!({ "repeated": { "pairs": [-861.0, -880.0, -872.0, -890.0, -884.0],
            "alike": 5, "needed": 5, "among": 1 } })),
        ),
        (
            "fresh runs differ not",
            differs(json!({ "repeated": { "pairs": [-861.0, 0.4], "alike": 1, "needed": 5,
            "among": 1 } })),
        ),
        (
            "no fresh run",
            differs(json!({ "repeated": { "pairs": [], "alike": 0, "needed": 5, "among": 1 } })),
        ),
        ("verdicts alone", step(json!({ "verdicts": verdicts, "shift": shift(-1.0, "ms/s") }))),
        ("not compared", step(json!({ "state": "not-comparable", "reasons": ["no-common-case"] }))),
        (
            "own parameters",
            step(json!({ "own": [{ "what": { "parameter": "rate" }, "before": 400,
            "after": 500 }] })),
        ),
    ]
    .into_iter()
    .map(|(name, step)| {
        let named = (name == "verdicts alone").then_some(58.0);
        let whole = json!({ "schema": "", "scenario": "mmap-lock", "arm": "busy-10",
            "measure": "stalled", "margin": 1.0, "confidence": 0.95,
            "rungs": [rung("6.17", "voluntary", 882.0), rung("6.18", "lazy", 2.0)],
            "steps": [step], "would_show": 64.0, "would_be_named": named,
            "spread": { "deviation": 4.0, "most": 9.0, "versions": 2, "runs": 12 } });
        let ladder: Ladder = serde_json::from_value(whole).unwrap();
        ("ladder".to_owned(), name.to_owned(), prose::ladder::boundaries(&ladder).join(" "))
    })
    .collect()
}
