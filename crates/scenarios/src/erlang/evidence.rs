//! Evidence about a node: what its scheduler threads did, one by one and together.

use crate::probing::{Part, Probing};
use beam::ThreadKind;
use host::roots::Roots;
use model::evidence::part::{DIRTY_CPU, DIRTY_IO, NODE, PORT, SCHEDULER};
use model::evidence::{Figure, ThreadEvidence, VmEvidence, figure};
use model::not_seen::{EvidenceSource, NotSeen, OnlyPrograms, Sees};
use model::{Evidence, Measure, Unit};
use os::time;
use probe::{Role, SessionOptions};
use std::time::{Duration, Instant};

/// The probe options for a node.
pub(crate) fn options(roots: &Roots, quota: bool) -> SessionOptions {
    SessionOptions { futex: true, lock: false, quota, ..SessionOptions::new(roots) }
}

/// The watch over a node. It starts when the load of the node is released.
pub(crate) struct Watched {
    probing: Probing,
    released: Option<Instant>,
    lasted: Duration,
}

impl Watched {
    /// Loads the probes before the node is started, if `wanted`.
    pub(crate) fn prepare(wanted: bool, roots: &Roots, quota: bool) -> Self {
        let probing = Probing::start_with(wanted, &options(roots, quota));
        Watched { probing, released: None, lasted: Duration::ZERO }
    }

    /// Starts to watch the node and the processes that it started.
    pub(crate) fn release(&mut self, pid: u32) {
        let node = Part { pid, part: NODE, role: Role::Bystander };
        self.probing.watch_tree(&node, PORT);
        self.probing.release();
        self.released = Some(Instant::now());
    }

    /// Ends the watch, while the node is still alive.
    pub(crate) fn end(&mut self) {
        self.lasted = self.released.map(|at| at.elapsed()).unwrap_or_default();
        self.probing.end();
    }

    /// The collected evidence. `active` is the VM's own figure for the active time of all its
    /// schedulers together.
    pub(crate) fn evidence(self, active: Option<Duration>) -> Option<Evidence> {
        let mut evidence = self.probing.evidence()?;
        put_together(&mut evidence, self.lasted, active);
        Some(evidence)
    }
}

/// Identifies the scheduler threads and adds up their figures.
fn put_together(evidence: &mut Evidence, lasted: Duration, active: Option<Duration>) {
    let quota = evidence.quota.iter_mut();
    let of_quota = quota.flat_map(|quota| {
        let shares = quota.threads.iter_mut().map(|share| &mut share.task);
        shares.chain(quota.timeline.iter_mut().filter_map(|stretch| stretch.by.as_mut()))
    });
    let tasks = evidence.threads.iter_mut().map(|thread| &mut thread.task).chain(of_quota);
    for task in tasks.filter(|task| task.part.as_deref() == Some(NODE)) {
        task.part = Some(part(&task.name).to_owned());
    }
    let is_scheduler = |thread: &&ThreadEvidence| {
        ThreadKind::of(&thread.task.name).is_scheduler()
            && thread.task.part.as_deref() != Some(PORT)
    };
    let schedulers: Vec<&ThreadEvidence> = evidence.threads.iter().filter(is_scheduler).collect();
    let figures = figures(&schedulers, active);
    let vm = VmEvidence {
        watched_ns: time::whole_ns(lasted),
        schedulers: u32::try_from(schedulers.len()).unwrap_or(u32::MAX),
        figures,
    };
    if !is_traced(evidence) {
        evidence.missing.push(NotSeen::OnlyPrograms(OnlyPrograms::VmSchedulers));
    }
    evidence.vm = Some(vm);
}

/// The role of a thread in a node.
fn part(name: &str) -> &'static str {
    match ThreadKind::of(name) {
        ThreadKind::Scheduler(_) => SCHEDULER,
        ThreadKind::DirtyCpu(_) => DIRTY_CPU,
        ThreadKind::DirtyIo(_) => DIRTY_IO,
        _ => NODE,
    }
}

/// Whether programs in the kernel saw the threads. /proc does not show how long they slept.
fn is_traced(evidence: &Evidence) -> bool {
    evidence.sources.iter().any(|source| matches!(source, EvidenceSource::Probe(_)))
}

fn figures(schedulers: &[&ThreadEvidence], active: Option<Duration>) -> Vec<Figure> {
    const SCHEDULER: EvidenceSource = EvidenceSource::Probe(Sees::Scheduler);
    const FUTEX: EvidenceSource = EvidenceSource::Probe(Sees::Futex);
    let traced = schedulers.iter().any(|thread| thread.blocked_ns.is_some());
    let source = || if traced { SCHEDULER } else { EvidenceSource::ThreadFiles };
    let sum = |of: &dyn Fn(&ThreadEvidence) -> Option<u64>| {
        schedulers.iter().filter_map(|thread| of(thread)).reduce(|sum, one| sum + one)
    };
    let ran = sum(&|thread| Some(thread.running_ns));
    let longest = schedulers.iter().map(|thread| thread.longest_runnable_ns).max();
    let milliseconds = [
        (figure::RAN, ran, source()),
        (figure::DELAYED, sum(&|thread| Some(thread.runnable_ns)), source()),
        (figure::LONGEST_DELAY, longest.filter(|_| traced), SCHEDULER),
        (figure::CAUGHT, sum(&|thread| thread.throttled_ns), SCHEDULER),
        (figure::FUTEX_TIME, sum(&|thread| thread.futex_ns), FUTEX),
        (figure::SLEPT_ELSEWHERE, sum(&ThreadEvidence::slept_elsewhere_ns), FUTEX),
    ];
    let mut figures: Vec<Figure> = milliseconds
        .into_iter()
        .filter_map(|(name, ns, source)| {
            let measure = Measure::exact(time::ms_of_ns(ns?), Unit::Milliseconds);
            Some(named(name, measure, source))
        })
        .collect();
    if let Some(calls) = sum(&|thread| thread.futex_calls) {
        let measure = Measure::exact(calls as f64, Unit::Count);
        figures.push(named(figure::FUTEX_CALLS, measure, FUTEX));
    }
    figures.extend(ran.zip(active).map(|(ran, active)| spun(ran, active, source())));
    figures
}

/// CPU time without work. A scheduler that is preempted in the middle of work is active, but gets
/// no CPU time. So the difference is a lower bound for the time spent spinning.
fn spun(ran_ns: u64, active: Duration, source: EvidenceSource) -> Figure {
    let ms = (time::ms_of_ns(ran_ns) - time::ms(active)).max(0.0);
    named(figure::SPUN, Measure::at_least(ms, Unit::Milliseconds), source)
}

fn named(name: &str, measure: Measure, source: EvidenceSource) -> Figure {
    Figure { name: name.to_owned(), measure, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::evidence::Task;

    const MS: u64 = 1_000_000;

    fn thread(name: &str, running_ms: u64, traced: bool) -> ThreadEvidence {
        let ns = |ms: u64| traced.then_some(ms * MS);
        ThreadEvidence {
            task: Task { name: name.to_owned(), part: Some(NODE.to_owned()), ..Task::default() },
            running_ns: running_ms * MS,
            runnable_ns: 5 * MS,
            longest_runnable_ns: 2 * MS,
            blocked_ns: ns(90),
            futex_calls: traced.then_some(10),
            futex_ns: ns(40),
            futex_slept_ns: ns(30),
            poll_slept_ns: ns(20),
            ..ThreadEvidence::default()
        }
    }

    fn seen(traced: bool) -> Evidence {
        let programs = EvidenceSource::Probe(Sees::Scheduler);
        let source = if traced { programs } else { EvidenceSource::ThreadFiles };
        let mut evidence = Evidence {
            sources: vec![source],
            threads: vec![
                thread("1_scheduler", 100, traced),
                thread("erts_dcpus_1", 20, traced),
                thread("1_aux", 500, traced),
            ],
            ..Evidence::default()
        };
        let active = Some(Duration::from_millis(50));
        put_together(&mut evidence, Duration::from_secs(1), active);
        evidence
    }

    #[test]
    fn schedulers_are_added_up_and_other_threads_are_not() {
        let evidence = seen(true);
        let parts: Vec<_> = evidence.threads.iter().map(|one| one.task.part.as_deref()).collect();
        assert_eq!(parts, [Some("scheduler"), Some("dirty CPU scheduler"), Some("node")]);
        let vm = evidence.vm.unwrap();
        let value = |name: &str| vm.figure(name).unwrap().value;
        assert_eq!((vm.schedulers, vm.watched_ns), (2, 1000 * MS));
        assert_eq!((value("ran"), value("delayed"), value("longest_delay")), (120.0, 10.0, 2.0));
        assert_eq!((value("futex_calls"), value("futex_time")), (20.0, 80.0));
        assert_eq!(value("slept_elsewhere"), 80.0);
        assert_eq!(vm.figure("spun"), Some(&Measure::at_least(70.0, Unit::Milliseconds)));
        let probe = |figure: &Figure| matches!(figure.source, EvidenceSource::Probe(_));
        assert!(vm.figures.iter().all(probe));
        assert!(evidence.missing.is_empty());
    }

    #[test]
    fn without_probes_it_is_said_which_figures_are_absent() {
        let evidence = seen(false);
        let vm = evidence.vm.unwrap();
        assert_eq!(vm.figure("futex_calls"), None);
        assert_eq!(vm.figure("longest_delay"), None);
        assert_eq!(vm.figure("spun"), Some(&Measure::at_least(70.0, Unit::Milliseconds)));
        assert!(vm.figures.iter().all(|figure| figure.source == EvidenceSource::ThreadFiles));
        assert_eq!(evidence.missing, [NotSeen::OnlyPrograms(OnlyPrograms::VmSchedulers)]);
    }
}
