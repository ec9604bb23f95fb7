//! Pinning the tool itself, for as long as a trial lasts.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread on one CPU; its former CPUs come back when this is dropped.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread.
    ///
    /// # Errors
    /// If the CPU does not exist or is not allowed.
    pub fn to(cpu: u32) -> std::io::Result<Self> {
        let before = sched_getaffinity(None)?;
        load::affinity::pin(cpu)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The CPUs were allowed a moment ago; where a cpuset has shrunk since, the kernel has
        // moved the thread already.
        let _ = sched_setaffinity(None, &self.before);
    }
}
