//! What a command may do that reads what others wrote.
//!
//! A record may be anybody's, and root reads it like everybody else. So before anything of it is
//! read, the kernel is told (Landlock, Linux 5.13; a kernel without it restricts nothing) that this
//! process writes only where its output goes, executes nothing, reaches no network and signals
//! nobody. Root keeps only the privilege to read and write files of others, which Landlock bounds:
//! a record may be in the folder of any user.

use crate::paths::folder_of;
use os::sandbox::{Files, Network, keep_privileges, restrict};
use rustix::thread::CapabilitySet;
use std::path::{Path, PathBuf};

/// Restricts this process to writing these files; for good, and for whatever it
/// starts.
pub fn enter(files: &[&Path]) {
    let folders: Vec<PathBuf> = files.iter().map(|file| folder_of(file)).collect();
    // Without them the command does the same; they are a second wall behind the checks.
    let _ = keep_privileges(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    let _ = restrict(Files::Read { writable: &folders }, Network::None);
}
