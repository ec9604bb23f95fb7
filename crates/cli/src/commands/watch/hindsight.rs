//! `--ring`: keeps the last intervals in memory, and writes them when a finding begins.
//!
//! If a file cannot be written, watch continues. It tries again later, with the intervals that
//! are in memory then. No file is replaced, since it may hold the incident that somebody looks
//! for.

mod files;

use super::record;
use super::session::WatchSession;
use crate::output;
use files::Files;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use watch::Tick;

/// Most records that are written in a [`DAY`]. A finding that comes and goes must not fill the
/// disk.
const MOST: u32 = 100;

/// The period of that limit. Then the count begins again.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Wait before the first retry of a record that could not be written. Each further wait is twice
/// as long: a retry builds the record again, and a disk may be full for days.
const AGAIN: Duration = Duration::from_secs(5);

/// The longest wait between two tries.
const SELDOM: Duration = Duration::from_secs(320);

/// A record that could not be written.
#[derive(Clone, Copy)]
struct Owed {
    /// The wait between the last try and the next one.
    wait: Duration,
    /// The time of the next try.
    at: Instant,
    /// The time of the next try if a new finding begins.
    soon: Instant,
}

/// Keeps the last intervals, and writes the intervals that led to a finding.
pub struct Hindsight {
    ring: Ring,
    files: Files,
    owed: Option<Owed>,
    today: Today,
}

/// The number of records of the current day.
struct Today {
    began: Instant,
    written: u32,
    has_said_enough: bool,
}

impl Hindsight {
    /// Keeps at most `most_bytes` bytes, and writes to this file or to numbered files beside it.
    pub fn new(most_bytes: u64, file: &Path) -> Self {
        Hindsight {
            ring: Ring::new(most_bytes),
            files: Files::new(file),
            owed: None,
            today: Today::new(Instant::now()),
        }
    }

    /// Adds an interval. Writes the kept intervals if a finding or an incident has just begun, if
    /// the user asked for it, or if an earlier record is due for another try.
    pub fn add(&mut self, tick: Tick, session: &WatchSession, has_begun: bool, asked: bool) {
        self.ring.add(tick);
        if asked || is_due(self.owed, has_begun, Instant::now()) {
            // A user who asks may have made room on the disk.
            self.write(session, asked);
        }
    }

    /// Tries one last time to write a record that could not be written.
    pub fn end(&mut self, session: &WatchSession) {
        if self.owed.is_none() {
            return;
        }
        self.write(session, false);
        if self.owed.is_some() {
            output::complain(&format!(
                "--record {}: the last record could not be written and is lost",
                self.files.named.display()
            ));
        }
    }

    /// Writes the kept intervals. If that fails and the user `asked`, the next try comes soon.
    fn write(&mut self, session: &WatchSession, asked: bool) {
        if self.today.is_full(Instant::now()) {
            if !std::mem::replace(&mut self.today.has_said_enough, true) || asked {
                output::complain(&format!(
                    "--ring: {MOST} records were written, which is the limit for 24 h; the count \
                     begins again after that, or if watch is restarted"
                ));
            }
            return;
        }
        let live = session.view_of(self.ring.ticks());
        match self.files.write(&record::of(&live).to_json()) {
            Ok(path) => {
                self.owed = None;
                self.today.written += 1;
                output::note(&format!("record: {}", path.display()));
            }
            Err(error) => {
                // Reported once per failure, however long it lasts, and each time the user asks.
                if self.owed.is_none() || asked {
                    output::complain(&format!(
                        "--record {}: {error}; watch tries again after {} s, and waits twice as \
                         long after each further try, at most {} s",
                        self.files.named.display(),
                        AGAIN.as_secs(),
                        SELDOM.as_secs()
                    ));
                }
                let before = self.owed.filter(|_| !asked);
                self.owed = Some(Owed::after(before, Instant::now()));
            }
        }
    }
}

impl Today {
    fn new(began: Instant) -> Self {
        Today { began, written: 0, has_said_enough: false }
    }

    /// Whether the limit of the current day is reached.
    fn is_full(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.began) >= DAY {
            *self = Today::new(now);
        }
        self.written >= MOST
    }
}

impl Owed {
    /// The next try after this failed one, or the first retry if there is none.
    fn after(before: Option<Owed>, now: Instant) -> Self {
        let wait = before.map_or(AGAIN, |before| (before.wait * 2).min(SELDOM));
        Owed { wait, at: now + wait, soon: now + AGAIN }
    }
}

/// Whether to write now. A record that could not be written is not tried again each time that a
/// finding begins.
fn is_due(owed: Option<Owed>, has_begun: bool, now: Instant) -> bool {
    owed.map_or(has_begun, |owed| now >= if has_begun { owed.soon } else { owed.at })
}

/// The last intervals, in bounded memory.
struct Ring {
    most_bytes: u64,
    bytes: u64,
    ticks: VecDeque<(u64, Tick)>,
}

impl Ring {
    /// Keeps at most `most_bytes` bytes.
    fn new(most_bytes: u64) -> Self {
        Ring { most_bytes, bytes: 0, ticks: VecDeque::new() }
    }

    /// Adds an interval. The oldest intervals are dropped to make room.
    fn add(&mut self, tick: Tick) {
        let bytes = tick.bytes();
        self.bytes += bytes;
        self.ticks.push_back((bytes, tick));
        while self.bytes > self.most_bytes && self.ticks.len() > 1 {
            if let Some((bytes, _)) = self.ticks.pop_front() {
                self.bytes -= bytes;
            }
        }
    }

    /// The kept intervals, oldest first.
    fn ticks(&self) -> impl DoubleEndedIterator<Item = &Tick> + Clone {
        self.ticks.iter().map(|(_, tick)| tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let tick = |over_ns| Tick { over_ns, ..Tick::default() };
        let mut ring = Ring::new(3 * tick(0).bytes());
        (0..9).for_each(|over_ns| ring.add(tick(over_ns)));
        let kept: Vec<u64> = ring.ticks().map(|tick| tick.over_ns).collect();
        assert_eq!(kept, [6, 7, 8]);
        let mut small = Ring::new(1);
        (0..9).for_each(|over_ns| small.add(tick(over_ns)));
        assert_eq!(small.ticks().count(), 1);
    }

    #[test]
    fn each_day_has_as_many_records() {
        let began = Instant::now();
        let mut today = Today::new(began);
        assert!(!today.is_full(began + DAY / 2));
        today.written = MOST;
        assert!(today.is_full(began + DAY / 2) && !today.is_full(began + DAY));
        // A day begins at the end of the one before it, or later.
        today.written = MOST;
        assert!(today.is_full(began + DAY * 3 / 2) && !today.is_full(began + DAY * 2));
    }

    #[test]
    fn what_could_not_be_written_is_tried_again_and_less_and_less_often() {
        let now = Instant::now();
        assert!(is_due(None, true, now) && !is_due(None, false, now));
        let first = Owed::after(None, now);
        assert!(!is_due(Some(first), true, now) && is_due(Some(first), false, now + AGAIN));
        // A new finding waits no longer than after the first failure.
        let second = Some(Owed::after(Some(first), now));
        assert!(!is_due(second, false, now + AGAIN) && is_due(second, true, now + AGAIN));
        let mut waits = vec![first];
        (0..8).for_each(|_| waits.push(Owed::after(waits.last().copied(), now)));
        let waits: Vec<u64> = waits.iter().map(|owed| owed.wait.as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 320, 320]);
    }
}
