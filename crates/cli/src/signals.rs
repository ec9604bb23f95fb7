//! SIGINT, SIGTERM and SIGHUP end a study in order: children first, then the record. A second
//! signal ends it at once; then the kernel ends the children.

use crate::exit::INTERRUPTED;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals that end a program in order.
pub const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signals that end a service in order. For a service, SIGHUP asks to read its configuration
/// again.
pub const ENDING_SERVICE: [i32; 2] = [SIGINT, SIGTERM];

/// Whether the user wants the program to end. Clones share one flag, which signal handlers set.
#[derive(Debug, Clone, Default)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Starts to notice these signals. A signal that is ignored, as under nohup, stays ignored.
    pub fn watch(&self, signals: &[i32]) {
        let noticed = &self.0;
        let ignored = ignored_signals();
        for &signal in signals {
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            // If a handler cannot be installed, the signal ends the program at once. The first
            // handler only acts from the second signal on, since the other one sets the flag
            // after it.
            let code = i32::from(INTERRUPTED);
            let _ = flag::register_conditional_shutdown(signal, code, Arc::clone(noticed));
            let _ = flag::register(signal, Arc::clone(noticed));
        }
        // If the parent ignored SIGCHLD, the kernel would reap our children before we can.
        let _ = flag::register(SIGCHLD, Arc::default());
    }

    /// Starts to notice, and never ends at once, however many signals come. A terminal that goes
    /// away sends several, and only this process does the clean-up.
    pub fn watch_to_the_end(&self) {
        for signal in ENDING {
            // If a handler cannot be installed, the signal ends the program at once.
            let _ = flag::register(signal, Arc::clone(&self.0));
        }
    }

    /// Whether the user wants the program to end.
    pub fn noticed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Notices a signal that is a request.
#[derive(Debug, Clone)]
pub struct Asked(Arc<AtomicBool>);

impl Asked {
    /// Starts to notice this signal.
    pub fn watch(signal: i32) -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        // If a handler cannot be installed, the signal ends the program, as without a handler.
        let _ = flag::register(signal, Arc::clone(&asked));
        Asked(asked)
    }

    /// Whether the signal came since the last call.
    pub fn noticed(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Has this process ignore the signals that are requests to a service, SIGHUP and SIGUSR1. Somebody
/// may send them to all processes of the service, and so to its helpers.
pub fn ignore_requests() {
    for signal in [SIGHUP, SIGUSR1] {
        // With a handler, since a program that this process starts would inherit an ignored signal.
        let _ = Asked::watch(signal);
    }
}

/// The signals that this process ignored when it started, with bit 0 for signal 1. Zero if /proc
/// does not show them.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn a_request_to_a_service_ends_none_of_its_helpers() {
        ignore_requests();
        for signal in [Signal::HUP, Signal::USR1] {
            kill_process(getpid(), signal).unwrap();
        }
    }
}
