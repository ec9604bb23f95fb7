//! Where a record stands among the pairs of runs that were made to be compared.

use serde::{Deserialize, Serialize};

/// One run of a pair: two runs side by side, of which chance decided which came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Pair {
    /// Seed of the order within every pair of the comparison. It tells this comparison's pairs from
    /// those of others.
    pub seed: u64,
    /// Number of the pair, from 1.
    pub number: u32,
    /// Whether this run came first in its pair.
    pub first: bool,
}
