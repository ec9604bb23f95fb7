//! The compact form of one host's answer to one scenario.

use crate::file_host::By;
use model::census::Why;
use model::{State, Unit};

/// The compact form of a record's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Where {
    /// The number of the file.
    pub(crate) source: u32,
    /// The line, from 1; 0 if the file is one record.
    pub(crate) line: u32,
}

/// The answer of one host to one scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) started: i64,
    /// Whether the host's clock is plausible.
    pub(crate) right: bool,
    pub(crate) fingerprint: u64,
    pub(crate) kind: u32,
    pub(crate) place: Where,
    pub(crate) shift: f32,
    pub(crate) unit: Option<Unit>,
    pub(crate) state: State,
    /// Whether its verdict cannot be trusted, or conflicts with another answer of the same
    /// moment.
    pub(crate) doubted: bool,
    pub(crate) version: u8,
    pub(crate) brief: bool,
    /// The evidence that it is of this host.
    pub(crate) by: By,
}

impl Row {
    /// The rank that decides which of two answers counts. An answer from the host's own file
    /// counts first, then the later one. An answer with a plausible clock counts before one with
    /// a wrong clock. Otherwise the wrong one would win against all later answers after the clock
    /// is corrected.
    pub(crate) fn rank(&self) -> (By, bool, i64) {
        (self.by, self.right, self.started)
    }

    /// Whether two answers are of one study.
    pub(crate) fn is_copy_of(&self, other: &Row) -> bool {
        (self.started, self.fingerprint) == (other.started, other.fingerprint)
    }

    /// Why this answer does not count beside `other`, which has a higher rank.
    pub(crate) fn why_superseded(&self, other: &Row) -> Why {
        // A folder has one file for each run of a host.
        let both_own = (self.by, other.by) == (By::File, By::File);
        match self.rank() == other.rank() {
            true => Why::TwoAnswers,
            false if both_own || self.place.source == other.place.source => Why::Superseded,
            false => Why::TwoFiles,
        }
    }

    /// The verdict, or [`State::Untrustworthy`] if a settled verdict is doubted.
    pub(crate) fn state(&self) -> State {
        let settled = matches!(self.state, State::Affected | State::NotAffected);
        if self.doubted && settled { State::Untrustworthy } else { self.state }
    }
}
