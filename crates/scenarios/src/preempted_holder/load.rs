//! The threads that share a lock: a generator of this scenario's own.

use super::lock::{Kind, Lock};
use hdrhistogram::Histogram;
use load::protocol::{Failure, FailureKind};
use load::{OwnGenerator, Work, histogram};
use os::pin::Mask;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The generator.
pub const GENERATOR: OwnGenerator = OwnGenerator { name: "lock-sharers", prepare };

/// Rounds of work by which its speed is found out.
const CALIBRATION: u64 = 200_000;

/// How often: the quickest counts, since anything may interrupt the others.
const CALIBRATIONS: u32 = 7;

/// Waits longer than this are stalls.
const STALL_NS: u64 = 1_000_000;

/// What the threads are to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Threads that share the lock.
    pub threads: u32,
    /// The CPUs that all of them may run on.
    pub cpus: Vec<u32>,
    /// How they wait for the lock.
    pub lock: Kind,
    /// CPU time with the lock in each round, in nanoseconds.
    pub inside_ns: u64,
    /// CPU time without it in each round, in nanoseconds.
    pub outside_ns: u64,
    /// How long they go on, in milliseconds.
    pub duration_ms: u64,
}

/// What they report, all together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharersReport {
    /// From the start of the first thread to the end of the last, in nanoseconds.
    pub window_ns: u64,
    /// Rounds: each takes the lock once.
    pub rounds: u64,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of the work alone, as calibrated, in nanoseconds.
    pub work_ns: u64,
    /// Time in waits longer than a millisecond, of all threads, in nanoseconds.
    pub stalled_ns: u64,
    /// Time in which a thread without a CPU held the lock, in nanoseconds.
    pub preempted_ns: u64,
    /// The longest wait, in nanoseconds.
    pub worst_ns: u64,
    /// Waits for the lock: HdrHistogram V2, base64.
    pub waits: String,
}

/// What is counted of one thread.
struct ThreadCounts {
    began: Instant,
    ended: Instant,
    rounds: u64,
    cpu_ns: u64,
    stalled_ns: u64,
    preempted_ns: u64,
    waits: Histogram<u64>,
}

fn failure(kind: FailureKind, what: impl std::fmt::Display) -> Failure {
    Failure { kind, what: format!("{}: {what}", GENERATOR.name) }
}

fn prepare(spec: Value) -> Result<Work, Failure> {
    let spec: Spec =
        serde_json::from_value(spec).map_err(|error| failure(FailureKind::Unusable, error))?;
    let mask = Mask::of(&spec.cpus).map_err(|error| failure(FailureKind::Unusable, error))?;
    // Before anything else runs here, and on the CPUs that the threads will have.
    mask.apply().map_err(|error| failure(FailureKind::System, error))?;
    let ns_a_round = calibrated();
    Ok(Box::new(move || {
        let report = share_lock(&spec, ns_a_round)?;
        serde_json::to_value(report).map_err(|error| failure(FailureKind::System, error))
    }))
}

/// CPU time of one round of work, in nanoseconds.
fn calibrated() -> f64 {
    let took = (0..CALIBRATIONS).map(|_| {
        let before = cpu_ns();
        work(CALIBRATION);
        cpu_ns().saturating_sub(before)
    });
    took.min().unwrap_or(0).max(1) as f64 / CALIBRATION as f64
}

/// So many rounds of work that touch no memory.
fn work(rounds: u64) {
    let mut value = 1u64;
    for round in 0..rounds {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round));
    }
}

/// CPU time of the calling thread, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let ns = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    u64::try_from(ns).unwrap_or(0)
}

/// Has the threads share the lock until their time is over.
fn share_lock(spec: &Spec, ns_a_round: f64) -> Result<SharersReport, Failure> {
    let shared = Arc::new((Lock::new(spec.lock), Barrier::new(spec.threads as usize + 1)));
    let rounds = |ns: u64| (ns as f64 / ns_a_round).round() as u64;
    let work @ [inside, outside] = [rounds(spec.inside_ns), rounds(spec.outside_ns)];
    let (inside_ns, duration) = (spec.inside_ns, Duration::from_millis(spec.duration_ms));
    let start = |_| {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new().spawn(move || {
            let (lock, ready) = &*shared;
            ready.wait();
            one_thread(lock, work, inside_ns, duration)
        })
    };
    // Those that run already, where one cannot be started, end with the process.
    let threads: Vec<_> = (0..spec.threads)
        .map(start)
        .collect::<Result<_, _>>()
        .map_err(|error| failure(FailureKind::Limit, error))?;
    shared.1.wait();
    let counts: Vec<ThreadCounts> = threads
        .into_iter()
        .map(JoinHandle::join)
        .collect::<Result<_, _>>()
        .map_err(|_| failure(FailureKind::System, "a thread panicked"))?;
    Ok(together(&counts, (inside + outside) as f64 * ns_a_round))
}

/// Does rounds of work inside the lock and outside of it, until its time is over.
fn one_thread(
    lock: &Lock,
    [inside, outside]: [u64; 2],
    inside_ns: u64,
    duration: Duration,
) -> ThreadCounts {
    let began = Instant::now();
    let mut counts = ThreadCounts {
        began,
        ended: began,
        rounds: 0,
        cpu_ns: 0,
        stalled_ns: 0,
        preempted_ns: 0,
        waits: histogram::empty(),
    };
    let before = cpu_ns();
    // One round at least, however late the thread comes to run.
    while counts.rounds == 0 || began.elapsed() < duration {
        let asked = Instant::now();
        lock.take();
        let taken = Instant::now();
        work(inside);
        let held_ns = ns(taken.elapsed());
        lock.let_go();
        work(outside);
        counts.rounds += 1;
        let waited_ns = ns(taken - asked);
        counts.stalled_ns += if waited_ns > STALL_NS { waited_ns } else { 0 };
        // A section that took this much longer than its work was interrupted by another thread.
        let extra_ns = held_ns.saturating_sub(inside_ns);
        counts.preempted_ns += if extra_ns > STALL_NS { extra_ns } else { 0 };
        histogram::record(&mut counts.waits, waited_ns);
    }
    counts.cpu_ns = cpu_ns().saturating_sub(before);
    counts.ended = Instant::now();
    counts
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn together(threads: &[ThreadCounts], work_ns_a_round: f64) -> SharersReport {
    let mut waits = histogram::empty();
    for thread in threads {
        // Both have the same bounds, so it always fits.
        let _ = waits.add(&thread.waits);
    }
    let began = threads.iter().map(|thread| thread.began).min();
    let ended = threads.iter().map(|thread| thread.ended).max();
    let sum = |of: fn(&ThreadCounts) -> u64| threads.iter().map(of).sum::<u64>();
    let rounds = sum(|thread| thread.rounds);
    SharersReport {
        window_ns: began.zip(ended).map_or(0, |(began, ended)| ns(ended - began)),
        rounds,
        cpu_ns: sum(|thread| thread.cpu_ns),
        work_ns: (rounds as f64 * work_ns_a_round) as u64,
        stalled_ns: sum(|thread| thread.stalled_ns),
        preempted_ns: sum(|thread| thread.preempted_ns),
        worst_ns: waits.max(),
        waits: histogram::encode(&waits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_a_lock_report_what_they_did() {
        let spec = Spec {
            threads: 3,
            cpus: vec![0],
            lock: Kind::Sleep,
            inside_ns: 2_000,
            outside_ns: 2_000,
            duration_ms: 20,
        };
        let report = share_lock(&spec, calibrated()).unwrap();
        assert!(report.rounds >= 3 && report.window_ns >= 20_000_000, "{report:?}");
        assert!(report.cpu_ns > 0 && report.work_ns > 0, "{report:?}");
        assert_eq!(histogram::decode(&report.waits).unwrap().len(), report.rounds);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"threads": "many"})).is_err());
    }
}
