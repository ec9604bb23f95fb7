//! The job of a guest, and the first message of the guest.

use model::machine::Guest;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::PathBuf;

/// Path of the job in the guest's file system.
pub const PLACE: &str = "/tailback/job.json";

/// Path of the modules that the guest loads.
pub(crate) const MODULES: &str = "/tailback/modules";

/// The environment variable that tells a command in a guest about its guest.
pub(crate) const FACTS: &str = "TAILBACK_GUEST";

/// The environment variable with the pipe for the events of a command in a guest.
pub(crate) const EVENTS: &str = "TAILBACK_EVENTS";

/// The file for the events of a command in a guest, one JSON line each. None outside of a guest.
pub fn events() -> Option<File> {
    File::options().write(true).open(std::env::var_os(EVENTS)?).ok()
}

/// The guest that this process runs in. None if the machine is not a guest of tailback.
pub fn inside() -> Option<Guest> {
    serde_json::from_str(&std::env::var(FACTS).ok()?).ok()
}

/// The job of a guest; a file in its initramfs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The arguments of `tailback`.
    pub args: Vec<String>,
    /// The tag of a shared folder that becomes the root file system. None if there is only the
    /// initramfs.
    #[serde(default)]
    pub root: Option<String>,
    /// The modules to load before that folder is mounted and the command begins: those of
    /// [`crate::Kernel::modules_for`].
    #[serde(default)]
    pub modules: Vec<String>,
    /// Whether the command makes ext4 file systems on loop devices.
    #[serde(default)]
    pub loop_devices: bool,
    /// The host's cache, a folder below that root, if there is one. The host's compiled files are
    /// copied from it, since compiling in a slow guest takes long.
    #[serde(default)]
    pub cache: Option<PathBuf>,
    /// The host's facts about the guest, for its record.
    pub guest: Guest,
}

/// A guest that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The release of its kernel.
    pub release: String,
    /// The number of its online CPUs.
    pub cpus: u32,
}
