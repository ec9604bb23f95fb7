//! The table of known answers: commands and simulated studies whose right and wrong answers are
//! known.
//!
//! The rows are in `truth/*.toml` ([`row`]). [`session`] runs the missing runs of each row, on
//! this machine ([`real`]) or simulated ([`simulate`]), and appends the answers to a file
//! ([`history`]). So it can be stopped at any time and resumed. An answer counts as long as the
//! current [`judge`] is the one that gave it. [`page`] and [`table`] write docs/truth.md and
//! truth/table.md from the rows and the history.

pub mod answer;
pub mod census;
pub mod checks;
mod error;
pub mod history;
mod hog;
pub mod judge;
pub mod ladders;
pub mod page;
pub mod pairs;
mod random;
pub mod real;
pub mod records;
pub mod row;
pub mod seal;
pub mod session;
pub mod simulate;
pub mod standing;
pub mod table;
pub mod tally;
#[cfg(test)]
mod tokens;

pub use answer::Answer;
pub use error::TruthError;
pub use row::Row;
