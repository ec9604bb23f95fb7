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

/// What the records of one host and scenario say that began at the same moment, together. So two
/// of them that contradict each other are known in whatever order all are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said(u8);

impl Said {
    const AFFECTED: u8 = 1;
    const CLEAR: u8 = 2;
    const OTHER_STUDY: u8 = 4;

    /// What a record with this verdict says.
    pub(crate) fn of(state: State) -> Self {
        Said(match state {
            State::Affected => Said::AFFECTED,
            State::NotAffected => Said::CLEAR,
            State::Inconclusive | State::Untrustworthy | State::Skipped => 0,
        })
    }

    /// What both say. `of_one_study`: whether they are of the same study.
    pub(crate) fn and(self, other: Self, of_one_study: bool) -> Self {
        let other_study = if of_one_study { 0 } else { Said::OTHER_STUDY };
        Said(self.0 | other.0 | other_study)
    }

    /// Whether there are two studies of that moment, or two verdicts of one study.
    pub(crate) fn is_contradictory(self) -> bool {
        let verdicts = Said::AFFECTED | Said::CLEAR;
        self.0 & Said::OTHER_STUDY != 0 || self.0 & verdicts == verdicts
    }
}

/// The answer of one host to one scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) started: i64,
    /// Whether the host's clock is plausible.
    pub(crate) right: bool,
    /// Distinguishes studies of one host that began at the same moment.
    pub(crate) study: u32,
    /// The number of blocks that were run.
    pub(crate) blocks: u32,
    pub(crate) kind: u32,
    pub(crate) place: Where,
    pub(crate) shift: f32,
    pub(crate) unit: Option<Unit>,
    pub(crate) state: State,
    /// Whether its verdict cannot be trusted, or conflicts with another answer of the same
    /// moment.
    pub(crate) doubted: bool,
    /// What all records of this moment say.
    pub(crate) said: Said,
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

    /// Whether this answer counts and `other` does not. Of two answers of equal rank it is the one
    /// of the longer study; of two studies it is the same one in whatever order they are read.
    pub(crate) fn counts_before(&self, other: &Row) -> bool {
        let order = |row: &Row| (row.rank(), row.study, row.blocks, row.state.word());
        order(self) > order(other)
    }

    /// Whether two answers are of one record.
    pub(crate) fn is_copy_of(&self, other: &Row) -> bool {
        let record = |row: &Row| (row.started, row.study, row.blocks, row.state);
        record(self) == record(other)
    }

    /// Whether `other` is of the same study, after it was continued. An undecided study that is
    /// continued keeps its start and its seed, and has more blocks. A settled one ends, so it has
    /// no other verdict later.
    fn is_continued_by(&self, other: &Row) -> bool {
        let same = (self.started, self.study) == (other.started, other.study);
        same && self.blocks < other.blocks && (!self.is_settled() || self.state == other.state)
    }

    fn is_settled(&self) -> bool {
        matches!(self.state, State::Affected | State::NotAffected)
    }

    /// Why this answer does not count beside `other`, which counts before it.
    pub(crate) fn why_superseded(&self, other: &Row) -> Why {
        // A folder has one file for each run of a host.
        let both_own = (self.by, other.by) == (By::File, By::File);
        match self.rank() == other.rank() {
            true if self.is_continued_by(other) => Why::Superseded,
            true => Why::TwoAnswers,
            false if both_own || self.place.source == other.place.source => Why::Superseded,
            false => Why::TwoFiles,
        }
    }

    /// The verdict, or [`State::Untrustworthy`] if a settled verdict is doubted.
    pub(crate) fn state(&self) -> State {
        if self.doubted && self.is_settled() { State::Untrustworthy } else { self.state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fleet has millions of rows.
    #[test]
    fn a_row_is_small() {
        assert!(size_of::<Row>() <= 40, "{}", size_of::<Row>());
    }
}
