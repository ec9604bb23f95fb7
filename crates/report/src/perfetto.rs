//! The timelines of a record as a trace for Perfetto's viewer and others: JSON trace events.
//!
//! The format is that of "Trace Event Format" by the Chromium project; complete events (`X`) and
//! names of threads (`M`), times in microseconds.

use model::Record;
use model::evidence::{Span, Task};
use os::terminal::line as plain;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The trace; where the record has no timeline, one without events.
pub fn trace(record: &Record) -> String {
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
    let trace = json!({ "displayTimeUnit": "ms", "traceEvents": events });
    format!("{trace}\n")
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
