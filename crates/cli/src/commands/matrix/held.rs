//! Whether the differences found between versions agree with the known changes.

/// Whether each known change showed as expected. There is no value if no change was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Every change showed.
    All,
    /// At least one change did not show, and none contradicts the expectation.
    Open,
    /// The effect went the other way.
    Against,
}
