//! How figures and sentences are written, for every crate that puts facts into words.

pub mod figures;
pub mod sentence;
