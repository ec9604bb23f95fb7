//! Places in its code at which the work under test was seen.

use serde::{Deserialize, Serialize};

/// A place in its code at which a sampler saw the work under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtWork {
    /// The function: `prim_inet:send_recv_reply/2`.
    pub place: String,
    /// In how many samples it was seen there.
    pub samples: u64,
}
