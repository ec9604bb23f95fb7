//! How a factor divides the kinds of machines into two sides.

use super::kind::KindCounts;

/// A factor: how many levels it has, and whether they have an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    /// Number of levels. A level is an index from 0.
    pub levels: u32,
    /// Whether the levels from one on may be compared with the levels below it.
    pub ordered: bool,
}

/// How a factor divides the kinds into two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// This level alone.
    Is(u32),
    /// Every level but this one.
    IsNot(u32),
    /// This level and those above it.
    AtLeast(u32),
    /// The levels below this one.
    Below(u32),
}

impl Cut {
    /// Whether a level is on this side.
    pub fn holds(self, level: Option<u32>) -> bool {
        match (self, level) {
            (Cut::Is(one), Some(level)) => level == one,
            (Cut::IsNot(one), level) => level != Some(one),
            (Cut::AtLeast(one), Some(level)) => level >= one,
            (Cut::Below(one), Some(level)) => level < one,
            (Cut::Below(_), None) => true,
            (_, None) => false,
        }
    }

    pub(super) fn opposite(self) -> Cut {
        match self {
            Cut::Is(level) => Cut::IsNot(level),
            Cut::IsNot(level) => Cut::Is(level),
            Cut::AtLeast(level) => Cut::Below(level),
            Cut::Below(level) => Cut::AtLeast(level),
        }
    }
}

/// The level of a kind; `None` if it is not known.
pub(super) fn level(kind: &KindCounts, factor: usize) -> Option<u32> {
    kind.levels.get(factor).copied().flatten()
}
