//! The table of known answers: commands and simulated studies of which it is known what they have to
//! say, and what they must never say.
//!
//! The rows stand in `truth/*.toml` ([`row`]). [`session`] runs what is missing of each, on this machine
//! ([`real`]) or without one ([`simulate`]), and appends a line a run ([`results`]), so that it can be
//! stopped at any time and goes on. [`page`] writes docs/truth.md from those lines.

pub mod answer;
mod error;
mod hog;
pub mod page;
pub mod real;
pub mod results;
pub mod row;
pub mod session;
pub mod simulate;
pub mod tally;

pub use answer::Answer;
pub use error::TruthError;
pub use row::Row;
