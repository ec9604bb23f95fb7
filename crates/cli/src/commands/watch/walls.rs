//! The restrictions of `watch` while it watches.
//!
//! It runs as root for weeks, and users decide what it reads. So it gives up rights once its
//! programs are loaded. It keeps only the privileges that reading needs, and may write only in the
//! folders of its output and below them. System calls that reach further are refused. An attacker
//! who takes over the process is restricted in the same way.

use os::sandbox::{Files, Network, keep_privileges, limit_data, refuse_calls, restrict};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Memory limit in addition to twice the ring, in bytes.
pub const MEMORY: u64 = 512 << 20;

/// Restricts the calling thread, which reads the figures. It keeps the privileges for the eBPF
/// programs, and may read files. It has no network.
pub fn enter_sampling() {
    // If the kernel lacks one of these restrictions, the others still apply.
    let _ = keep_privileges(of_programs() | of_processes());
    let _ = restrict(Files::Read { writable: &[] }, Network::None);
}

/// Restricts the calling thread, which shows and writes. It may read files, write in the folders
/// of its output, and use the network if nodes are asked. Threads that it starts later have no
/// more rights. Also limits the memory, the sockets and the other system calls of the process.
pub fn enter(writable: &[PathBuf], ring_bytes: u64, asks_nodes: bool) {
    let is_foreign = |folder: &PathBuf| {
        std::fs::metadata(folder).is_ok_and(|about| about.uid() != geteuid().as_raw())
    };
    // Root needs only this privilege to write into a user's folder. Landlock limits it to the
    // folder.
    let kept = match writable.iter().any(is_foreign) {
        true => CapabilitySet::DAC_OVERRIDE,
        false => CapabilitySet::empty(),
    };
    let network = if asks_nodes { Network::Connect } else { Network::None };
    let _ = keep_privileges(kept);
    let _ = restrict(Files::Read { writable }, network);
    let _ = limit_data(MEMORY.saturating_add(ring_bytes.saturating_mul(2)));
    let _ = refuse_calls(network);
}

/// The privileges to read the tables of the programs, and to attach the programs that trace
/// system calls for short times.
fn of_programs() -> CapabilitySet {
    let own = capabilities(None).map(|own| own.effective).unwrap_or(CapabilitySet::empty());
    let both = CapabilitySet::BPF | CapabilitySet::PERFMON;
    if own.contains(both) { both } else { CapabilitySet::SYS_ADMIN }
}

/// The privilege to see processes of other users, if /proc hides them (`hidepid`).
fn of_processes() -> CapabilitySet {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let hides = mounts.lines().any(|line| line.contains(" - proc ") && line.contains("hidepid="));
    if hides { CapabilitySet::SYS_PTRACE } else { CapabilitySet::empty() }
}
