//! Renders records. A report reads records and nothing else, and computes nothing: every figure
//! and every sentence stands in the record.

mod effects;
pub mod heat;
mod paste;
pub mod text;

pub use paste::flags;
pub use text::{Look, check, record};
