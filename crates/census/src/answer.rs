//! What one record says, as far as a census needs it.

use model::{State, Unit};

/// What one record says.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The name of its host; absent where the record does not say.
    pub host: Option<String>,
    /// The scenario, by its place among those that are known.
    pub scenario: u8,
    /// The verdict.
    pub state: State,
    /// Its verdict is not what its own counts give.
    pub contradictory: bool,
    /// When the study began, in seconds since 1970.
    pub started: i64,
    /// What tells the study from another of the same host that began at the same moment.
    pub fingerprint: u64,
    /// The kind of its host.
    pub kind: u32,
    /// What the worst arm loses over its control, where the host is affected.
    pub shift: Option<(f32, Unit)>,
    /// Version of the tailback that wrote it.
    pub version: String,
    /// Whether it is brief.
    pub brief: bool,
    /// Its trials, where they are wanted and it has any.
    pub trials: Option<Box<[u8]>>,
    /// It has trials that are wanted and cannot be read.
    pub lost_trials: bool,
}
