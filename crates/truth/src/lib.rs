//! The table of known answers: commands and simulated studies of which it is known which answers
//! are right and which are wrong.
//!
//! The rows are in `truth/*.toml` ([`row`]). [`session`] runs what is missing of each, on this
//! machine ([`real`]) or without one ([`simulate`]), and appends what came of it to a file
//! ([`history`]), so that it can be stopped at any time and resumes. An answer counts as long as
//! today's [`judge`] is the one that gave it. [`page`] and [`table`] write docs/truth.md and
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
