//! What `watch` may still do once it watches.
//!
//! It runs as root for weeks beside users who decide what it reads. So once its programs are loaded
//! it gives up all privileges but those that reading takes, all writing but that of its record, and
//! the system calls by which it could reach further. What is refused here is refused to whoever
//! takes it over.

use os::sandbox::{Files, Network, keep_privileges, limit_data, refuse_calls, restrict};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Memory of its own, beside twice the ring, in bytes.
const MEMORY: u64 = 512 << 20;

/// Restricts the calling thread, which reads figures: privileges for the programs in the kernel,
/// files for reading, no network.
pub fn enter_sampling() {
    // A kernel without one of these walls has the others.
    let _ = keep_privileges(of_programs() | of_processes());
    let _ = restrict(Files::Read { writable: &[] }, Network::None);
}

/// Restricts the calling thread, which shows and writes: files for reading, and for writing in the
/// folders of what it writes; the network where nodes are asked. Whatever thread it starts later
/// has no more. Limits the memory and the system calls of the process.
pub fn enter(writable: &[PathBuf], ring_bytes: u64, asks_nodes: bool) {
    let is_foreign = |folder: &PathBuf| {
        std::fs::metadata(folder).is_ok_and(|about| about.uid() != geteuid().as_raw())
    };
    // Root writes into a user's folder by this privilege alone; Landlock bounds it to the folder.
    let kept = match writable.iter().any(is_foreign) {
        true => CapabilitySet::DAC_OVERRIDE,
        false => CapabilitySet::empty(),
    };
    let network = if asks_nodes { Network::Connect } else { Network::None };
    let _ = keep_privileges(kept);
    let _ = restrict(Files::Read { writable }, network);
    let _ = limit_data(MEMORY.saturating_add(ring_bytes.saturating_mul(2)));
    let _ = refuse_calls();
}

/// What it takes to read the tables of the programs, and to attach those that see system calls for
/// moments.
fn of_programs() -> CapabilitySet {
    let own = capabilities(None).map(|own| own.effective).unwrap_or(CapabilitySet::empty());
    let both = CapabilitySet::BPF | CapabilitySet::PERFMON;
    if own.contains(both) { both } else { CapabilitySet::SYS_ADMIN }
}

/// Where /proc hides the processes of others (`hidepid`), what it takes to see them.
fn of_processes() -> CapabilitySet {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let hides = mounts.lines().any(|line| line.contains(" - proc ") && line.contains("hidepid="));
    if hides { CapabilitySet::SYS_PTRACE } else { CapabilitySet::empty() }
}
