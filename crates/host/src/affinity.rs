//! The CPUs that this thread may use.

use crate::cpu_list;
use crate::error::HostError;
use crate::roots::{self, Roots};
use crate::text;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that the calling thread may use, in ascending order.
///
/// The affinity mask already leaves out what a cpuset forbids and what is offline.
///
/// # Errors
/// If the mask cannot be read.
pub fn allowed_cpus() -> Result<Vec<u32>, HostError> {
    match sched_getaffinity(None) {
        Ok(set) => Ok((0u32..)
            .zip(0..CpuSet::MAX_CPU)
            .filter(|&(_, index)| set.is_set(index))
            .map(|(cpu, _)| cpu)
            .collect()),
        // EINVAL: the kernel's mask has more CPUs than the set of the C library.
        Err(Errno::INVAL) => allowed_in_status(&Roots::real()),
        Err(source) => Err(HostError::Affinity { source: source.into() }),
    }
}

/// Binds the calling thread to one CPU; threads and children that it starts later inherit that.
///
/// # Errors
/// If the CPU does not exist, is offline, or is forbidden by a cpuset.
pub fn pin_current_thread(cpu: u32) -> Result<(), HostError> {
    let index = usize::try_from(cpu).unwrap_or(usize::MAX);
    if index >= CpuSet::MAX_CPU {
        return Err(HostError::Pin { cpu, source: Errno::INVAL.into() });
    }
    let mut set = CpuSet::new();
    set.set(index);
    sched_setaffinity(None, &set).map_err(|source| HostError::Pin { cpu, source: source.into() })
}

fn allowed_in_status(roots: &Roots) -> Result<Vec<u32>, HostError> {
    let path = roots.proc.join("thread-self/status");
    let status = roots::read_text(&path)?;
    text::colon_field(&status, "Cpus_allowed_list")
        .and_then(cpu_list::parse)
        .ok_or(HostError::Malformed { path, what: "Cpus_allowed_list" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_cpu_is_allowed_and_both_sources_agree() {
        let cpus = allowed_cpus().unwrap();
        assert!(!cpus.is_empty());
        assert_eq!(allowed_in_status(&Roots::real()).unwrap(), cpus);
    }

    #[test]
    fn a_thread_can_be_bound_to_a_cpu_that_is_allowed() {
        let first = allowed_cpus().unwrap()[0];
        let bound = std::thread::spawn(move || {
            pin_current_thread(first).unwrap();
            allowed_cpus().unwrap()
        });
        assert_eq!(bound.join().unwrap(), [first]);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_by_number() {
        for cpu in [1023, 1024, u32::MAX] {
            let Err(error) = std::thread::spawn(move || pin_current_thread(cpu)).join().unwrap()
            else {
                continue;
            };
            assert!(error.to_string().starts_with(&format!("cpu {cpu}: ")), "{error}");
        }
        assert!(pin_current_thread(u32::MAX).is_err());
    }

    #[test]
    fn a_status_without_the_list_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/thread-self")).unwrap();
        let status = dir.path().join("proc/thread-self/status");
        std::fs::write(&status, "Cpus_allowed_list:\t0-1,4096\n").unwrap();
        let roots = Roots::at(dir.path());
        assert_eq!(allowed_in_status(&roots).unwrap(), [0, 1, 4096]);
        std::fs::write(&status, "Name:\tx\n").unwrap();
        let error = allowed_in_status(&roots).unwrap_err().to_string();
        assert!(error.ends_with("no Cpus_allowed_list in it"), "{error}");
    }
}
