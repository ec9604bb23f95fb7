//! The declaration of `held-mutex`.

use super::params::{HeldMutexParams, MutexFix};
use super::sentences::HeldMutexFact;
use crate::params::{self, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const LOST: &str = "lost";
    pub const WAIT_P99: &str = "wait_p99";
    pub const WORST: &str = "worst";
    pub const OFF_CPU: &str = "off_cpu";
    pub const SECTIONS: &str = "sections";
}

/// How much case and control may differ, in milliseconds per second.
///
/// This is a tenth of the waiter's time. Two arms with the same holder differed by at most 12 ms/s
/// in 10 blocks (2 CPUs, Linux 6.18, 2026-11-27).
const MARGIN: f64 = 100.0;

const fn figure(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    help: &'static str,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column: true }
}

/// The description of `held-mutex`.
pub const META: Meta = Meta {
    id: "held-mutex",
    title: "threads sleep for a mutex whose holder is ready and has no CPU",
    about: "A thread takes a mutex, works, and lets it go; another one takes it now and then. The \
            holder has a low weight beside other work, or a CPU quota: while it has no CPU and \
            holds the mutex, the other one sleeps, whatever its own priority. A profile of CPU \
            time does not show that. In the control the same holder has the weight of the others \
            and no quota. Judged is the time of waits that are more than 1 ms longer than the work \
            of a section, without that work.",
    who: "programs that run some of their threads at a low nice value or under SCHED_IDLE, and \
          processes that share a lock with a process whose CPU time is limited",
    fixes: &[
        FixMeta {
            id: "same-weight",
            what: "Give the holder the weight of the others, and no CPU quota.",
            change: |settings| {
                changed(settings, |params: &mut HeldMutexParams| *params = params.control())
            },
        },
        FixMeta {
            id: "short",
            what: "Hold the mutex for less CPU time at once.",
            change: |settings| {
                changed(settings, |params: &mut HeldMutexParams| {
                    *params = params.with(MutexFix::Short);
                })
            },
        },
    ],
    sentence: model::fact::sentence::<HeldMutexFact>,
    series: &[],
    needs: Needs { cpus: 2, root: false },
    parameters: params::of::<HeldMutexParams>(),
    measures: &[
        figure(
            measure::LOST,
            "lost",
            Unit::MillisecondsPerSecond,
            "time of the waiter in waits that are more than 1 ms longer than the work of a \
             section, without that work, in each second of the trial",
        ),
        figure(
            measure::WAIT_P99,
            "wait p99",
            Unit::Milliseconds,
            "what the slowest of 100 calls waited for the mutex",
        ),
        figure(measure::WORST, "worst wait", Unit::Milliseconds, "longest wait of a trial"),
        figure(
            measure::OFF_CPU,
            "holder off CPU",
            Unit::MillisecondsPerSecond,
            "time in which the holder held the mutex and had no CPU, of sections that ended, in \
             each second of the trial",
        ),
        figure(measure::SECTIONS, "sections", Unit::PerSecond, "sections of the holder a second"),
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::LOST),
        margin: MARGIN,
        control_limit: 300.0,
        // Other processes compete for the holder's CPU on purpose.
        wants_cpu: false,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[],
};
