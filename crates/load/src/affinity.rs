//! Pinning the calling thread.

use rustix::thread::{CpuSet, sched_setaffinity};

/// Pins the calling thread to one CPU.
///
/// # Errors
/// If the CPU does not exist or the cpuset forbids it.
pub fn pin(cpu: u32) -> std::io::Result<()> {
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(std::io::Error::from(std::io::ErrorKind::InvalidInput));
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}
