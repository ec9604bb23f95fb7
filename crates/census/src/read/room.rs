//! Limits the memory of all jobs together, for any files and any number of threads.

use std::sync::{Condvar, Mutex, PoisonError};

/// Most bytes of all jobs that were handed out and are not folded yet. A larger job runs alone.
const MOST: u64 = 192 << 20;

/// The memory that jobs may use.
#[derive(Debug, Default)]
pub(super) struct Room {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    taken: u64,
    /// Whether the receiver has ended.
    closed: bool,
}

impl Room {
    /// Waits until there is room for `bytes` bytes.
    pub(super) fn reserve(&self, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.closed && state.taken > 0 && state.taken.saturating_add(bytes) > MOST {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.taken = state.taken.saturating_add(bytes);
    }

    /// Returns the room of a job.
    pub(super) fn release(&self, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.taken = state.taken.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Wakes every waiting thread.
    pub(super) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_waits_and_what_never_fits_goes_alone() {
        let room = Room::default();
        room.reserve(2 * MOST);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| room.reserve(1));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waits.is_finished(), "it does not wait");
            room.release(2 * MOST);
            waits.join().unwrap();
        });
        assert_eq!(room.state.lock().unwrap().taken, 1);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| room.reserve(MOST));
            room.close();
            waits.join().unwrap();
        });
    }
}
