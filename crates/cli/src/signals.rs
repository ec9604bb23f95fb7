//! SIGINT, SIGTERM and SIGHUP end a study in order: children first, then the record.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Notices that somebody wants the program to end.
#[derive(Debug, Clone)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Begins to notice.
    pub fn watch() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Where a handler cannot be had, the signal ends the program at once, and the kernel
            // its children.
            let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
        }
        Interruption(flag)
    }

    /// Whether somebody does.
    pub fn noticed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
