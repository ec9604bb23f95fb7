//! The name of a node.

use std::fmt;

/// The longest name of a node, in bytes.
const LONGEST: usize = 255;

/// The name of a node: its own, and that of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeName {
    whole: String,
    at: usize,
}

impl NodeName {
    /// Reads `web@host`; None if it is no name of a node.
    pub fn read(text: &str) -> Option<Self> {
        let at = text.find('@').filter(|at| *at > 0 && at + 1 < text.len())?;
        (text.len() <= LONGEST).then(|| NodeName { whole: text.to_owned(), at })
    }

    /// The part before the host.
    pub fn name(&self) -> &str {
        &self.whole[..self.at]
    }

    /// The host.
    pub fn host(&self) -> &str {
        &self.whole[self.at + 1..]
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole)
    }
}
