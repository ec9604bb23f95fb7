//! Combines the records of many machines into one answer.
//!
//! [`read()`] takes files, archives and lines in one pass, with bounded memory and time for any
//! input. [`Fleet`] keeps a small struct for each host and scenario. [`summary::census`] gives
//! the combined answer. The statistics are in `analysis::fleet`.

mod answer;
mod aside;
mod file_host;
mod files;
mod fleet;
mod kinds;
mod long_names;
mod names;
mod options;
mod parse;
mod read;
mod row;
pub mod simulated;
pub mod summary;
mod texts;
mod trials;
mod verdicts;

pub use answer::Answer;
pub use file_host::{Given, Hashing};
pub use fleet::Fleet;
pub use kinds::HostKind;
pub use long_names::{LongNames, check_names};
pub use options::Options;
pub use read::{CensusError, Progress, read, read_bytes, run_file};
pub use trials::{Span, TrialRow, Trials, kept};
pub use verdicts::{Verdict, Verdicts};
