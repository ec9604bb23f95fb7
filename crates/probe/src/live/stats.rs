//! The CPU cost of the programs, as the kernel itself accounts it.

use libbpf_rs::libbpf_sys::{
    BPF_STATS_RUN_TIME, bpf_enable_stats, bpf_obj_get_info_by_fd, bpf_prog_info,
};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Keeps the kernel counting the CPU time of programs. Counting ends when the descriptor is
/// closed, also when the process ends.
pub struct Counting(#[expect(dead_code, reason = "it counts for as long as it is open")] OwnedFd);

impl Counting {
    /// Starts counting; None if the kernel refuses.
    pub fn start() -> Option<Self> {
        // SAFETY: a plain call; it returns a new descriptor or a negative number.
        let descriptor = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
        // SAFETY: nobody else owns it.
        (descriptor >= 0).then(|| Counting(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }
}

/// CPU time of a program during the counting, in nanoseconds.
pub fn run_time(program: BorrowedFd) -> Option<u64> {
    let mut info = bpf_prog_info::default();
    let mut size = u32::try_from(size_of::<bpf_prog_info>()).ok()?;
    let into = (&raw mut info).cast();
    // SAFETY: the kernel writes at most `size` bytes into `info`.
    let done = unsafe { bpf_obj_get_info_by_fd(program.as_raw_fd(), into, &raw mut size) };
    (done == 0).then_some(info.run_time_ns)
}
