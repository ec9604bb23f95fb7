//! The rows of a census, for other programs: folders of Parquet files, and what KCIDB takes.
//!
//! A census counts; these hand on every answer that it counted, so that other programs can ask
//! questions of their own.

mod error;
mod kcidb;
mod parquet;

pub use error::RowsError;
pub use kcidb::{Origin, OriginError, kcidb};
pub use parquet::{Folder, Made, Written, write};
