//! What there is to run cases with.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What every worker needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The program under test.
    pub binary: PathBuf,
    /// The folder of the studies.
    pub studies: PathBuf,
    /// The folder of built kernels; none where there is none.
    pub kernels: Option<PathBuf>,
    /// What a guest's kernel is called.
    pub kernel: String,
    /// The name of an Erlang node, and the file of its cookie; none where there is none.
    pub node: Option<(String, PathBuf)>,
}
