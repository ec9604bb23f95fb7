//! A program, as `watch` names it.

use super::workload::Workload;
use serde::{Deserialize, Serialize};

/// A program: the processes of one name in one group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Its name: `comm`.
    pub name: String,
    /// Its control group under the cpu controller; absent for the root group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whose that group is; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// One of its processes: the only one, or the one that lost most; 0 where it has no PID here.
    pub pid: u32,
    /// How many processes of it there were.
    pub processes: u32,
    /// Whether it is outside the PID namespace in which tailback runs, as outside a container.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}
