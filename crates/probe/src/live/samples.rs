//! Samples of what threads execute, a few dozen per second on each CPU.

use libbpf_rs::libbpf_sys::perf_event_attr;
use libbpf_rs::{Link, ProgramMut};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

/// A clock in the kernel's software: it needs no counter of the processor.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;

/// Samples per second on each CPU; no divisor of common timer frequencies.
pub const FREQUENCY: u64 = 49;

/// The descriptor is closed when another program is executed.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Descriptors that are left for everything but clocks.
const OTHER_DESCRIPTORS: u64 = 512;

/// Attaches a program to a clock on each CPU that has one; empty if the kernel refuses.
pub fn attach(program: &ProgramMut, cpus: u32, frequency: u64) -> Vec<Link> {
    allow_descriptors(cpus);
    let attach = |cpu: u32| {
        let clock = clock(i32::try_from(cpu).ok()?, frequency)?;
        handed_over(clock, |clock| program.attach_perf_event(clock).ok())
    };
    (0..cpus).filter_map(attach).collect()
}

/// Raises the limit of open files of this process if the machine has so many CPUs that clocks would
/// leave no descriptors for anything else. No higher than needed: programs that this one starts
/// have the same limit, and some of them close every number up to it.
fn allow_descriptors(cpus: u32) {
    let limit = getrlimit(Resource::Nofile);
    if let Some(current) = raised(&limit, cpus) {
        // If the kernel refuses, some CPUs may have no clock.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
    }
}

/// The limit that two clocks on each of these CPUs need, if it is above the current one. A clock
/// takes two descriptors.
fn raised(limit: &Rlimit, cpus: u32) -> Option<u64> {
    let needed = OTHER_DESCRIPTORS + 2 * 2 * u64::from(cpus);
    let allowed = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
    limit.current.is_some_and(|current| current < allowed).then_some(allowed)
}

/// Gives a clock to a link, which owns the descriptor from then on. If there is no link, the clock
/// is closed: libbpf leaves it open.
fn handed_over<T>(clock: OwnedFd, link: impl FnOnce(RawFd) -> Option<T>) -> Option<T> {
    let link = link(clock.as_raw_fd())?;
    let _ = clock.into_raw_fd();
    Some(link)
}

fn clock(cpu: i32, frequency: u64) -> Option<OwnedFd> {
    let mut attr = perf_event_attr {
        type_: SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).ok()?,
        config: CPU_CLOCK,
        ..perf_event_attr::default()
    };
    attr.__bindgen_anon_1.sample_freq = frequency;
    attr.set_freq(1);
    let of = &raw const attr;
    // SAFETY: a plain call with a description that outlives it. It returns a new descriptor or a
    // negative number.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_perf_event_open, of, -1, cpu, -1, CLOSE_ON_EXEC) };
    let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
    // SAFETY: nobody else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn a_clock_stays_open_only_if_a_link_has_it() {
        let (mut end, clock) = std::io::pipe().unwrap();
        assert_eq!(handed_over(clock.into(), |_| None::<()>), None);
        assert_eq!(end.read(&mut [0]).unwrap(), 0, "closed");
        let (mut end, clock) = std::io::pipe().unwrap();
        let number = handed_over(clock.into(), Some).unwrap();
        // SAFETY: it is open, and nobody else owns it.
        let mut clock = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        clock.write_all(b"x").unwrap();
        assert_eq!(end.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn only_many_cpus_raise_the_limit_of_open_files() {
        let raised = |current, maximum, cpus| raised(&Rlimit { current, maximum }, cpus);
        assert_eq!(raised(Some(1_024), Some(4_096), 128), None);
        assert_eq!(raised(Some(1_024), Some(4_096), 500), Some(2_512));
        assert_eq!(raised(Some(1_024), Some(1_200), 500), Some(1_200));
        assert_eq!(raised(Some(1_024), None, 4_096), Some(16_896));
        assert_eq!(raised(None, None, 4_096), None);
    }
}
