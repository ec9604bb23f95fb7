//! The timelines of a record as a trace for Perfetto and other viewers: JSON trace events.
//!
//! For a watch: a counter of lost time for each program, and the findings.
//!
//! The format is "Trace Event Format" by the Chromium project: complete events (`X`), counters
//! (`C`) and names (`M`), with times in microseconds.

use crate::prose::live as words;
use model::evidence::{Span, Task};
use model::live::{Finding, Program, Victim};
use model::{Judged, Live};
use os::terminal::line as plain;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The trace. None if the record has nothing to show in it.
pub fn trace(record: &Judged) -> Option<String> {
    let mut events = Vec::new();
    let mut named = BTreeSet::new();
    for probed in &record.probed {
        let evidence = probed.trial.observation.evidence.as_ref();
        let waits = evidence.map(|evidence| evidence.waits.as_slice()).unwrap_or_default();
        for span in waits.iter().flat_map(|wait| &wait.timeline) {
            if named.insert((span.task.pid, span.task.tid)) {
                events.push(called(&span.task));
            }
            events.push(event(span, &probed.trial.arm, probed.trial.started_ms));
        }
    }
    if let Some(live) = &record.live {
        events.extend(counters(live));
        events.extend(live.findings.iter().map(|finding| found(finding, live)));
    }
    if events.is_empty() {
        return None;
    }
    let trace = json!({ "displayTimeUnit": "ms", "traceEvents": events });
    Some(format!("{trace}\n"))
}

fn event(span: &Span, arm: &str, started_ms: f64) -> Value {
    json!({
        "ph": "X",
        "name": plain(&span.state),
        "cat": plain(arm),
        "pid": span.task.pid,
        "tid": span.task.tid,
        "ts": (started_ms + span.from_ms) * 1e3,
        "dur": (span.until_ms - span.from_ms).max(0.0) * 1e3,
        "args": { "cpu": span.cpu },
    })
}

fn called(task: &Task) -> Value {
    let name = plain(task.part.as_ref().unwrap_or(&task.name));
    json!({
        "ph": "M",
        "name": "thread_name",
        "pid": task.pid,
        "tid": task.tid,
        "args": { "name": format!("{name} {}", task.tid) },
    })
}

/// The lost time of each program in each interval. The counter is 0 in intervals in which the
/// program is not among those that lost most.
fn counters(live: &Live) -> Vec<Value> {
    let kept_ns =
        live.intervals.iter().map(|interval| interval.over_ns).fold(0, u64::saturating_add);
    let (mut at_ns, mut events) = (live.over_ns.saturating_sub(kept_ns), Vec::new());
    let mut before: BTreeSet<&Program> = BTreeSet::new();
    for interval in &live.intervals {
        let now: BTreeMap<&Program, &Victim> =
            interval.victims.iter().map(|victim| (&victim.program, victim)).collect();
        let gone = before.iter().filter(|program| !now.contains_key(*program));
        events.extend(gone.map(|program| counter(program, &Victim::default(), 1, at_ns)));
        let lost =
            now.iter().map(|(program, victim)| counter(program, victim, interval.over_ns, at_ns));
        events.extend(lost);
        before = now.into_keys().collect();
        at_ns = at_ns.saturating_add(interval.over_ns);
    }
    events
}

/// The lost time by part, in milliseconds a second.
fn counter(program: &Program, victim: &Victim, over_ns: u64, at_ns: u64) -> Value {
    let rate = |ns: u64| ns as f64 / over_ns.max(1) as f64 * 1e3;
    let columns = words::COLUMNS.into_iter().zip(words::columns(victim)).skip(1);
    let columns: BTreeMap<&str, f64> = columns.map(|(name, ns)| (name, rate(ns))).collect();
    json!({
        "ph": "C",
        "name": format!("{} {} lost, ms/s", plain(&program.name), program.pid),
        "pid": program.pid,
        "ts": at_ns as f64 / 1e3,
        "args": columns,
    })
}

/// A finding, from the time when it was first seen to the end. If that time is not known, over the
/// whole time.
fn found(finding: &Finding, live: &Live) -> Value {
    let (begin, end) = (finding.since_s.unwrap_or(0.0).max(0.0) * 1e6, live.over_ns as f64 / 1e3);
    let culprits: Vec<String> =
        finding.culprits.iter().map(|culprit| plain(&culprit.name)).collect();
    json!({
        "ph": "X",
        "name": plain(&finding.stall),
        "cat": "finding",
        "pid": finding.victim.pid,
        "tid": finding.victim.pid,
        "ts": begin,
        "dur": (end - begin).max(0.0),
        "args": {
            "victim": plain(&finding.victim.name),
            "culprits": culprits,
            "cost_ms_per_s": finding.cost_ms_per_s,
            "worst_ms": finding.worst_ms,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Interval, Parts};

    #[test]
    fn without_events_there_is_no_trace() {
        let mut record = crate::testing::record();
        assert_eq!(trace(&record), None);
        record.facts.live = Some(Live::default());
        assert_eq!(trace(&record), None);
        let found = Live { findings: vec![Finding::default()], ..Live::default() };
        record.facts.live = Some(found);
        let trace = trace(&record);
        assert!(trace.is_some_and(|trace| trace.contains("\"cat\":\"finding\"")));
    }

    #[test]
    fn what_programs_lost_is_a_counter_that_falls_back_to_nothing() {
        let victim = |name: &str, ns: u64| Victim {
            program: Program { name: name.to_owned(), pid: 7, ..Program::default() },
            parts: Parts { own_quota_ns: ns, ready_ns: ns, ..Parts::default() },
            ..Victim::default()
        };
        let interval = |victims: Vec<Victim>| Interval { over_ns: 1_000_000_000, victims };
        let live = Live {
            over_ns: 3_000_000_000,
            intervals: vec![
                interval(vec![victim("a\u{1b}[2J", 500_000_000)]),
                interval(Vec::new()),
            ],
            ..Live::default()
        };
        let events = counters(&live);
        let figures: Vec<(f64, f64)> = events
            .iter()
            .map(|e| (e["ts"].as_f64().unwrap(), e["args"]["quota"].as_f64().unwrap()))
            .collect();
        // The first second is no longer kept.
        assert_eq!(figures, [(1e6, 500.0), (2e6, 0.0)]);
        assert!(!events[0]["name"].as_str().unwrap().contains('\u{1b}'));
        // A record may claim any time.
        let endless = Interval { over_ns: u64::MAX, victims: vec![victim("a", 0)] };
        let live = Live { intervals: vec![endless; 2], ..live };
        assert_eq!(counters(&live)[0]["ts"].as_f64(), Some(0.0));
    }
}
