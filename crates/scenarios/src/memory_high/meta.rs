//! The declaration of `memory-high`.

use super::params::{By, MemoryHighParams};
use super::sentences::MemoryHighFact;
use crate::params::{self, YesNo, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const LOST: &str = "lost";
    pub const UNITS: &str = "units";
    pub const UNIT_P99: &str = "unit_p99";
    pub const WORST: &str = "worst";
    pub const STALLED: &str = "stalled";
    pub const EVENTS: &str = "events";
    pub const OVER: &str = "over";
    pub const KILLS: &str = "kills";
}

/// How much case and control may differ, in percentage points of the time.
///
/// The kernel counts no waiting time for a group that is never short of memory. Above its limit,
/// the work stands still for most of the time.
const MARGIN: f64 = 5.0;

/// The description of `memory-high`.
pub const META: Meta = Meta {
    id: "memory-high",
    title: "a group above memory.high sleeps instead of working",
    about: "A group holds more memory than its memory.high. Each time a task of it has taken more \
            memory, the kernel makes the task sleep: the longer, the further the group is above \
            its limit, up to 2 s for each 256 KiB. Nothing is killed, nothing is logged, and the \
            CPU is idle. In the control, memory.high is above what the same work needs. Judged is \
            the share of time in which the work stood still: it waited for memory, as \
            memory.pressure of the group counts it, or its process was being restarted.",
    who: "containers and services with memory.high (MemoryHigh= of systemd, memory QoS of \
          Kubernetes) whose memory cannot be reclaimed: anonymous memory without swap",
    fixes: &[
        FixMeta {
            id: "raise",
            what: "Raise memory.high above what the work needs.",
            change: |settings| {
                changed(settings, |params: &mut MemoryHighParams| *params = params.control())
            },
        },
        FixMeta {
            id: "memory-max",
            what: "Use memory.max instead of memory.high, so that the work is killed and can \
                   start again.",
            change: |settings| {
                changed(settings, |params: &mut MemoryHighParams| params.by = By::Max)
            },
        },
        FixMeta {
            id: "swap",
            what: "Let the group swap (memory.swap.max), to zram for example.",
            change: |settings| {
                changed(settings, |params: &mut MemoryHighParams| params.swap = YesNo::Yes)
            },
        },
    ],
    sentence: model::fact::sentence::<MemoryHighFact>,
    series: &[],
    needs: Needs { cpus: 1, root: true },
    parameters: params::of::<MemoryHighParams>(),
    measures: &[
        MeasureMeta {
            name: measure::LOST,
            heading: "stood still",
            unit: Unit::Percent,
            help: "part of the time in which the group stood still for memory, or the worker was \
                   being started again",
            column: true,
        },
        MeasureMeta {
            name: measure::UNITS,
            heading: "units",
            unit: Unit::PerSecond,
            help: "units of work a second; each fills the same amount of memory anew",
            column: true,
        },
        MeasureMeta {
            name: measure::UNIT_P99,
            heading: "unit p99",
            unit: Unit::Milliseconds,
            help: "what the slowest of 100 units took, the one that was under way at the end \
                   included",
            column: true,
        },
        MeasureMeta {
            name: measure::WORST,
            heading: "worst unit",
            unit: Unit::Milliseconds,
            help: "the longest unit of a trial, or the longest time without one",
            column: false,
        },
        MeasureMeta {
            name: measure::STALLED,
            heading: "in memory.high",
            unit: Unit::MillisecondsPerSecond,
            help: "time in which a task of the group stood still for memory, in each second, as \
                   its memory.pressure counts it (some)",
            column: false,
        },
        MeasureMeta {
            name: measure::EVENTS,
            heading: "at limit",
            unit: Unit::PerSecond,
            help: "how often a second the group was found above memory.high, or about to exceed \
                   memory.max",
            column: false,
        },
        MeasureMeta {
            name: measure::OVER,
            heading: "above",
            unit: Unit::Percent,
            help: "by how much the group was above its limit, at most, in percent of the limit",
            column: false,
        },
        MeasureMeta {
            name: measure::KILLS,
            heading: "kills",
            unit: Unit::Count,
            help: "how often the worker was killed for memory in a trial, and started again",
            column: false,
        },
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::LOST),
        margin: MARGIN,
        control_limit: 15.0,
        // A wait for a CPU is not a wait for memory.
        wants_cpu: false,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[],
};
