//! The part of a record that a census needs.

use model::{State, Unit};

/// The answer of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The name of its host, or the hash of the name; None if the record does not name it.
    pub host: Option<String>,
    /// The scenario, as an index into the known scenarios.
    pub scenario: u8,
    /// The verdict.
    pub state: State,
    /// Whether the verdict contradicts the record's own counts.
    pub contradictory: bool,
    /// Start of the study, in seconds since 1970.
    pub started: i64,
    /// A hash of the study's seed: it distinguishes studies of one host that began at the same
    /// moment.
    pub study: u32,
    /// The number of blocks that were run.
    pub blocks: u32,
    /// The kind of its host.
    pub kind: u32,
    /// How much more the worst arm loses than its control, if the host is affected.
    pub shift: Option<(f32, Unit)>,
    /// Version of the tailback that wrote it.
    pub version: String,
    /// Whether it is a brief record.
    pub brief: bool,
    /// Its trials, if they are wanted and it has any.
    pub trials: Option<Box<[u8]>>,
    /// Whether it has trials that are wanted but cannot be read.
    pub lost_trials: bool,
}
