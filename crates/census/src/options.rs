//! Options of a census.

use crate::file_host::Hashing;
use model::{Facts, Judgement};
use std::fs::File;

/// What to read, and with how many threads.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The scenarios of the census.
    pub scenarios: &'a [&'a str],
    /// Judges the facts of a full record. The judgement that its host made is not read.
    pub judge: fn(&Facts) -> Judgement,
    /// The current time, in seconds since 1970.
    pub now: i64,
    /// The number of parsing threads.
    pub threads: usize,
    /// An empty file that holds the trials of records, if they are wanted.
    pub trials: Option<&'a File>,
    /// The hash of host names, if the hosts hashed them.
    pub hashing: Option<Hashing<'a>>,
}
