//! What a census is asked for.

use crate::speaker::Hashing;
use model::{Facts, Judgement};
use std::fs::File;

/// What is read, and by how many threads.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The scenarios that count.
    pub scenarios: &'a [&'a str],
    /// What follows from the facts of a full record; what its host made of them is not read.
    pub judge: fn(&Facts) -> Judgement,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// Threads that parse.
    pub threads: usize,
    /// An empty file that keeps the trials of records, where they are wanted.
    pub trials: Option<&'a File>,
    /// What the hosts did with their names, where they hashed them.
    pub hashing: Option<Hashing<'a>>,
}
