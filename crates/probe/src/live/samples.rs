//! Samples of what threads execute, a few dozen per second on each CPU.

use libbpf_rs::libbpf_sys::perf_event_attr;
use libbpf_rs::{Link, ProgramMut};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

/// A clock in the kernel's software: it needs no counter of the processor.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;

/// Samples per second on each CPU; no divisor of common timer frequencies.
pub const FREQUENCY: u64 = 49;

/// The descriptor is closed when another program is executed.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Attaches a program to a clock on each CPU that has one; empty if the kernel refuses.
pub fn attach(program: &ProgramMut, cpus: u32, frequency: u64) -> Vec<Link> {
    let attach = |cpu: u32| {
        let clock = clock(i32::try_from(cpu).ok()?, frequency)?.into_raw_fd();
        // The link owns the descriptor from here on.
        program.attach_perf_event(clock).ok()
    };
    (0..cpus).filter_map(attach).collect()
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
