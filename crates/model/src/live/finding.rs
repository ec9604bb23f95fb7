//! What every finding has, whatever stall it is of, and the answers.
//!
//! What only one stall has stands in that stall's own file (`crates/watch/src/findings/`): nothing
//! here knows the facts of a single stall.

use super::program::Program;
use super::source::Missing;
use super::workload::Workload;
use crate::suggestion::Run;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Something that holds a program up now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The stall: the id of a scenario, or the name of one that has no scenario.
    pub stall: String,
    /// Who is held up.
    pub victim: Program,
    /// By whom, the most costly first; empty where only a quota does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<Program>,
    /// What it costs the victim, of all its threads together, in milliseconds a second.
    pub cost_ms_per_s: f64,
    /// From which cost on it is a finding; 0 where the cost alone does not decide.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limit_ms_per_s: f64,
    /// The worst single wait, in milliseconds; 0 where single waits are not seen.
    pub worst_ms: f64,
    /// Seconds after the beginning at which it was first seen.
    pub since_s: f64,
    /// How sure it is.
    pub sure: Sure,
    /// The figures of the case, which only the stall's own file reads.
    pub facts: Opaque,
    /// What fixes it, a list, the most useful first; read by the stall's own file too.
    pub fixes: Opaque,
    /// The run that reproduces it in the lab, with the parameters of this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Programs that sleep until the victim wakes them while it stands ready, the longest first; a
    /// bounded number. Of stalls in which it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleepers: Vec<Sleeper>,
    /// Whose the groups of victim and culprits are, and the groups above these, by path; those of
    /// which that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workloads: BTreeMap<String, Workload>,
}

/// A program that sleeps until another one wakes it, which stands ready and does not run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sleeper {
    /// Who.
    pub program: Program,
    /// How long, of all its threads together, in milliseconds a second.
    pub ms_per_s: f64,
    /// Of that: in locks (futex).
    pub futex_ms_per_s: f64,
    /// Of that: for a pipe, a socket or another process.
    pub input_ms_per_s: f64,
}

impl Finding {
    /// Whether it costs less than twice what makes it a finding.
    pub fn is_near_limit(&self) -> bool {
        self.cost_ms_per_s < 2.0 * self.limit_ms_per_s
    }
}

fn is_zero(figure: &f64) -> bool {
    *figure == 0.0
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// Each wait was seen with its cause.
    #[default]
    Measured,
    /// Derived from counters that were read at the same time.
    Likely,
}

/// JSON whose type this crate does not know.
///
/// It is kept as the text that it was read from, so that it takes no more memory than its record
/// does as a file: a record may come from anywhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Opaque(
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))] Box<RawValue>,
);

impl Opaque {
    /// Holds this; `null` for what has no JSON.
    pub fn of<T: Serialize>(value: &T) -> Self {
        serde_json::value::to_raw_value(value).map_or_else(|_| Opaque::default(), Opaque)
    }

    /// Reads it; none where it is something else.
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
    /// No: no program loses as much to it as a finding takes, in milliseconds a second.
    NotHitting {
        /// The most that any program loses.
        most_ms_per_s: f64,
        /// Where a finding begins.
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
    /// A source that it needs could not be had.
    Missing(Missing),
    /// No Erlang node runs here.
    NoNode,
    /// It takes a look into the node.
    NotInside,
    /// The node that was asked does not answer.
    NoAnswer,
    /// A quota holds programs, and of which group it is cannot be told.
    WhoseQuota,
    /// A table of the kernel's programs was full, so not all was counted.
    TableFull,
    /// It takes a look of this many seconds.
    TooShort(u32),
    /// The VM of a node does not show where it counts the passes of its schedulers.
    NoPasses,
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
