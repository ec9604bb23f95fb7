//! The answer of one host to one scenario, in little room.

use crate::speaker::By;
use model::census::Why;
use model::{State, Unit};

/// Where a record is, in little room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Where {
    /// The file, by its number.
    pub(crate) source: u32,
    /// The line, from 1; 0 where the file is one record.
    pub(crate) line: u32,
}

/// The answer of one host to one scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) started: i64,
    /// The clock of its host may be right.
    pub(crate) right: bool,
    pub(crate) fingerprint: u64,
    pub(crate) kind: u32,
    pub(crate) place: Where,
    pub(crate) shift: f32,
    pub(crate) unit: Option<Unit>,
    pub(crate) state: State,
    /// Its verdict is not to be believed, or stands against another of the same moment.
    pub(crate) doubted: bool,
    pub(crate) version: u8,
    pub(crate) brief: bool,
    /// What says that it is of this host.
    pub(crate) by: By,
}

impl Row {
    /// By which it is told which of two answers counts: that of the host's own file, else the later
    /// one. One whose clock is right counts before one whose clock is wrong: else that would stand
    /// against all later ones once the clock is put right.
    pub(crate) fn rank(&self) -> (By, bool, i64) {
        (self.by, self.right, self.started)
    }

    /// Whether two answers are of one study.
    pub(crate) fn is_copy_of(&self, other: &Row) -> bool {
        (self.started, self.fingerprint) == (other.started, other.fingerprint)
    }

    /// Why the lesser of two answers does not count.
    pub(crate) fn why_not(&self, other: &Row) -> Why {
        // A folder has one file for each run of a host.
        let both_own = (self.by, other.by) == (By::File, By::File);
        match self.rank() == other.rank() {
            true => Why::TwoAnswers,
            false if both_own || self.place.source == other.place.source => Why::Superseded,
            false => Why::TwoFiles,
        }
    }

    /// The answer that counts.
    pub(crate) fn state(&self) -> State {
        let settled = matches!(self.state, State::Affected | State::NotAffected);
        if self.doubted && settled { State::Untrustworthy } else { self.state }
    }
}
