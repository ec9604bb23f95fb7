//! The verdict in one word.

use serde::{Deserialize, Serialize};

/// The verdict in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The stall is there, and large enough to matter.
    Affected,
    /// The stall did not show, in a study in which it would have shown.
    NotAffected,
    /// The study was too short to decide.
    Inconclusive,
    /// The study was not run, because something that it needs is missing.
    Skipped,
    /// A disturbance of the machine can explain the effect, the kernel became tainted, or a trial
    /// broke.
    Untrustworthy,
}

impl State {
    /// All verdicts, the clearest first.
    pub const ALL: [State; 5] = [
        State::Affected,
        State::NotAffected,
        State::Inconclusive,
        State::Untrustworthy,
        State::Skipped,
    ];

    /// The word in the record.
    pub fn word(self) -> &'static str {
        match self {
            State::Affected => "affected",
            State::NotAffected => "not-affected",
            State::Inconclusive => "inconclusive",
            State::Skipped => "skipped",
            State::Untrustworthy => "untrustworthy",
        }
    }

    /// The exit code for scripts.
    pub fn exit_code(self) -> u8 {
        match self {
            State::NotAffected => 0,
            State::Affected => 1,
            State::Skipped => 3,
            State::Inconclusive | State::Untrustworthy => 4,
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}
