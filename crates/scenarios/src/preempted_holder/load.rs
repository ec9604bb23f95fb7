//! The threads that share a lock: a generator that belongs to this scenario.

use super::lock::Lock;
use super::round::{Round, StepCost, calibrated};
use super::spec::Spec;
use hdrhistogram::Histogram;
use load::protocol::{Failure, FailureKind};
use load::slice::Extension;
use load::{OwnGenerator, Work, histogram};
use os::pin::Mask;
use os::time;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// The generator.
pub const GENERATOR: OwnGenerator = OwnGenerator { name: "lock-sharers", prepare };

/// Waits longer than this are stalls.
const STALL_NS: u64 = 1_000_000;

/// From this nominal CPU time on, that of a section is measured. A CPU that is slower than in the
/// calibration can make such a section more than a millisecond longer. In a shorter section, the
/// two calls of the kernel would be a large part of it.
const LONG_NS: u64 = 100_000;

/// The report of all threads together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharersReport {
    /// Time from the start of the first thread to the end of the last one, in nanoseconds.
    pub window_ns: u64,
    /// Number of rounds. Each round takes the lock once.
    pub rounds: u64,
    /// CPU time of all threads, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of the work alone, in nanoseconds: its steps as calibrated, its page faults as
    /// measured.
    pub work_ns: u64,
    /// Time of waits longer than a millisecond, of all threads together, in nanoseconds.
    pub stalled_ns: u64,
    /// Time in which the lock was held by a thread without a CPU, in nanoseconds.
    pub preempted_ns: u64,
    /// Page faults without disk access.
    pub faults: u64,
    /// Number of longer time slices that the kernel granted.
    pub extended: u64,
    /// The longest wait, in nanoseconds.
    pub worst_ns: u64,
    /// Waits for the lock: HdrHistogram V2, base64.
    pub waits: String,
}

/// The counts of one thread.
struct ThreadCounts {
    began: Instant,
    ended: Instant,
    rounds: u64,
    cpu_ns: u64,
    faults_ns: u64,
    stalled_ns: u64,
    preempted_ns: u64,
    extended: u64,
    waits: Histogram<u64>,
}

fn failure(kind: FailureKind, what: impl std::fmt::Display) -> Failure {
    Failure { kind, what: format!("{}: {what}", GENERATOR.name) }
}

fn prepare(spec: Value) -> Result<Work, Failure> {
    let spec: Spec =
        serde_json::from_value(spec).map_err(|error| failure(FailureKind::Unusable, error))?;
    let mask =
        Mask::from_cpus(&spec.cpus).map_err(|error| failure(FailureKind::Unusable, error))?;
    // The mask is set before anything else runs here, so the calibration uses the CPUs of the
    // threads.
    mask.apply().map_err(|error| failure(FailureKind::System, error))?;
    let cost = calibrated();
    Ok(Box::new(move || {
        let report = share_lock(&spec, cost)?;
        serde_json::to_value(report).map_err(|error| failure(FailureKind::System, error))
    }))
}

/// Lets the threads share the lock until the time is over.
fn share_lock(spec: &Spec, cost: StepCost) -> Result<SharersReport, Failure> {
    let shared = Arc::new((Lock::new(spec.lock), Barrier::new(spec.threads as usize + 1)));
    let before = minor_faults();
    let start = |_| {
        // The memory of a thread is mapped here, because a failure can still end the whole
        // generator.
        let round = Round::new(spec, cost).map_err(|error| failure(FailureKind::Limit, error))?;
        let (shared, spec) = (Arc::clone(&shared), spec.clone());
        std::thread::Builder::new()
            .spawn(move || {
                let (lock, ready) = &*shared;
                let extension = spec.extension.then(Extension::for_this_thread).transpose();
                ready.wait();
                one_thread(lock, round, extension?, &spec)
            })
            .map_err(|error| failure(FailureKind::Limit, error))
    };
    // If one thread cannot be started, the threads that already run end with the process.
    let threads: Vec<_> = (0..spec.threads).map(start).collect::<Result<_, _>>()?;
    shared.1.wait();
    let panicked = |_| failure(FailureKind::System, "a thread panicked");
    let ended = threads.into_iter().map(|thread| thread.join().map_err(panicked));
    let counts: Vec<std::io::Result<ThreadCounts>> = ended.collect::<Result<_, _>>()?;
    let counts: Vec<ThreadCounts> = counts
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|error| failure(FailureKind::System, error))?;
    let faults = minor_faults().saturating_sub(before);
    // The CPUs' clock may have risen since the calibration before the trial. With the higher cost,
    // steps would count as more work than they were, and hide what was lost.
    let cost_now = cost.lower(calibrated());
    let round_ns = cost_now.time_ns(cost.of_round(spec));
    Ok(SharersReport { faults, ..together(&counts, round_ns) })
}

/// Page faults of this process so far that needed no disk access. 0 if /proc is missing.
fn minor_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may contain anything, so fields are counted behind it. The state is field 3 and
    // `minflt` is field 10.
    let faults = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(7));
    faults.and_then(|faults| faults.parse().ok()).unwrap_or(0)
}

/// Works in rounds, with and without the lock, until the time is over.
fn one_thread(
    lock: &Lock,
    mut round: Round,
    extension: Option<Extension>,
    spec: &Spec,
) -> std::io::Result<ThreadCounts> {
    let (began, duration) = (Instant::now(), Duration::from_millis(spec.duration_ms));
    let mut counts = ThreadCounts::new(began);
    let before = time::thread_cpu_ns();
    // At least one round, however late the thread starts to run.
    while counts.rounds == 0 || began.elapsed() < duration {
        round.before()?;
        let asked = Instant::now();
        lock.take();
        let taken = Instant::now();
        let section = Section::begin(spec);
        if let Some(extension) = &extension {
            extension.begin();
        }
        let faults_ns = round.inside();
        let held_ns = time::whole_ns(taken.elapsed());
        lock.let_go();
        counts.extended += u64::from(extension.as_ref().is_some_and(Extension::end));
        let work_ns = section.work_ns(faults_ns);
        round.outside();
        counts.rounds += 1;
        counts.note(time::whole_ns(taken - asked), held_ns, work_ns);
    }
    counts.cpu_ns = time::thread_cpu_ns().saturating_sub(before);
    counts.faults_ns = round.faults_ns();
    counts.ended = Instant::now();
    Ok(counts)
}

/// The work of a section: its nominal time, or the thread's CPU time at its begin. Reading that
/// time is a system call, which ends an extension of the time slice. So it is read before an
/// extension is asked for and after the lock is free.
enum Section {
    Nominal(u64),
    Measured(u64),
}

impl Section {
    fn begin(spec: &Spec) -> Self {
        match spec.inside_ns < LONG_NS {
            true => Section::Nominal(spec.inside_ns),
            false => Section::Measured(time::thread_cpu_ns()),
        }
    }

    /// Its CPU time in nanoseconds: as measured if the section is long, else its nominal time and
    /// its page faults.
    fn work_ns(self, faults_ns: u64) -> u64 {
        match self {
            Section::Nominal(ns) => ns + faults_ns,
            Section::Measured(before) => time::thread_cpu_ns().saturating_sub(before),
        }
    }
}

impl ThreadCounts {
    /// The counts of a thread that has done nothing yet.
    fn new(began: Instant) -> Self {
        ThreadCounts {
            began,
            ended: began,
            rounds: 0,
            cpu_ns: 0,
            faults_ns: 0,
            stalled_ns: 0,
            preempted_ns: 0,
            extended: 0,
            waits: histogram::empty(),
        }
    }

    /// Records how long a round waited for the lock, how long it held the lock, and how much of
    /// that time was work and page faults.
    fn note(&mut self, waited_ns: u64, held_ns: u64, work_ns: u64) {
        self.stalled_ns += if waited_ns > STALL_NS { waited_ns } else { 0 };
        // If a section took this much longer than its work, another thread preempted it.
        let extra_ns = held_ns.saturating_sub(work_ns);
        self.preempted_ns += if extra_ns > STALL_NS { extra_ns } else { 0 };
        histogram::record(&mut self.waits, waited_ns);
    }
}

fn together(threads: &[ThreadCounts], steps_ns_a_round: f64) -> SharersReport {
    let mut waits = histogram::empty();
    for thread in threads {
        // Both histograms have the same bounds, so this cannot fail.
        let _ = waits.add(&thread.waits);
    }
    let began = threads.iter().map(|thread| thread.began).min();
    let ended = threads.iter().map(|thread| thread.ended).max();
    let sum = |of: fn(&ThreadCounts) -> u64| threads.iter().map(of).sum::<u64>();
    let rounds = sum(|thread| thread.rounds);
    SharersReport {
        window_ns: began.zip(ended).map_or(0, |(began, ended)| time::whole_ns(ended - began)),
        rounds,
        cpu_ns: sum(|thread| thread.cpu_ns),
        work_ns: (rounds as f64 * steps_ns_a_round) as u64 + sum(|thread| thread.faults_ns),
        stalled_ns: sum(|thread| thread.stalled_ns),
        preempted_ns: sum(|thread| thread.preempted_ns),
        faults: 0,
        extended: sum(|thread| thread.extended),
        worst_ns: waits.max(),
        waits: histogram::encode(&waits),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::LockKind;
    use super::super::params::Fault;
    use super::*;

    fn spec() -> Spec {
        Spec {
            threads: 3,
            cpus: vec![0],
            lock: LockKind::Sleep,
            inside_ns: 2_000,
            outside_ns: 2_000,
            fault: Fault::None,
            pages: 16,
            huge: false,
            extension: false,
            duration_ms: 20,
        }
    }

    #[test]
    fn threads_that_share_a_lock_report_what_they_did() {
        let spec = spec();
        let report = share_lock(&spec, calibrated()).unwrap();
        assert!(report.rounds >= 3 && report.window_ns >= 20_000_000, "{report:?}");
        assert!(report.cpu_ns > 0 && report.work_ns > 0, "{report:?}");
        assert_eq!(histogram::decode(&report.waits).unwrap().len(), report.rounds);
    }

    #[test]
    fn each_page_of_each_round_is_a_fault_that_counts_as_work() {
        for fault in [Fault::Minor, Fault::Before] {
            let spec = Spec { fault, ..spec() };
            let cost = calibrated();
            let report = share_lock(&spec, cost).unwrap();
            assert!(report.faults >= report.rounds * 16, "{report:?}");
            let steps_ns = cost.time_ns(report.rounds * cost.of_round(&spec)) as u64;
            assert!(report.work_ns <= steps_ns + report.cpu_ns, "{report:?}");
        }
    }

    #[test]
    fn the_cpu_time_of_page_faults_is_work() {
        let rounds_of_faults = Spec {
            threads: 1,
            fault: Fault::Minor,
            inside_ns: 0,
            outside_ns: 0,
            pages: 512,
            ..spec()
        };
        let report = share_lock(&rounds_of_faults, calibrated()).unwrap();
        assert!(report.work_ns > report.cpu_ns / 2, "{report:?}");
        assert!(report.work_ns <= report.cpu_ns, "{report:?}");
    }

    #[test]
    fn a_holder_is_off_its_cpu_for_the_time_beyond_its_work() {
        let off_cpu = |held_ns, work_ns| {
            let mut counts = ThreadCounts::new(Instant::now());
            counts.note(0, held_ns, work_ns);
            counts.preempted_ns
        };
        assert_eq!(off_cpu(3_000_000, 2_000_000), 0);
        assert_eq!(off_cpu(3_000_001, 2_000_000), 1_000_001);
        assert_eq!(off_cpu(1_000_000, 2_000_000), 0);
    }

    #[test]
    fn a_long_section_has_the_cpu_time_that_it_took() {
        let cost = calibrated();
        let of = |inside_ns| Spec { inside_ns, ..spec() };
        // Its work takes 40 times as long as its nominal time, or less if the CPU's clock rises.
        let mut round = Round::new(&of(40 * LONG_NS), cost).unwrap();
        let mut work_ns = |spec: &Spec| {
            let section = Section::begin(spec);
            let faults_ns = round.inside();
            section.work_ns(faults_ns)
        };
        assert!(work_ns(&of(LONG_NS)) > 2 * LONG_NS);
        assert_eq!(work_ns(&of(LONG_NS - 1)), LONG_NS - 1);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"threads": "many"})).is_err());
    }
}
