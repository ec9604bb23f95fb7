//! The declaration of `cpu-quota`.

use super::params::CpuQuotaParams;
use super::sentences::CpuQuotaFact;
use crate::params::{self, changed};
use model::scenario::{FixMeta, MeasureMeta, Tag};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const LOST: &str = "lost";
    pub const BEYOND: &str = "beyond";
    pub const GOT: &str = "got";
    pub const COULD_LOSE: &str = "could_lose";
    pub const USAGE: &str = "usage";
    pub const ENTITLED: &str = "entitled";
    pub const CPUS: &str = "cpus";
    pub const PERIODS: &str = "periods";
    pub const THROTTLED: &str = "throttled";
    pub const THROTTLED_TIME: &str = "throttled_time";
    pub const ITERATIONS: &str = "iterations";
    pub const LATE_P99: &str = "late_p99";
}

/// The fix that no run can measure here, because it is another kernel.
pub(super) const OTHER_KERNEL: &str = "kernel";

/// How much less or more than the control a group may get, in percent of its quota.
pub(super) const MARGIN: f64 = 3.0;

/// The description of `cpu-quota`.
pub const META: Meta = Meta {
    id: "cpu-quota",
    title: "a group is throttled below its CPU quota, or gets more than it",
    about: "A control group has a CPU quota. One of its threads runs without pause; on every CPU \
            another wakes each 3 ms for some microseconds. Each CPU takes its share of the quota \
            in slices. Where slices expire (Linux 4.18 to 5.3), those of nearly idle CPUs are \
            lost, and the group is throttled long before it has used its quota. Before 5.7 a race \
            could also give it more than its quota. In the control the same threads run on one \
            CPU, where no slice lies idle. Judged are the part of its quota that the group did not \
            get, and the part that it got beyond it, between two refills of the quota.",
    who: "hosts with many CPUs that run containers with CPU limits: Kubernetes, Docker, systemd \
          slices, above all services with many threads of which few are busy",
    fixes: &[
        FixMeta {
            id: OTHER_KERNEL,
            what: "If quota slices expire, use a kernel from 5.4 on, or 4.19.84 or 4.14.154. \
                   Against the race in handing out quota, use one from 5.7 on.",
            change: |settings| changed(settings, |_: &mut CpuQuotaParams| ()),
        },
        FixMeta {
            id: "cpuset",
            what: "Give the group a cpuset of fewer CPUs.",
            // The control of each study has this fix. On its CPUs the case would equal the control,
            // so a run of its own would measure nothing.
            change: |settings| changed(settings, |_: &mut CpuQuotaParams| ()),
        },
    ],
    sentence: model::fact::sentence::<CpuQuotaFact>,
    series: &[],
    needs: Needs { cpus: 2, root: true },
    parameters: params::of::<CpuQuotaParams>(),
    measures: &[
        MeasureMeta {
            name: measure::LOST,
            heading: "lost",
            unit: Unit::Percent,
            help: "part of its quota that the group did not get, in periods in which it was \
                   throttled",
            column: true,
        },
        MeasureMeta {
            name: measure::BEYOND,
            heading: "beyond",
            unit: Unit::Percent,
            help: "what the group got beyond its quota, as part of it",
            column: true,
        },
        MeasureMeta {
            name: measure::GOT,
            heading: "got",
            unit: Unit::Percent,
            help: "part of its quota that the group got",
            column: true,
        },
        MeasureMeta {
            name: measure::COULD_LOSE,
            heading: "could lose",
            unit: Unit::Percent,
            help: "part of its quota that the group would lose if slices expired, at most",
            column: false,
        },
        MeasureMeta {
            name: measure::USAGE,
            heading: "used",
            unit: Unit::Milliseconds,
            help: "CPU time of the group from one refill of its quota to another",
            column: false,
        },
        MeasureMeta {
            name: measure::ENTITLED,
            heading: "entitled",
            unit: Unit::Milliseconds,
            help: "quota in the periods between",
            column: false,
        },
        MeasureMeta {
            name: measure::CPUS,
            heading: "CPUs",
            unit: Unit::Count,
            help: "CPUs that the threads were pinned to",
            column: false,
        },
        MeasureMeta {
            name: measure::PERIODS,
            heading: "periods",
            unit: Unit::Count,
            help: "periods between the two refills",
            column: false,
        },
        MeasureMeta {
            name: measure::THROTTLED,
            heading: "throttled",
            unit: Unit::Count,
            help: "those at whose end some CPU was throttled",
            column: true,
        },
        MeasureMeta {
            name: measure::THROTTLED_TIME,
            heading: "throttled time",
            unit: Unit::Milliseconds,
            help: "time that CPUs were throttled, all CPUs added up",
            column: false,
        },
        MeasureMeta {
            name: measure::ITERATIONS,
            heading: "iterations",
            unit: Unit::PerSecond,
            help: "iterations of all threads a second",
            column: false,
        },
        MeasureMeta {
            name: measure::LATE_P99,
            heading: "late p99",
            unit: Unit::Milliseconds,
            help: "lateness that 1 in 100 wake-ups of the sleeping threads exceeded",
            column: false,
        },
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::LOST),
        margin: MARGIN,
        control_limit: 10.0,
        // The judged figure is a part of a quota, not time that a thread lost.
        wants_cpu: false,
        // Judged in both directions, so each direction has half of the 5%.
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[
        Tag {
            commit: "de53fd7aedb1",
            since: "5.4",
            what: "slices no longer expire",
            matters: |_| true,
        },
        Tag {
            commit: "26a8b12747c9",
            since: "5.7",
            what: "handing out quota no longer races with taking it",
            matters: |_| true,
        },
    ],
};
