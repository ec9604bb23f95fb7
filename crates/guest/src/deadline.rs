//! A clock that stops while its guest is paused.

use std::time::{Duration, Instant};

/// The running time of a guest, and the running time at its last frame.
#[derive(Debug)]
pub(crate) struct RunClock {
    before: Duration,
    since: Option<Instant>,
    last_frame: Duration,
}

impl RunClock {
    /// Starts the clock.
    pub fn start() -> Self {
        RunClock { before: Duration::ZERO, since: Some(Instant::now()), last_frame: Duration::ZERO }
    }

    /// The running time.
    pub fn elapsed(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Pauses the clock.
    pub fn pause(&mut self) {
        self.before = self.elapsed();
        self.since = None;
    }

    /// Resumes the clock.
    pub fn resume(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Records that the guest sent a frame.
    pub fn note_frame(&mut self) {
        self.last_frame = self.elapsed();
    }

    /// The running time since the last frame.
    pub fn silence(&self) -> Duration {
        self.elapsed().saturating_sub(self.last_frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_stands_still_uses_no_time() {
        let mut clock = RunClock::start();
        clock.pause();
        let used = clock.elapsed();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(clock.elapsed(), used);
        clock.resume();
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.elapsed() >= used + Duration::from_millis(5));
        assert!(clock.silence() >= Duration::from_millis(5));
    }
}
