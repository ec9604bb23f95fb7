//! SIGINT, SIGTERM and SIGHUP end a study in order: children first, then the record. A second one
//! ends it at once; the kernel ends the children.

use crate::exit::INTERRUPTED;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What ends a program in order.
pub const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What ends a service in order. SIGHUP asks one to read its configuration again.
pub const ENDING_SERVICE: [i32; 2] = [SIGINT, SIGTERM];

/// Whether the user wants the program to end. Clones share one flag, which signal handlers set.
#[derive(Debug, Clone, Default)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Begins to notice these. A signal that is ignored, as under nohup, stays ignored.
    pub fn watch(&self, signals: &[i32]) {
        let noticed = &self.0;
        let ignored = ignored_signals();
        for &signal in signals {
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            // Where a handler cannot be had, the signal ends the program at once. The first
            // handler acts from the second signal on, since the other sets the flag after it.
            let code = i32::from(INTERRUPTED);
            let _ = flag::register_conditional_shutdown(signal, code, Arc::clone(noticed));
            let _ = flag::register(signal, Arc::clone(noticed));
        }
        // A parent that ignored this would have the kernel reap our children before we can.
        let _ = flag::register(SIGCHLD, Arc::default());
    }

    /// Begins to notice, and goes on to its end however often it is asked: a terminal that goes
    /// away says so more than once, and what is to be tidied is tidied only here.
    pub fn watch_to_the_end(&self) {
        for signal in ENDING {
            // Where a handler cannot be had, the signal ends the program at once.
            let _ = flag::register(signal, Arc::clone(&self.0));
        }
    }

    /// Whether the user does.
    pub fn noticed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Notices a signal that asks for something.
#[derive(Debug, Clone)]
pub struct Asked(Arc<AtomicBool>);

impl Asked {
    /// Begins to notice this one.
    pub fn watch(signal: i32) -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        // Where a handler cannot be had, the signal ends the program, as it does without one.
        let _ = flag::register(signal, Arc::clone(&asked));
        Asked(asked)
    }

    /// Whether it came since the last look.
    pub fn noticed(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// The signals that this process was started to ignore, bit 0 for signal 1; none where /proc
/// does not show them.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
