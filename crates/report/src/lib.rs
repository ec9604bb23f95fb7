//! Renders records. A report reads records and nothing else, and computes nothing: every figure
//! and every sentence stands in the record.

pub mod heat;
pub mod text;

pub use text::{Look, check, record};
