//! A program as `watch` names it.

use super::workload::Workload;
use serde::{Deserialize, Serialize};

/// A program: all processes with one name in one group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Its name: `comm`.
    pub name: String,
    /// Its control group under the cpu controller; absent for the root group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The owner of that group; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// One of its processes: the only one, or the one that lost most; 0 if it has no PID in this
    /// namespace.
    pub pid: u32,
    /// Number of its processes.
    pub processes: u32,
    /// Whether it is outside the PID namespace of tailback, such as outside a container.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}
