//! What a command may do that reads what others wrote.
//!
//! A record may be anybody's, and root reads it like everybody else. So before anything of it is
//! read, the kernel is told (Landlock, Linux 5.13; a kernel without it restricts nothing) that this
//! process writes only where its output goes, executes nothing, reaches no network and signals
//! nobody. Root keeps only the privilege to read and write files of others, which Landlock bounds:
//! a record may be in the folder of any user.

use crate::paths::folder_of;
use clap::ArgMatches;
use os::sandbox::{Files, Network, keep_privileges, restrict};
use rustix::thread::CapabilitySet;
use std::path::PathBuf;

/// Flags that name a file that is written.
const OUTPUTS: [&str; 4] = ["output", "perfetto", "page", "parquet"];

/// Commands that read records and run nothing.
const READERS: [&str; 7] = ["judge", "explain", "report", "compare", "history", "export", "census"];

/// Restricts this process where its command only reads; for good, and for whatever it starts.
pub fn enter(matches: &ArgMatches) {
    let Some((name, inner)) = matches.subcommand() else { return };
    if READERS.contains(&name) {
        // Without them the command does the same; they are a second wall behind the checks.
        let _ = keep_privileges(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        let _ = restrict(Files::Read { writable: &writable(inner) }, Network::None);
    }
}

/// The folders that the command writes to.
fn writable(matches: &ArgMatches) -> Vec<PathBuf> {
    let named = OUTPUTS.iter().filter_map(|flag| {
        let path = matches.try_get_one::<PathBuf>(flag).ok()??;
        Some(folder_of(path))
    });
    named.collect()
}
