//! The declaration of `cpu-quota`.

use model::scenario::{MeasureMeta, Mend, Tag};
use model::{Judging, Kind, Knob, Meta, Needs, Unit};
use std::borrow::Cow;

const SECOND_NS: u64 = 1_000_000_000;

/// Names of the figures.
pub(super) mod measure {
    pub const SHORTFALL: &str = "shortfall";
    pub const EXCESS: &str = "excess";
    pub const USAGE: &str = "usage";
    pub const ENTITLED: &str = "entitled";
    pub const ENTITLED_MOST: &str = "entitled_most";
    pub const CPUS: &str = "cpus";
    pub const PERIODS: &str = "periods";
    pub const THROTTLED: &str = "throttled";
    pub const LONGEST: &str = "longest_throttled";
    pub const THROTTLED_TIME: &str = "throttled_time";
    pub const ITERATIONS: &str = "iterations";
    pub const LATE_P99: &str = "late_p99";
}

/// What `cpu-quota` says of itself.
pub const META: Meta = Meta {
    id: "cpu-quota",
    title: "a group is throttled below its CPU quota, or gets more than it",
    about: "A control group gets a small CPU quota. One thread in it runs without pause, and on every \
            other CPU a thread wakes each 10 ms for some microseconds. Each CPU takes its share of \
            the quota in slices; where slices expire (Linux 4.18 to 5.3), those of the nearly idle \
            CPUs are lost, and the group is throttled long before it has used what it is entitled \
            to. Before 5.7 a race in handing out quota could give it more. The control is the one \
            busy thread alone. Judged is the part of its entitlement that a group did not get while \
            it was throttled, and then the part that it got beyond it.",
    who: "hosts with many CPUs that run containers with CPU limits: Kubernetes, Docker, systemd \
          slices, above all services with many threads of which few are busy",
    mends: &[
        Mend {
            what: "a kernel from 5.4 on, 4.19.84 or 4.14.154 for slices that expire, from 5.7 on for \
                   the race; what each would give",
            knobs: &[],
        },
        Mend {
            what: "fewer threads than CPUs, or a cpuset of fewer CPUs",
            knobs: &[("threads", "1")],
        },
    ],
    needs: Needs { cpus: 1, root: true },
    knobs: &[
        Knob {
            name: "quota",
            kind: Kind::Duration { min_ns: 1_000_000, max_ns: 3600 * SECOND_NS },
            default: "10ms",
            quick: None,
            help: "CPU time in a period",
        },
        Knob {
            name: "period",
            kind: Kind::Duration { min_ns: 1_000_000, max_ns: SECOND_NS },
            default: "100ms",
            quick: None,
            help: "Length of a period",
        },
        Knob {
            name: "burst",
            kind: Kind::Duration { min_ns: 0, max_ns: 3600 * SECOND_NS },
            default: "10ms",
            quick: None,
            help: "CPU time that may be carried over, in the arm that tries to mend; 0 leaves it out",
        },
        Knob {
            name: "threads",
            kind: Kind::Number { min: 0, max: 65_536 },
            default: "0",
            quick: None,
            help: "Threads, pinned to the CPUs in turns; 0 for one on each CPU, and 2 at least",
        },
        Knob {
            name: "fast",
            kind: Kind::Number { min: 1, max: 65_536 },
            default: "1",
            quick: None,
            help: "Threads that never sleep",
        },
        Knob {
            name: "duration",
            kind: Kind::Duration { min_ns: 100_000_000, max_ns: 3600 * SECOND_NS },
            default: "1s",
            quick: Some("500ms"),
            help: "How long a trial runs; longer with so many CPUs that what each keeps of its quota would count",
        },
    ],
    measures: &[
        MeasureMeta {
            name: measure::SHORTFALL,
            heading: "shortfall",
            unit: Unit::Percent,
            help: "part of its entitlement that the group did not get though it was throttled",
            column: true,
        },
        MeasureMeta {
            name: measure::EXCESS,
            heading: "excess",
            unit: Unit::Percent,
            help: "what the group got beyond the most it was entitled to, as part of its entitlement",
            column: true,
        },
        MeasureMeta {
            name: measure::USAGE,
            heading: "used",
            unit: Unit::Milliseconds,
            help: "CPU time of the group in a trial",
            column: true,
        },
        MeasureMeta {
            name: measure::ENTITLED,
            heading: "entitled",
            unit: Unit::Milliseconds,
            help: "quota in the whole periods of a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::ENTITLED_MOST,
            heading: "entitled at most",
            unit: Unit::Milliseconds,
            help: "that, one quota more since the pool is full at the start, and what was carried over",
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
            help: "periods that were enforced in a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::THROTTLED,
            heading: "throttled",
            unit: Unit::Count,
            help: "periods of a trial at whose end some CPU was throttled",
            column: true,
        },
        MeasureMeta {
            name: measure::LONGEST,
            heading: "in a row",
            unit: Unit::Count,
            help: "longest run of throttled periods, at least",
            column: false,
        },
        MeasureMeta {
            name: measure::THROTTLED_TIME,
            heading: "throttled",
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
        measure: Cow::Borrowed(measure::SHORTFALL),
        margin: 5.0,
        control_limit: 10.0,
        wants_cpu: true,
        // Judged both ways, so each way has half of the 5%.
        error_rate: 0.025,
        confidence: 0.95,
    },
    tags: &[
        Tag { commit: "de53fd7aedb1", since: "5.4", what: "slices no longer expire", knobs: &[] },
        Tag {
            commit: "26a8b12747c9",
            since: "5.7",
            what: "handing out quota no longer races with taking it",
            knobs: &[],
        },
    ],
};
