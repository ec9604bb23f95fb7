//! The table of known answers: commands and simulated studies of which it is known which answers
//! are right and which are wrong.
//!
//! The rows are in `truth/*.toml` ([`row`]). [`session`] runs what is missing of each, on this
//! machine ([`real`]) or without one ([`simulate`]), and appends a line a run ([`results`]), so
//! that it can be stopped at any time and resumes. [`page`] writes docs/truth.md from those lines.

pub mod answer;
mod error;
mod hog;
pub mod page;
pub mod pairs;
pub mod real;
pub mod results;
pub mod row;
pub mod session;
pub mod simulate;
pub mod tally;

pub use answer::Answer;
pub use error::TruthError;
pub use row::Row;
