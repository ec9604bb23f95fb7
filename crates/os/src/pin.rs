//! The CPUs that a thread may use.

use crate::cpulist;
use crate::policy::{self, CpuBits};
use libc::c_ulong;
use std::io;
use std::path::Path;

/// CPU numbers from this one on cannot be pinned to; no kernel has them. The set of the C library
/// has only 1,024 CPUs.
pub const LIMIT: u32 = policy::MOST_CPUS;

/// A set of CPUs in the kernel's format.
#[derive(Debug, Clone, Copy)]
pub struct Mask(CpuBits);

impl Mask {
    /// A mask of these CPUs.
    ///
    /// # Errors
    /// If a number is too large for a mask.
    pub fn from_cpus(cpus: &[u32]) -> io::Result<Self> {
        let mut bits = policy::NO_CPUS;
        for cpu in cpus {
            if *cpu >= LIMIT {
                let why = format!("CPU {cpu} is beyond the {LIMIT} CPUs that can be named");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            let (word, bit) = place(*cpu);
            bits[word] |= bit;
        }
        Ok(Mask(bits))
    }

    /// The CPUs that the calling thread may use.
    ///
    /// # Errors
    /// If the kernel's mask has more CPUs than this one.
    pub fn current() -> io::Result<Self> {
        policy::usable_cpus().map(Mask)
    }

    /// Limits the calling thread to these CPUs. Threads and children that it starts later inherit
    /// the limit.
    ///
    /// Makes one system call and allocates nothing, so it may run between fork and exec.
    ///
    /// # Errors
    /// If none of them exists, or a cpuset forbids them.
    pub fn apply(&self) -> io::Result<()> {
        policy::use_cpus(&self.0)
    }

    /// Their numbers in ascending order.
    pub fn cpus(&self) -> Vec<u32> {
        let is_set = |cpu: &u32| {
            let (word, bit) = place(*cpu);
            self.0[word] & bit != 0
        };
        (0..LIMIT).filter(is_set).collect()
    }
}

/// The word of a mask that has a CPU, and the bit of the CPU in that word.
fn place(cpu: u32) -> (usize, c_ulong) {
    ((cpu / c_ulong::BITS) as usize, 1 << (cpu % c_ulong::BITS))
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// If the CPU does not exist, is offline, or is forbidden by a cpuset.
pub fn pin(cpu: u32) -> io::Result<()> {
    Mask::from_cpus(&[cpu])?.apply()
}

/// The CPUs that the calling thread may use, in ascending order.
///
/// The affinity mask already leaves out what a cpuset forbids and what is offline.
///
/// # Errors
/// If the mask cannot be read.
pub fn allowed() -> io::Result<Vec<u32>> {
    match Mask::current() {
        Ok(mask) => Ok(mask.cpus()),
        // The kernel's mask has more CPUs than this one.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            allowed_in(Path::new("/proc/thread-self/status"))
        }
        Err(error) => Err(error),
    }
}

fn allowed_in(status: &Path) -> io::Result<Vec<u32>> {
    let text = std::fs::read_to_string(status)?;
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(cpulist::parse).ok_or_else(|| {
        let why = format!("{}: no Cpus_allowed_list in it", status.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Keeps the calling thread on one CPU. Dropping it restores the former CPUs.
#[derive(Debug)]
pub struct Pinned {
    before: Mask,
}

impl Pinned {
    /// Pins the calling thread.
    ///
    /// # Errors
    /// If the CPU does not exist or is not allowed.
    pub fn to(cpu: u32) -> io::Result<Self> {
        let before = Mask::current()?;
        pin(cpu)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The CPUs were allowed a moment ago. If a cpuset has shrunk since, the kernel has moved
        // the thread already.
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_cpu_is_allowed_and_both_sources_agree() {
        let cpus = allowed().unwrap();
        assert!(!cpus.is_empty());
        assert_eq!(allowed_in(Path::new("/proc/thread-self/status")).unwrap(), cpus);
    }

    #[test]
    fn a_thread_is_pinned_as_long_as_its_guard_lives() {
        let before = allowed().unwrap();
        let guard = Pinned::to(before[0]).unwrap();
        assert_eq!(allowed().unwrap(), before[..1]);
        drop(guard);
        assert_eq!(allowed().unwrap(), before);
    }

    #[test]
    fn a_cpu_that_cannot_be_named_is_an_error() {
        assert_eq!(Mask::from_cpus(&[0, 7]).unwrap().cpus(), [0, 7]);
        for cpu in [LIMIT, u32::MAX] {
            let error = pin(cpu).unwrap_err().to_string();
            assert!(error.starts_with(&format!("CPU {cpu} is beyond ")), "{error}");
        }
    }

    #[test]
    fn a_mask_names_more_cpus_than_the_set_of_the_c_library() {
        let large = [0, 63, 64, 1_023, 1_024, LIMIT - 1];
        assert_eq!(Mask::from_cpus(&large).unwrap().cpus(), large);
        // The kernel leaves out CPUs that the machine does not have.
        let before = allowed().unwrap();
        let both = Mask::from_cpus(&[before[0], LIMIT - 1]).unwrap();
        let after = std::thread::spawn(move || {
            both.apply().unwrap();
            allowed().unwrap()
        });
        assert_eq!(after.join().unwrap()[0], before[0]);
    }

    #[test]
    fn a_status_without_the_list_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let status = dir.path().join("status");
        std::fs::write(&status, "Name:\tx\nCpus_allowed_list:\t0-1,4096\n").unwrap();
        assert_eq!(allowed_in(&status).unwrap(), [0, 1, 4096]);
        std::fs::write(&status, "Name:\tx\n").unwrap();
        let error = allowed_in(&status).unwrap_err().to_string();
        assert!(error.ends_with("no Cpus_allowed_list in it"), "{error}");
    }
}
