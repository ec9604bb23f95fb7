//! What a guest is to do, and what it sends when it is up.

use model::machine::Guest;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::PathBuf;

/// Where the job is in the guest's file system.
pub const PLACE: &str = "/tailback/job.json";

/// Where the modules are that it is to load.
pub(crate) const MODULES: &str = "/tailback/modules";

/// The variable that tells a command that it runs in a guest of tailback, and in which.
pub(crate) const FACTS: &str = "TAILBACK_GUEST";

/// The variable that names the pipe into which a command in a guest writes its events.
pub(crate) const EVENTS: &str = "TAILBACK_EVENTS";

/// Where a command in a guest tells its events, a line of JSON each; none outside of one.
pub fn events() -> Option<File> {
    File::options().write(true).open(std::env::var_os(EVENTS)?).ok()
}

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
    /// The host's cache, a folder below that root; none where there is none. What the host has
    /// compiled is copied, so that it need not be compiled again where everything is slow.
    #[serde(default)]
    pub cache: Option<PathBuf>,
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
