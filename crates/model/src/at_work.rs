//! Where the work under test was seen.

use serde::{Deserialize, Serialize};

/// A place in its code at which the work under test was seen by a sampler that looks now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtWork {
    /// The function: `prim_inet:send_recv_reply/2`.
    pub place: String,
    /// In how many samples.
    pub samples: u64,
}
