//! How figures and sentences are written, for every crate that turns facts into text.

pub mod figures;
pub mod sentence;
