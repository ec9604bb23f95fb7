//! Renders records as text, as an offline page, and in the formats of other tools.
//!
//! A report reads only records and computes no figures: every figure is in the record. This crate
//! decides the layout and the sentences. A record holds typed facts; only [`prose`] turns them
//! into English.

pub mod advice;
mod cells;
mod census;
pub mod change;
pub mod chart;
mod effects;
mod erl_flags;
mod error;
mod explain;
pub mod export;
mod grid;
pub mod heat;
pub mod history;
pub mod html;
mod identity;
mod limited;
mod live;
mod look;
mod matrix;
mod perfetto;
mod prior_findings;
pub mod prose;
pub mod repro;
mod shown;
#[cfg(test)]
mod testing;
pub mod text;

pub use census::census;
pub use erl_flags::flags;
pub use error::ReportError;
pub use explain::{explanation, timeline};
pub use identity::identity;
pub use live::live;
pub use look::Look;
pub use matrix::{Row, below_matrix, matrix, matrix_markdown};
pub use perfetto::trace;
pub use shown::Shown;
pub use text::{check, record};
