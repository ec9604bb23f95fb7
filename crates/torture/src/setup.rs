//! The inputs of all cases.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The inputs that every worker needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The program under test.
    pub binary: PathBuf,
    /// The folder of the studies.
    pub studies: PathBuf,
    /// The folder of built kernels, if there is one.
    pub kernels: Option<PathBuf>,
    /// The name of the guest's kernel.
    pub kernel: String,
    /// The name of an Erlang node and the file of its cookie, if there is a node.
    pub node: Option<(String, PathBuf)>,
}
