//! The declaration of `quota-blind`.

use super::params::QuotaBlindParams;
use super::plan;
use super::sentences::QuotaBlindFact;
use crate::params::{self, OrNone, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const P99: &str = "p99";
    pub const P50: &str = "p50";
    pub const WORST: &str = "worst";
    pub const JOB: &str = "job";
    pub const CPUS: &str = "cpus";
    pub const THREADS: &str = "threads";
    pub const THROTTLED: &str = "throttled";
    pub const THROTTLED_TIME: &str = "throttled_time";
    pub const USED: &str = "used";
}

/// How much the 99th percentile of latency may differ between case and control, in milliseconds.
///
/// This is a tenth of the usual period of a quota. If a quota allows one thread and two are at
/// work, each period in which they use up the quota has a stall that is up to 25 ms longer.
const MARGIN: f64 = 10.0;

const fn figure(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    help: &'static str,
    column: bool,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column }
}

/// The description of `quota-blind`.
pub const META: Meta = Meta {
    id: "quota-blind",
    title: "a runtime has more threads at work than its CPU quota allows",
    about: "A runtime in a group with a CPU quota serves small requests at a steady rate, and now \
            and then a job that it shares among its threads. By default it has as many threads as \
            the host has CPUs, or a fixed number. These threads use up the quota early in each \
            period, and every request then waits for the next period. In the control the runtime's \
            own setting limits it to the CPUs of its quota. Judged is the latency that 1 in 100 \
            requests exceeds.",
    who: "services in containers with CPU limits: Kubernetes, Docker, systemd slices; above all on \
          hosts with many CPUs, and where the limit is at a group above the container's own",
    fixes: &[FixMeta {
        id: "tell",
        what: "Configure the runtime for the CPUs that its quota allows: GOMAXPROCS, \
               -XX:ActiveProcessorCount, +S, UV_THREADPOOL_SIZE.",
        change: |settings| {
            changed(settings, |params: &mut QuotaBlindParams| {
                params.told = OrNone::Is(plan::whole_cpus(params.quota));
            })
        },
    }],
    sentence: model::fact::sentence::<QuotaBlindFact>,
    series: &[],
    needs: Needs { cpus: 2, root: true },
    parameters: params::of::<QuotaBlindParams>(),
    measures: &[
        figure(
            measure::P99,
            "p99",
            Unit::Milliseconds,
            "latency that 1 in 100 requests exceeds, from when each was due",
            true,
        ),
        figure(
            measure::P50,
            "median",
            Unit::Milliseconds,
            "latency of half of the requests",
            false,
        ),
        figure(measure::WORST, "worst", Unit::Milliseconds, "the longest latency", false),
        figure(measure::JOB, "job", Unit::Milliseconds, "time that half of the jobs took", false),
        figure(
            measure::CPUS,
            "CPUs",
            Unit::Count,
            "CPUs that the runtime says it uses; of Node.js the size of its pool",
            true,
        ),
        figure(measure::THREADS, "threads", Unit::Count, "threads of its process", true),
        figure(
            measure::THROTTLED,
            "throttled",
            Unit::Percent,
            "periods in which the group was throttled",
            true,
        ),
        figure(
            measure::THROTTLED_TIME,
            "throttled for",
            Unit::Milliseconds,
            "time that CPUs of the group were throttled, all CPUs added up",
            false,
        ),
        figure(
            measure::USED,
            "quota used",
            Unit::Percent,
            "CPU time that the group was charged, of its quota",
            false,
        ),
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::P99),
        margin: MARGIN,
        control_limit: 25.0,
        // The judged figure is latency, not time that one thread lost.
        wants_cpu: false,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[],
};
