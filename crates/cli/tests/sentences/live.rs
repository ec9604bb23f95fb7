//! Sentences about live systems.

use super::Lines;

/// All of them. The word before the colon is the variant; lines of one variant keep their order.
pub fn lines() -> Lines {
    let all = report::prose::live_samples::samples();
    let parts = all.iter().map(|line| line.split_once(": ").unwrap());
    parts.map(|(name, said)| ("watch".to_owned(), name.to_owned(), said.to_owned())).collect()
}
