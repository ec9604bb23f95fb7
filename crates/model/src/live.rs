//! Facts about a live system as `tailback watch` saw them: which programs lost time, and why.
//!
//! Times are whole nanoseconds, so that parts add up. A figure that could not be measured is
//! absent, never zero. [`SourceUse::missing`] says why.

mod finding;
mod inside;
mod node;
mod program;
mod source;
mod victim;
mod workload;

pub use finding::{Answer, AnswerState, Finding, NotMeasurable, Opaque, Sleeper, Sure};
pub use inside::{BusyLink, Inside, Mailbox, Micro, NodeFigures, NodeMemory, NodeProblem};
pub use node::{Code, CodeTime, Configured, Node, Place, RoleTime, ThreadRole};
pub use program::Program;
use serde::{Deserialize, Serialize};
pub use source::{Missing, Source, SourceUse};
pub use victim::{
    AsleepBehind, Compared, ConfinedPart, GroupPart, LockWaits, MemoryWaits, NeighbourPart, Parts,
    RealTimePolicy, Victim, VictimThread, Weight, WeightOf, Why,
};
pub use workload::{Container, Engine, NomadTask, Pod, SystemdUnit, Workload};

/// What was observed over one stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Live {
    /// When the stretch began (RFC 3339, UTC).
    pub from: String,
    /// How long it was, in nanoseconds.
    pub over_ns: u64,
    /// What was watched. The default is the whole machine.
    pub scope: Scope,
    /// Where the figures come from, the best source first, and which sources are missing.
    pub sources: Vec<SourceUse>,
    /// Programs that lost time, largest loss first; a bounded number.
    pub victims: Vec<Victim>,
    /// Erlang nodes, largest CPU time first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// Nodes that were asked for their own figures, with the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<Inside>,
    /// The findings, the most costly first.
    pub findings: Vec<Finding>,
    /// An answer for each known stall.
    pub answers: Vec<Answer>,
    /// The machine.
    pub machine: MachineLoad,
    /// What watching cost.
    pub cost: Cost,
    /// The same figures for each interval, the oldest first. Only records have them, and only for
    /// the last intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
}

impl Live {
    /// Indented JSON with a line feed at its end.
    pub fn to_json(&self) -> String {
        // All keys are text and all numbers are finite, so this never fails.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// An interval of a stretch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// How long it was, in nanoseconds.
    pub over_ns: u64,
    /// Programs that lost most time in the interval, largest loss first, without their threads; a
    /// bounded number.
    pub victims: Vec<Victim>,
}

/// What was watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scope {
    /// These processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Processes of this group and of the groups below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Processes of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
}

/// The load of the machine in that time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineLoad {
    /// CPUs that are online.
    pub cpus: u32,
    /// CPU time that was used on all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_ns: Option<u64>,
    /// CPU time that the hypervisor took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// What all programs in scope lost together, also those that are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_ns: Option<u64>,
    /// Share of the time in which some task waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<f64>,
    /// Context switches a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches_per_s: Option<f64>,
}

/// What watching cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// CPU time of this process, in milliseconds a second.
    pub tool_ms_per_s: f64,
    /// CPU time of its programs in the kernel, in milliseconds a second, while that time was
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_ms_per_s: Option<f64>,
    /// Memory of this process, in bytes.
    pub memory_bytes: u64,
    /// Memory of its tables in the kernel, in bytes.
    pub table_bytes: u64,
    /// Threads that were not counted, since the start: they lost their entry in a table before it
    /// was read, or a reading of /proc had no room for them. A thread that is missing in several
    /// intervals counts in each of them. The time of these threads is not in the figures.
    pub lost_threads: u64,
    /// Time behind other programs that could not be named, because there was no room for them.
    pub unnamed_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_indented_and_is_read_back() {
        let live = Live { over_ns: 5_000_000_000, ..Live::default() };
        let text = live.to_json();
        assert!(text.starts_with("{\n  \"from\": ") && text.ends_with("\n}\n"), "{text}");
        assert_eq!(serde_json::from_str::<Live>(&text).unwrap(), live);
    }
}
