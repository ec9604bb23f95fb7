//! Renders records: as text, as an offline page, and as the formats of other tools.
//!
//! A report reads records and nothing else, and computes nothing: every figure and every sentence
//! stands in the record. What is worked out here is where things stand on the page.

pub mod advice;
pub mod again;
pub mod change;
pub mod chart;
mod effects;
mod error;
pub mod evidence;
mod explain;
pub mod export;
mod found;
pub mod heat;
pub mod history;
pub mod html;
mod matrix;
mod paste;
mod perfetto;
#[cfg(test)]
mod testing;
pub mod text;
mod words;

pub use error::ReportError;
pub use explain::{explanation, timeline};
pub use html::Shown;
pub use matrix::matrix;
pub use paste::flags;
pub use perfetto::trace;
pub use text::{Look, check, record};
