//! A clock that stops while its guest is paused.

use std::time::{Duration, Instant};

/// Time that a guest was let run, and when its last frame came in that time.
#[derive(Debug)]
pub(crate) struct RunClock {
    before: Duration,
    since: Option<Instant>,
    last_frame: Duration,
}

impl RunClock {
    /// Begins to run.
    pub fn start() -> Self {
        RunClock { before: Duration::ZERO, since: Some(Instant::now()), last_frame: Duration::ZERO }
    }

    /// How long it has run.
    pub fn elapsed(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Stands still.
    pub fn pause(&mut self) {
        self.before = self.elapsed();
        self.since = None;
    }

    /// Goes on.
    pub fn resume(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Notes that the guest sent a frame.
    pub fn note_frame(&mut self) {
        self.last_frame = self.elapsed();
    }

    /// How long the guest has sent nothing.
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
