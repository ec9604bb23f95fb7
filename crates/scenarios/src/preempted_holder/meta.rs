//! The declaration of `preempted-holder`.

use super::lock::LockKind;
use super::params::{Fault, PreemptedHolderParams};
use super::sentences::PreemptedHolderFact;
use crate::params::{self, YesNo, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const LOST: &str = "lost";
    pub const ROUNDS: &str = "rounds";
    pub const WAIT_P99: &str = "wait_p99";
    pub const WORST: &str = "worst";
    pub const STALLED: &str = "stalled";
    pub const PREEMPTED: &str = "preempted";
    pub const FAULTS: &str = "faults";
    pub const EXTENDED: &str = "extended";
    pub const THREADS: &str = "threads";
    pub const CPUS: &str = "cpus";
}

/// How much case and control may differ, in percentage points of the threads' CPU time.
///
/// Two arms with the same sleeping lock differed by at most 7.8 points in 100 blocks each, without
/// page faults and with them. The standard deviations were 2.4 and 1.5 points (2 CPUs, 2026-11-28),
/// since the cost of system calls differs each time. Threads that spin for a preempted holder lose
/// tens of points.
pub(super) const MARGIN: f64 = 5.0;

/// The description of `preempted-holder`.
pub const META: Meta = Meta {
    id: "preempted-holder",
    title: "threads spin for a lock whose holder is preempted",
    about: "Threads share one lock in user space, and there are fewer CPUs than threads. If the \
            scheduler preempts the thread that holds the lock, the others spin until it runs \
            again. Each such wait is as long as a time slice, and no profiler shows it, since \
            every CPU is busy. In the control the same threads use a lock that sleeps in the \
            kernel. Judged is the share of their CPU time that the threads spent on anything but \
            their work.",
    who: "databases, runtimes and allocators with spinlocks in user space, on hosts or in containers \
          with fewer CPUs than threads, above all where the kernel preempts at any point",
    fixes: &[
        FixMeta {
            id: "sleep",
            what: "Use a lock that sleeps: a futex, pthread_mutex, std::sync::Mutex.",
            change: |settings| {
                changed(settings, |params: &mut PreemptedHolderParams| {
                    params.lock = LockKind::Sleep
                })
            },
        },
        FixMeta {
            id: "spin-then-sleep",
            what: "Let a thread spin for some microseconds only, and sleep then.",
            change: |settings| {
                changed(settings, |params: &mut PreemptedHolderParams| {
                    params.lock = LockKind::SpinThenSleep;
                })
            },
        },
        FixMeta {
            id: "touch-before",
            what: "Touch the memory before the lock is taken, so that no page fault is inside.",
            change: |settings| {
                changed(settings, |params: &mut PreemptedHolderParams| {
                    if params.fault == Fault::Minor {
                        params.fault = Fault::Before;
                    }
                })
            },
        },
        FixMeta {
            id: "huge-pages",
            what: "Use huge pages for the memory that is touched with the lock held.",
            change: |settings| {
                changed(settings, |params: &mut PreemptedHolderParams| {
                    if params.fault == Fault::Minor {
                        params.huge = YesNo::Yes;
                    }
                })
            },
        },
    ],
    sentence: model::fact::sentence::<PreemptedHolderFact>,
    series: &[],
    needs: Needs { cpus: 1, root: false },
    parameters: params::of::<PreemptedHolderParams>(),
    measures: &[
        MeasureMeta {
            name: measure::LOST,
            heading: "CPU lost",
            unit: Unit::Percent,
            help: "part of the threads' CPU time that was not their work: looking at the lock, calls \
                   of the kernel",
            column: true,
        },
        MeasureMeta {
            name: measure::ROUNDS,
            heading: "rounds",
            unit: Unit::PerSecond,
            help: "rounds of all threads a second; each takes the lock once",
            column: true,
        },
        MeasureMeta {
            name: measure::WAIT_P99,
            heading: "wait p99",
            unit: Unit::Milliseconds,
            help: "what the slowest of 100 rounds waited for the lock",
            column: true,
        },
        MeasureMeta {
            name: measure::WORST,
            heading: "worst wait",
            unit: Unit::Milliseconds,
            help: "longest wait of a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::STALLED,
            heading: "stalled",
            unit: Unit::MillisecondsPerSecond,
            help: "time of one thread in waits longer than 1 ms, in each second of the trial",
            column: false,
        },
        MeasureMeta {
            name: measure::PREEMPTED,
            heading: "holder off CPU",
            unit: Unit::MillisecondsPerSecond,
            help: "time in which the lock was held by a thread that had no CPU for more than 1 ms, in \
                   each second of the trial",
            column: false,
        },
        MeasureMeta {
            name: measure::FAULTS,
            heading: "faults",
            unit: Unit::PerSecond,
            help: "minor page faults of all threads a second",
            column: false,
        },
        MeasureMeta {
            name: measure::EXTENDED,
            heading: "extended",
            unit: Unit::PerSecond,
            help: "how often a second the kernel let a thread that holds the lock go on beyond its \
                   time slice",
            column: false,
        },
        MeasureMeta {
            name: measure::THREADS,
            heading: "threads",
            unit: Unit::Count,
            help: "threads that share the lock",
            column: false,
        },
        MeasureMeta {
            name: measure::CPUS,
            heading: "CPUs",
            unit: Unit::Count,
            help: "CPUs that they share",
            column: false,
        },
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::LOST),
        margin: MARGIN,
        control_limit: 15.0,
        // The judged figure is CPU time, so time without a CPU does not count.
        wants_cpu: false,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[],
};
