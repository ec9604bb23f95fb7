//! Folds the records of many machines into one answer.
//!
//! [`read()`] takes files, archives and lines in one pass, bounded in memory and time whatever
//! stands in them; [`Fleet`] keeps a small struct for each host and scenario; [`summary::census`]
//! says what they say together. The statistics are `analysis::fleet`.

mod answer;
mod fleet;
mod kinds;
mod names;
mod parse;
mod read;
pub mod simulated;
pub mod summary;
mod trials;
mod verdicts;

pub use answer::Answer;
pub use fleet::Fleet;
pub use kinds::Kind;
pub use read::{CensusError, Options, Progress, read, read_bytes};
pub use trials::{Span, TrialRow, Trials, kept};
pub use verdicts::{Verdict, Verdicts};
