//! Renders records. A report reads records and nothing else, and computes nothing: every figure
//! and every sentence stands in the record.

mod explain;
pub mod heat;
mod perfetto;
pub mod text;

pub use explain::{explanation, timeline};
pub use perfetto::trace;
pub use text::{Look, check, record};
