//! Watching what the machine does to a trial from outside.

use host::disturbance::{Snapshot, run_delay_ns};
use host::roots::Roots;
use model::Disturbance;
use os::time;

/// A watch over steal time, pressure, enclosing quotas, and what the measured thread itself
/// suffered.
///
/// Nothing runs on the measured CPU for it: a thread of ours there would be late because the work
/// that is measured runs.
pub struct Disturbances {
    before: Snapshot,
    thread: Option<(u32, u64)>,
}

impl Disturbances {
    /// Begins to watch; with a process, how long its first thread stands ready without a CPU.
    pub fn start(roots: &Roots, measured: Option<u32>) -> Self {
        let thread = measured.and_then(|pid| Some((pid, run_delay_ns(roots, pid)?)));
        Disturbances { before: Snapshot::take(roots), thread }
    }

    /// Ends the watch. The measured process has to be there still, else its delay is absent.
    pub fn finish(self, roots: &Roots) -> Disturbance {
        // First of all: where we share its CPU, it waits for us from here on.
        let delay_ms = self.thread.and_then(|(pid, before)| {
            let grown = run_delay_ns(roots, pid)?.checked_sub(before)?;
            Some(time::ms_of_ns(grown))
        });
        Disturbance { run_delay_ms: delay_ms, ..self.before.until(&Snapshot::take(roots)) }
    }
}
