//! The declaration of `busy-wait`.

use super::params::BusyWaitParams;
use super::sentences::BusyWaitFact;
use crate::params::{self, Auto, ErlFlags, Params, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Settings, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const P50: &str = "p50";
    pub const P99: &str = "p99";
    pub const P999: &str = "p999";
    pub const WORST: &str = "worst";
    pub const DEVIATION: &str = "deviation";
    pub const REQUESTS: &str = "requests";
    pub const BACKLOG: &str = "backlog";
    pub const FAILED: &str = "failed";
    pub const BACKGROUND: &str = "background";
    pub const SPUN: &str = "spun";
    pub const ACTIVE: &str = "active";
    pub const USER: &str = "cpu_user";
    pub const SYSTEM: &str = "cpu_system";
    pub const VOLUNTARY: &str = "switches_voluntary";
    pub const INVOLUNTARY: &str = "switches_involuntary";
    pub const FUTEX_CALLS: &str = "futex_calls";
    pub const FUTEX_TIME: &str = "futex_time";
    pub const QUOTA_USED: &str = "quota_used";
    pub const PERIODS: &str = "periods";
    pub const THROTTLED: &str = "throttled";
    pub const LONGEST: &str = "longest_throttled";
    pub const THROTTLED_TIME: &str = "throttled_time";
}

const fn figure(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    help: &'static str,
    column: bool,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column }
}

/// The same node with no more schedulers than its quota has CPUs. None if it has no quota, or if
/// its emulator flags set the schedulers, because they override the parameter.
fn as_many_schedulers_as_cpus(settings: &Settings) -> Option<Settings> {
    let params = BusyWaitParams::of(settings)?;
    let most = (params.quota.get()?.get() as u32).max(1);
    let schedulers = params.schedulers.get().map_or(most, |now| now.min(most));
    let fewer = BusyWaitParams { schedulers: Auto::Is(schedulers), ..params };
    (!sets_schedulers(&fewer.flags)).then(|| fewer.settings())
}

/// Whether `+S` is among these flags. `+SP` and `+SDcpu` are other flags.
fn sets_schedulers(flags: &ErlFlags) -> bool {
    let words = flags.as_str().split_whitespace();
    let mut values = words.filter_map(|word| word.strip_prefix("+S"));
    values.any(|value| !value.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The description of `busy-wait`.
pub const META: Meta = Meta {
    id: "busy-wait",
    title: "schedulers of the Erlang VM that spin for work use up the CPU quota of their group",
    about: "An Erlang node serves requests at a steady rate, each a round trip through a port, a \
            file or a socket, beside a little background work. Between requests its schedulers \
            spin before they sleep. Under a CPU quota the spinning uses up quota. Once the quota \
            is used up, the kernel throttles the whole node for the rest of the period. The case \
            runs with the VM's defaults, the control without busy waiting, both under the same \
            quota. The rate is measured first, so that the control uses 65% of its quota on any \
            machine. Judged is the 99th percentile of latency, from when each request was due.",
    who: "people who run Erlang, Elixir, RabbitMQ, CouchDB or ejabberd in containers with a CPU \
          limit: Kubernetes, Docker, Nomad, systemd; above all where a host has many more CPUs \
          than the limit",
    fixes: &[
        FixMeta {
            id: "no-busy-wait",
            what: "Turn busy waiting off under a CPU quota: +sbwt none +sbwtdcpu none +sbwtdio none.",
            change: |settings| {
                changed(settings, |params: &mut BusyWaitParams| *params = params.without_spinning())
            },
        },
        FixMeta {
            id: "schedulers",
            what: "Start no more schedulers than the quota has CPUs: +S 1:1 for half a CPU.",
            change: as_many_schedulers_as_cpus,
        },
    ],
    sentence: model::fact::sentence::<BusyWaitFact>,
    series: &[],
    tags: &[],
    needs: Needs { cpus: 1, root: false },
    parameters: params::of::<BusyWaitParams>(),
    measures: &[
        figure(
            measure::P99,
            "p99",
            Unit::Milliseconds,
            "latency that 1 request in 100 exceeded, from when it was due",
            true,
        ),
        figure(measure::P50, "p50", Unit::Milliseconds, "median latency of requests", true),
        figure(
            measure::P999,
            "p99.9",
            Unit::Milliseconds,
            "latency that 1 request in 1000 exceeded",
            false,
        ),
        figure(measure::WORST, "worst", Unit::Milliseconds, "longest latency of a trial", false),
        figure(
            measure::DEVIATION,
            "deviation",
            Unit::Milliseconds,
            "standard deviation of latency",
            false,
        ),
        figure(measure::REQUESTS, "requests", Unit::PerSecond, "requests done a second", true),
        figure(
            measure::BACKLOG,
            "backlog",
            Unit::Percent,
            "requests that were due and not done at the end of a trial",
            false,
        ),
        figure(measure::FAILED, "failed", Unit::Count, "requests that failed", false),
        figure(
            measure::BACKGROUND,
            "background",
            Unit::PerSecond,
            "pieces of background work done a second",
            true,
        ),
        figure(
            measure::SPUN,
            "spun",
            Unit::MillisecondsPerSecond,
            "CPU time of scheduler threads beyond their active time in the VM, in each second",
            true,
        ),
        figure(
            measure::ACTIVE,
            "active",
            Unit::MillisecondsPerSecond,
            "active time of schedulers in the VM, in each second",
            false,
        ),
        figure(
            measure::USER,
            "user CPU",
            Unit::MillisecondsPerSecond,
            "CPU time of the node in user mode, in each second",
            false,
        ),
        figure(
            measure::SYSTEM,
            "system CPU",
            Unit::MillisecondsPerSecond,
            "CPU time of the node in the kernel, in each second",
            false,
        ),
        figure(
            measure::VOLUNTARY,
            "switches",
            Unit::PerSecond,
            "times a second that a scheduler thread went to sleep",
            false,
        ),
        figure(
            measure::INVOLUNTARY,
            "preemptions",
            Unit::PerSecond,
            "times a second that a scheduler thread was taken off a CPU",
            false,
        ),
        figure(
            measure::FUTEX_CALLS,
            "futex calls",
            Unit::PerSecond,
            "calls of futex a second, as strace counts them",
            false,
        ),
        figure(
            measure::FUTEX_TIME,
            "in futex",
            Unit::MillisecondsPerSecond,
            "time that strace charges calls of futex with, in each second, all threads added up",
            false,
        ),
        figure(
            measure::QUOTA_USED,
            "quota used",
            Unit::Percent,
            "CPU time that the node's group was charged, of its quota",
            true,
        ),
        figure(measure::PERIODS, "periods", Unit::Count, "periods of the quota in a trial", false),
        figure(
            measure::THROTTLED,
            "throttled",
            Unit::Percent,
            "periods in which the node was throttled",
            true,
        ),
        figure(
            measure::LONGEST,
            "in a row",
            Unit::Count,
            "longest run of throttled periods, at least",
            false,
        ),
        figure(
            measure::THROTTLED_TIME,
            "throttled for",
            Unit::Milliseconds,
            "time that CPUs of the node were throttled, all CPUs added up",
            false,
        ),
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::P99),
        margin: 2.0,
        control_limit: 5.0,
        // The judged figure is latency, not time that one thread lost.
        wants_cpu: false,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
};
