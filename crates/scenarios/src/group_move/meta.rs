//! The declaration of `group-move`.

use super::params::{GroupMoveParams, MoveFix};
use super::sentences::GroupMoveFact;
use crate::params::{self, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const LOST: &str = "lost";
    pub const CALL: &str = "call";
    pub const WORST: &str = "worst";
    pub const CALLS: &str = "calls";
    pub const OVER: &str = "over_5ms";
}

/// The margin for the usual pause between two calls, in milliseconds per second. See
/// [`super::margin`].
const MARGIN: f64 = 20.0;

const fn figure(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    help: &'static str,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column: true }
}

/// The description of `group-move`.
pub const META: Meta = Meta {
    id: "group-move",
    title: "moving a process between control groups waits in the kernel",
    about: "A process writes the process ID of a sleeping child into cgroup.procs of two control \
            groups in turn, with a pause before each write, as a container runtime does when it \
            starts a container or a command in one. For a move the kernel takes a lock \
            (cgroup_threadgroup_rwsem), and since Linux 6.0 it first waits for an RCU grace \
            period, unless another move was made just before or the groups are mounted with \
            favordynmods. In the control it writes to another file of the same groups. Judged is \
            the time in writes longer than 5 ms, per second. Users saw 20 to 31 ms for \
            each container: opencontainers/runc#4782, vm0-ai/vm0#32428.",
    who: "container runtimes, sandboxes and service managers that put each new process into a \
          group, above all where starting a container or a command has to be quick",
    fixes: &[FixMeta {
        id: "clone-into",
        what: "Make the process in its group (clone3 with CLONE_INTO_CGROUP, cgroup v2, from Linux \
               5.7 on), so that nobody has to move it.",
        change: |settings| {
            changed(settings, |params: &mut GroupMoveParams| {
                *params = params.with(MoveFix::CloneInto);
            })
        },
    }],
    sentence: model::fact::sentence::<GroupMoveFact>,
    series: &[],
    needs: Needs { cpus: 1, root: true },
    parameters: params::of::<GroupMoveParams>(),
    measures: &[
        figure(
            measure::LOST,
            "lost",
            Unit::MillisecondsPerSecond,
            "time in calls longer than 5 ms, in each second of the trial",
        ),
        figure(
            measure::CALL,
            "call p50",
            Unit::Milliseconds,
            "what half of the calls took at most",
        ),
        figure(measure::WORST, "worst call", Unit::Milliseconds, "longest call of a trial"),
        figure(measure::CALLS, "calls", Unit::PerSecond, "calls a second"),
        MeasureMeta {
            name: measure::OVER,
            heading: "> 5 ms",
            unit: Unit::Count,
            help: "calls longer than 5 ms in a trial",
            column: false,
        },
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::LOST),
        margin: MARGIN,
        control_limit: 30.0,
        // A mover without a CPU does not wait for the lock.
        wants_cpu: true,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[],
};
