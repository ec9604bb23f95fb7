//! SIGINT, SIGTERM and SIGHUP end a study in order: children first, then the record. A second one
//! ends it at once; the kernel ends the children.

use crate::exit::INTERRUPTED;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What the running command watches, for what cannot be handed it.
static WATCHED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the user wants the running command to end.
pub fn noticed() -> bool {
    WATCHED.get().is_some_and(|noticed| noticed.load(Ordering::Relaxed))
}

/// Notices that the user wants the program to end.
#[derive(Debug, Clone)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Begins to notice. A signal that is ignored, as under nohup, stays ignored.
    pub fn watch() -> Self {
        let noticed = Arc::new(AtomicBool::new(false));
        let ignored = ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            // Where a handler cannot be had, the signal ends the program at once. The first
            // handler acts from the second signal on, since the other sets the flag after it.
            let code = i32::from(INTERRUPTED);
            let _ = flag::register_conditional_shutdown(signal, code, Arc::clone(&noticed));
            let _ = flag::register(signal, Arc::clone(&noticed));
        }
        // A parent that ignored this would have the kernel reap our children before we can.
        let _ = flag::register(SIGCHLD, Arc::default());
        let _ = WATCHED.set(Arc::clone(&noticed));
        Interruption(noticed)
    }

    /// Begins to notice, and goes on to its end however often it is asked: a terminal that goes
    /// away says so more than once, and what is to be tidied is tidied only here.
    pub fn watch_to_the_end() -> Self {
        let noticed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Where a handler cannot be had, the signal ends the program at once.
            let _ = flag::register(signal, Arc::clone(&noticed));
        }
        Interruption(noticed)
    }

    /// Whether the user does.
    pub fn noticed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Notices SIGUSR1.
#[derive(Debug, Clone)]
pub struct Asked(Arc<AtomicBool>);

impl Asked {
    /// Begins to notice.
    pub fn watch() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        // Where a handler cannot be had, the signal ends the program, as it does without one.
        let _ = flag::register(SIGUSR1, Arc::clone(&asked));
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
