//! The place of a record among pairs of runs that were made for a comparison.

use serde::{Deserialize, Serialize};

/// One run of a pair: two runs side by side in random order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Pair {
    /// Seed of the order within every pair of the comparison. It distinguishes pairs of this
    /// comparison from pairs of other comparisons.
    pub seed: u64,
    /// Number of the pair, from 1.
    pub number: u32,
    /// Whether this run came first in its pair.
    pub first: bool,
}
