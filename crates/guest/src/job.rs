//! What a guest is to do, and what it sends when it is up.

use model::machine::Guest;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the job is in the guest's file system.
pub const PLACE: &str = "/tailback/job.json";

/// Where the modules are that it is to load.
pub(crate) const MODULES: &str = "/tailback/modules";

/// The variable that tells a command that it runs in a guest of tailback, and in which.
pub(crate) const FACTS: &str = "TAILBACK_GUEST";

/// The guest that this process runs in; none where tailback did not make the machine.
pub fn inside() -> Option<Guest> {
    serde_json::from_str(&std::env::var(FACTS).ok()?).ok()
}

/// What a guest is to do; a file of its initramfs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The arguments of `tailback`.
    pub args: Vec<String>,
    /// The tag of a shared folder that becomes the root file system; none for the initramfs alone.
    #[serde(default)]
    pub root: Option<String>,
    /// The modules that are loaded before that folder is mounted.
    #[serde(default)]
    pub modules: Vec<String>,
    /// A folder below that root with compiled applications, copied so that they need not be made
    /// again where everything is slow; none where there is none.
    #[serde(default)]
    pub applications: Option<PathBuf>,
    /// What the host knows of the guest, for its record.
    pub guest: Guest,
}

/// A guest that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its kernel release.
    pub release: String,
    /// Its CPUs that are online.
    pub cpus: u32,
}
