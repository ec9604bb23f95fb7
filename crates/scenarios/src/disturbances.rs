//! Watches how the machine disturbs a trial from outside.

use host::disturbance::{Snapshot, run_delay_ns};
use host::roots::Roots;
use model::Disturbance;
use os::time;

/// A watch over steal time, pressure, enclosing quotas, and the run delay of the measured thread.
///
/// The watch runs nothing on the measured CPU. A thread of the tool would be late there because of
/// the work that is measured.
pub struct Disturbances {
    before: Snapshot,
    thread: Option<(u32, u64)>,
}

impl Disturbances {
    /// Starts the watch. With a process, it includes how long its first thread is runnable without
    /// a CPU.
    pub fn start(roots: &Roots, measured: Option<u32>) -> Self {
        let thread = measured.and_then(|pid| Some((pid, run_delay_ns(roots, pid)?)));
        Disturbances { before: Snapshot::take(roots), thread }
    }

    /// Ends the watch. If the measured process is already gone, its run delay is missing.
    pub fn finish(self, roots: &Roots) -> Disturbance {
        // This comes first: if the tool shares the CPU of the thread, the thread waits for the
        // tool from here on.
        let delay_ms = self.thread.and_then(|(pid, before)| {
            let grown = run_delay_ns(roots, pid)?.checked_sub(before)?;
            Some(time::ms_of_ns(grown))
        });
        Disturbance { run_delay_ms: delay_ms, ..self.before.until(&Snapshot::take(roots)) }
    }
}
