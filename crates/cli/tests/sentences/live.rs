//! Sentences about live systems.

use super::Lines;

/// All of them, in the order of the samples.
pub fn lines() -> Lines {
    let all = report::prose::live_samples::samples().into_iter().enumerate();
    all.map(|(place, line)| ("watch".to_owned(), format!("{place:03}"), line)).collect()
}
