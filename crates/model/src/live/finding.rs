//! The parts that findings of all stalls share, and the answers.
//!
//! What belongs to one stall is in that stall's own file (`crates/watch/src/findings/`). No code
//! here knows the facts of a single stall.

use super::program::Program;
use super::source::Missing;
use super::workload::Workload;
use crate::suggestion::Run;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Something that holds up a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The stall: the id of a scenario, or the name of one that has no scenario.
    pub stall: String,
    /// The program that is held up.
    pub victim: Program,
    /// The programs that hold it up, the most costly first; empty if only a quota does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<Program>,
    /// The cost for the victim, over all its threads, in milliseconds a second. If there are other
    /// victims, it is the cost for all of them.
    pub cost_ms_per_s: f64,
    /// Number of other programs that the same thing holds up; the victim loses most.
    #[serde(default, skip_serializing_if = "is_none")]
    pub other_victims: u32,
    /// The cost from which this is a finding; 0 if the cost alone does not decide.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limit_ms_per_s: f64,
    /// The longest single wait, in milliseconds; 0 if single waits are not seen.
    pub worst_ms: f64,
    /// When it was first seen, in seconds after the start of the watch. Absent if the last interval
    /// alone does not show it: it comes and goes, or is over, or only the sum is large enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_s: Option<f64>,
    /// How certain it is.
    pub sure: Sure,
    /// The facts of this case. Only the stall's own file reads them.
    pub facts: Opaque,
    /// The fixes as a list, the most useful first. Only the stall's own file reads them.
    pub fixes: Opaque,
    /// The run that reproduces it in the lab, with the parameters of this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Programs that sleep until the victim wakes them, while the victim is runnable but not
    /// running. The longest sleep is first; a bounded number. Only stalls that make others sleep
    /// have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleepers: Vec<Sleeper>,
    /// The owners of the groups of victim and culprits, and of the groups above them, by path.
    /// Groups without a known owner are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workloads: BTreeMap<String, Workload>,
}

/// A program that sleeps until another program wakes it, while that one is runnable but not
/// running.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sleeper {
    /// The program that sleeps.
    pub program: Program,
    /// How long it sleeps, over all its threads, in milliseconds a second.
    pub ms_per_s: f64,
    /// Part of that time: all sleepers of the chain slept in locks (futex).
    pub futex_ms_per_s: f64,
    /// Part of that time: a sleeper of the chain slept for a pipe, a socket or another process.
    pub input_ms_per_s: f64,
}

impl Finding {
    /// Whether its cost is less than twice the limit for a finding.
    pub fn is_near_limit(&self) -> bool {
        self.cost_ms_per_s < 2.0 * self.limit_ms_per_s
    }
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn is_zero(figure: &f64) -> bool {
    *figure == 0.0
}

/// How certain a finding is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// Each wait was seen together with its cause.
    #[default]
    Measured,
    /// Derived from counters that were read at the same time.
    Likely,
}

/// JSON of a type that this crate does not know.
///
/// It is kept as text, so it takes no more memory than in its file. A record may come from any
/// source.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Opaque(
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))] Box<RawValue>,
);

impl Opaque {
    /// Holds this value as JSON; `null` if it cannot be written as JSON.
    pub fn of<T: Serialize>(value: &T) -> Self {
        serde_json::value::to_raw_value(value).map_or_else(|_| Opaque::default(), Opaque)
    }

    /// Reads the value; `None` if it has another type.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl Default for Opaque {
    fn default() -> Self {
        Opaque(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// The answer for one known stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The stall: the id of a scenario, or the name of one that has no scenario.
    pub stall: String,
    /// The answer.
    pub state: AnswerState,
}

/// Whether a stall is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AnswerState {
    /// Yes: there is a finding.
    Hitting,
    /// No: every program loses less to it than the limit for a finding. Figures are in
    /// milliseconds a second.
    NotHitting {
        /// The largest loss of any program.
        most_ms_per_s: f64,
        /// The limit for a finding.
        finding_at_ms_per_s: f64,
    },
    /// It cannot be measured here.
    NotMeasurable(NotMeasurable),
}

/// Why a stall cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotMeasurable {
    /// A source that is needed is missing.
    Missing(Missing),
    /// No Erlang node runs here.
    NoNode,
    /// The node itself has to be asked.
    NotInside,
    /// The node that was asked does not answer.
    NoAnswer,
    /// A quota throttles programs, but its group cannot be determined.
    WhoseQuota,
    /// A table of the kernel's programs was full, so not everything was counted.
    TableFull,
    /// The watch has to last at least this many seconds.
    TooShort(u32),
    /// The VM of a node does not reveal where it counts the passes of its schedulers.
    NoPasses,
    /// Schedulers of a node lacked a CPU, so that others seemed to compute without a pass. Or the
    /// node lost time to memory, and a sleep for memory looks like one of native code.
    NodeLacksCpu,
    /// More Erlang nodes run here than can be examined.
    MoreNodes,
    /// Not all mailboxes of a node that was asked were read, or not all flooded processes sampled.
    MailboxesUnread,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_by_who_knows_them_and_kept_by_who_does_not() {
        let facts = Opaque::of(&("a", 7));
        assert_eq!(facts.read::<(String, u32)>(), Some(("a".to_owned(), 7)));
        assert_eq!(facts.read::<u32>(), None);
        let finding = Finding { facts, ..Finding::default() };
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains(r#""facts":["a",7],"fixes":null"#), "{text}");
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
        let value = serde_json::to_value(&finding).unwrap();
        assert_eq!(serde_json::from_value::<Finding>(value).unwrap(), finding);
    }

    #[test]
    fn facts_of_many_values_take_no_more_memory_than_their_text() {
        let many = format!("[{}0]", "0,".repeat(100_000));
        let facts: Opaque = serde_json::from_str(&many).unwrap();
        assert_eq!(facts.0.get().len(), many.len());
        let deep = "[".repeat(100_000);
        assert!(serde_json::from_str::<Opaque>(&deep).is_err());
        let deep = format!("{deep}{}", "]".repeat(100_000));
        let facts: Opaque = serde_json::from_str(&deep).unwrap();
        assert_eq!(facts.read::<serde_json::Value>(), None);
    }
}
