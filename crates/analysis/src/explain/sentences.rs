//! Sentences of evidence.

use super::phrases::{call, ms};
use super::{quota, vm};
use model::Record;
use model::evidence::{Behind, Evidence, Holder, ThreadEvidence, Wait};

/// Threads whose delay is told.
const DELAYED: usize = 3;

/// Names of those who ran that are told.
const NAMES: usize = 3;

/// The cause: the worst wait, or what the quota did, or who waited longest for a CPU.
pub(super) fn cause(evidence: &Evidence) -> Option<String> {
    if let Some(cause) = vm::cause(evidence) {
        return Some(cause);
    }
    if let Some(quota) = &evidence.quota {
        return quota::cause(quota);
    }
    if let Some(wait) = evidence.waits.first() {
        return Some(waited(wait));
    }
    let worst = evidence.threads.iter().max_by_key(|thread| thread.runnable_ns)?;
    (worst.runnable_ns > 0).then(|| delayed(worst))
}

/// `mapper 12 waited 264 ms for the mmap lock of pid 12 (write); held for reading by ..`.
fn waited(wait: &Wait) -> String {
    let mode = wait.mode.as_ref().map_or_else(String::new, |mode| format!(" ({mode})"));
    let article = if wait.resource.starts_with("a ") { "" } else { "the " };
    let mut text = format!(
        "{} waited {} for {article}{}{mode}",
        call(&wait.waiter),
        ms(wait.took_ns),
        wait.resource
    );
    match wait.holders.first() {
        Some(holder) => text.push_str(&held(holder)),
        None => text.push_str("; who held it is not known"),
    }
    let others = wait.holders.len().saturating_sub(1);
    if others > 0 {
        text.push_str(&format!(", and {others} more held it meanwhile"));
    }
    text
}

fn held(holder: &Holder) -> String {
    let how = if holder.mode == "write" { "writing" } else { "reading" };
    let mut text = format!("; held for {how} by {}", call(&holder.task));
    let Holder { running_ns, preempted_ns, blocked_ns, overlap_ns, .. } = *holder;
    if preempted_ns >= running_ns.max(blocked_ns) && preempted_ns > 0 {
        let cpu = holder.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        text.push_str(&format!(", which was runnable but preempted for {}{cpu}", ms(preempted_ns)));
        if let Some(behind) = holder.behind.first() {
            text.push_str(&format!(" behind {}", crowd(behind)));
        }
    } else if blocked_ns > running_ns {
        text.push_str(&format!(", which slept for {} of it", ms(blocked_ns)));
    } else if running_ns > 0 {
        text.push_str(&format!(", which ran for {} of it", ms(running_ns)));
    } else {
        text.push_str(&format!(" for {} of it", ms(overlap_ns)));
    }
    text
}

/// Sentences beside the cause.
pub(super) fn evidence(evidence: &Evidence) -> Vec<String> {
    let mut sentences: Vec<String> = evidence.vm.iter().flat_map(vm::evidence).collect();
    sentences.extend(evidence.quota.as_ref().and_then(quota::stretches));
    if evidence.waits_seen > 1 {
        sentences.push(format!(
            "{} waits of a millisecond or more were seen, {} together",
            evidence.waits_seen,
            ms(evidence.waits_ns)
        ));
    }
    if let Some(behind) = evidence.split.as_ref().map(|split| ran(&split.behind))
        && !behind.is_empty()
    {
        sentences.push(format!("while a holder was runnable there ran {behind}"));
    }
    let mut threads: Vec<&ThreadEvidence> = evidence.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.runnable_ns));
    let worth_telling = |thread: &&&ThreadEvidence| thread.runnable_ns >= 1_000_000;
    // Of a VM the sums are told already, so the worst of its threads is enough.
    let told = if evidence.vm.is_some() { 1 } else { DELAYED };
    sentences.extend(threads.iter().filter(worth_telling).take(told).map(|t| delayed(t)));
    sentences
}

/// `scanner 7 (nice 15) ran 2 ms and waited 260 ms for a CPU (at most 200 ms at a time) while ..`.
fn delayed(thread: &ThreadEvidence) -> String {
    let longest = match thread.longest_runnable_ns {
        0 => String::new(),
        ns => format!(" (at most {} at a time)", ms(ns)),
    };
    let behind = ran(&thread.behind);
    let behind = if behind.is_empty() { behind } else { format!(" while there ran {behind}") };
    format!(
        "{} ran {} and waited {} for a CPU{longest}{behind}",
        call(&thread.task),
        ms(thread.running_ns),
        ms(thread.runnable_ns)
    )
}

/// Who ran, and for how long.
fn ran(behind: &[Behind]) -> String {
    let names: Vec<String> =
        behind.iter().take(NAMES).map(|b| format!("{} for {}", crowd(b), ms(b.ns))).collect();
    names.join(", ")
}

/// `10 spinners`, `2 threads of 2_scheduler`, `nobody`.
fn crowd(behind: &Behind) -> String {
    const PARTS: [&str; 5] = ["mapper", "scanner", "spinner", "thread", "port program"];
    match (behind.name.as_str(), behind.threads) {
        ("idle", _) => "nobody".to_owned(),
        ("thread", _) => "threads of the group".to_owned(),
        ("node", _) => "threads of the node".to_owned(),
        (name, 0 | 1) => name.to_owned(),
        (name, threads) if PARTS.contains(&name) => format!("{threads} {name}s"),
        (name, threads) => format!("{threads} threads of {name}"),
    }
}

/// Why there is no evidence.
pub(super) fn without_evidence(record: &Record) -> String {
    let argv = &record.tool.argv;
    if argv.iter().any(|word| word == "--no-probe") {
        return "evidence: the run was made with --no-probe; run it again without".to_owned();
    }
    if record.trials.is_empty() {
        return "evidence: nothing was run".to_owned();
    }
    "evidence: no trial with probes was run, since no arm was affected; a run that finds a stall \
     has one"
        .to_owned()
}
