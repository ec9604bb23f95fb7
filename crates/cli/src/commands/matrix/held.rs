//! Whether what was found between versions is what is known to have changed there.

/// Whether each change that should show did; nothing where none should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Every one of them.
    All,
    /// One was not shown, and nothing speaks against it.
    Open,
    /// The effect went the other way.
    Against,
}
