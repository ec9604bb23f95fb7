//! `--ring`: the last intervals are kept in memory, and written when a finding begins.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use watch::Tick;

/// Records that are written at most: a finding that comes and goes may not fill a disk.
const MOST: u32 = 100;

/// The last intervals, in bounded memory.
pub struct Ring {
    most_bytes: u64,
    bytes: u64,
    ticks: VecDeque<(u64, Tick)>,
    written: u32,
}

impl Ring {
    /// Keeps so many bytes at most.
    pub fn new(most_bytes: u64) -> Self {
        Ring { most_bytes, bytes: 0, ticks: VecDeque::new(), written: 0 }
    }

    /// Adds an interval; the oldest make room.
    pub fn add(&mut self, tick: Tick) {
        let bytes = tick.bytes();
        self.bytes += bytes;
        self.ticks.push_back((bytes, tick));
        while self.bytes > self.most_bytes && self.ticks.len() > 1 {
            if let Some((bytes, _)) = self.ticks.pop_front() {
                self.bytes -= bytes;
            }
        }
    }

    /// The intervals that are kept, the oldest first.
    pub fn ticks(&self) -> impl DoubleEndedIterator<Item = &Tick> + Clone {
        self.ticks.iter().map(|(_, tick)| tick)
    }

    /// The file for the next record: the one that was named, then others beside it; none once there
    /// are many.
    pub fn next_file(&mut self, named: &Path) -> Option<PathBuf> {
        let number = self.written;
        if number >= MOST {
            return None;
        }
        self.written += 1;
        if number == 0 {
            return Some(named.to_owned());
        }
        let stem = named.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let end = named.extension().map(|end| format!(".{}", end.to_string_lossy()));
        Some(named.with_file_name(format!("{stem}-{number}{}", end.unwrap_or_default())))
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
    fn records_stand_beside_each_other_and_are_not_endless() {
        let mut ring = Ring::new(1);
        let mut next = || ring.next_file(Path::new("/a/b.json"));
        assert_eq!(next(), Some("/a/b.json".into()));
        assert_eq!(next(), Some("/a/b-1.json".into()));
        assert_eq!(std::iter::from_fn(next).count(), 98);
    }
}
