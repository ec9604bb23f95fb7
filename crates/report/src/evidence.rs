//! Evidence in words.

use model::estimate::number;
use model::evidence::{Behind, Holder, Task, Wait};
use model::{Record, Trial};

/// The longest wait of a record, and the trial that it is from.
pub fn longest(record: &Record) -> Option<(&Trial, &Wait)> {
    let probed = record.probed.iter().map(|probed| &probed.trial);
    let waits = record.trials.iter().chain(probed).flat_map(|trial| {
        let waits = trial.observation.evidence.iter().flat_map(|evidence| &evidence.waits);
        waits.map(move |wait| (trial, wait))
    });
    waits.max_by_key(|(_, wait)| wait.took_ns)
}

/// A thread as people name it: `scanner 812 (nice 15)`.
pub fn of_task(task: &Task) -> String {
    let name = task.part.as_deref().unwrap_or(&task.name);
    let nice = task.nice.map_or_else(String::new, |nice| format!(" (nice {nice})"));
    format!("{name} {}{nice}", task.tid)
}

/// Who waited for what, how long, who held it, and what that one was doing.
pub fn sentence(wait: &Wait) -> String {
    let mode = wait.mode.as_deref().map_or_else(String::new, |mode| format!(" to {mode}"));
    let mut sentence = format!(
        "{} waited {} for {}{mode}",
        of_task(&wait.waiter),
        ms(wait.took_ns),
        wait.resource
    );
    match wait.holders.first() {
        Some(holder) => sentence.push_str(&held(holder)),
        None => sentence.push_str("; who held it was not seen"),
    }
    if wait.holders.len() > 1 {
        sentence.push_str(&format!("; {} others held it too", wait.holders.len() - 1));
    }
    sentence.push('.');
    sentence
}

fn held(holder: &Holder) -> String {
    let mut words = format!(
        ", which {} held ({}) for {} of that",
        of_task(&holder.task),
        holder.mode,
        ms(holder.overlap_ns)
    );
    let did = [
        (holder.running_ns, "running"),
        (holder.preempted_ns, "ready to run but not running"),
        (holder.blocked_ns, "asleep"),
    ];
    let did: Vec<String> = did
        .iter()
        .filter(|(ns, _)| *ns > 0)
        .map(|(ns, what)| format!("{} {what}", ms(*ns)))
        .collect();
    if !did.is_empty() {
        words.push_str(&format!(": {}", did.join(", ")));
    }
    if let Some(first) = holder.behind.first() {
        let cpu = holder.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        words.push_str(&format!("{cpu} behind {}", of_behind(first)));
    }
    words
}

fn of_behind(behind: &Behind) -> String {
    match behind.threads {
        1 => format!("1 {}", behind.name),
        many => format!("{many} {}s", behind.name),
    }
}

fn ms(ns: u64) -> String {
    format!("{} ms", number(ns as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_one_sentence() {
        let task = |part: &str, tid| Task {
            pid: tid,
            tid,
            name: "x".into(),
            part: Some(part.into()),
            nice: Some(15),
        };
        let holder = Holder {
            task: task("scanner", 7),
            mode: "read".into(),
            overlap_ns: 470_000_000,
            running_ns: 2_000_000,
            preempted_ns: 468_000_000,
            blocked_ns: 0,
            cpu: Some(1),
            behind: vec![Behind { name: "spinner".into(), threads: 10, ns: 468_000_000 }],
        };
        let mut wait = Wait {
            split: None,
            at_ms: 3.0,
            took_ns: 480_000_000,
            waiter: Task { part: Some("mapper".into()), tid: 5, ..Task::default() },
            resource: "the mmap lock of pid 5".into(),
            mode: Some("write".into()),
            stack: Vec::new(),
            holders: vec![holder],
            covered_ns: 470_000_000,
            timeline: Vec::new(),
        };
        assert_eq!(
            sentence(&wait),
            "mapper 5 waited 480 ms for the mmap lock of pid 5 to write, which scanner 7 (nice 15) \
             held (read) for 470 ms of that: 2 ms running, 468 ms ready to run but not running on \
             CPU 1 behind 10 spinners."
        );
        wait.holders.clear();
        assert!(sentence(&wait).ends_with("who held it was not seen."));
    }
}
