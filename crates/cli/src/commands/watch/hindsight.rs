//! `--ring`: the last intervals are kept in memory, and written when a finding begins.
//!
//! Whatever happens to a file, watch goes on: what could not be written is still in memory, and is
//! written later. And no file is replaced, since it may hold the incident that is looked for.

use super::record;
use super::session::Session;
use crate::output;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use watch::Tick;

/// Records that one run writes at most: a finding that comes and goes may not fill a disk.
const MOST: u32 = 100;

/// The last number that a record is given, over all runs: one that is started again and again may
/// not fill it either.
const LAST: u32 = 999;

/// After how long a record is tried again that could not be written.
const AGAIN: Duration = Duration::from_secs(5);

/// Keeps the last intervals, and writes what led to a finding.
pub struct Hindsight {
    ring: Ring,
    files: Files,
    /// When a record that could not be written is tried again.
    owed: Option<Instant>,
    has_said_enough: bool,
}

impl Hindsight {
    /// Keeps so many bytes at most, and writes to this file or others beside it.
    pub fn new(most_bytes: u64, file: &Path) -> Self {
        Hindsight {
            ring: Ring::new(most_bytes),
            files: Files::new(file),
            owed: None,
            has_said_enough: false,
        }
    }

    /// Adds an interval, and writes what there is where a finding or an incident has just begun,
    /// where somebody has asked for it, or where it could not be written before.
    pub fn add(&mut self, tick: Tick, session: &Session, has_begun: bool, asked: bool) {
        self.ring.add(tick);
        if asked || is_due(self.owed, has_begun, Instant::now()) {
            self.write(session);
        }
    }

    /// Tries a last time to write what could not be written.
    pub fn end(&mut self, session: &Session) {
        if self.owed.is_none() {
            return;
        }
        self.write(session);
        if self.owed.is_some() {
            output::complain(&format!(
                "--record {}: the last record could not be written and is lost",
                self.files.named.display()
            ));
        }
    }

    fn write(&mut self, session: &Session) {
        if self.files.written >= MOST {
            if !std::mem::replace(&mut self.has_said_enough, true) {
                output::complain(&format!(
                    "--ring: {MOST} records were written, the most of one run; start watch again \
                     for more"
                ));
            }
            return;
        }
        let live = session.view_of(self.ring.ticks());
        match self.files.write(&record::of(&live).to_json()) {
            Ok(path) => {
                self.owed = None;
                output::note(&format!("record: {}", path.display()));
            }
            Err(error) => {
                // Once, however long it lasts.
                if self.owed.is_none() {
                    output::complain(&format!(
                        "--record {}: {error}; the record stays in memory, and watch tries again \
                         every {} s",
                        self.files.named.display(),
                        AGAIN.as_secs()
                    ));
                }
                self.owed = Some(Instant::now() + AGAIN);
            }
        }
    }
}

/// Whether to write now. Where a record could not be written, it is not tried more often than that,
/// however many findings begin.
fn is_due(owed: Option<Instant>, has_begun: bool, now: Instant) -> bool {
    owed.map_or(has_begun, |at| now >= at)
}

/// The records of one run: new files, each beside those that are there.
struct Files {
    named: PathBuf,
    /// The number of the next one.
    next: u32,
    written: u32,
}

impl Files {
    fn new(named: &Path) -> Self {
        Files { named: named.to_owned(), next: 0, written: 0 }
    }

    /// Writes a record under the next name that is free; where it is.
    fn write(&mut self, text: &str) -> io::Result<PathBuf> {
        let mut number = self.next;
        let names = (self.next..=LAST).inspect(|taken| number = *taken);
        let names = names.map(|number| name(&self.named, number));
        let folder = crate::paths::folder_of(&self.named);
        let Some(name) = runner::create_text(text, &folder, names)? else {
            return Err(io::Error::other(format!(
                "no name up to {} is free, so older records have to be moved away",
                name(&self.named, LAST).to_string_lossy()
            )));
        };
        (self.next, self.written) = (number + 1, self.written + 1);
        Ok(self.named.with_file_name(name))
    }
}

/// The name of a record: the one that was asked for, then the same with a number.
fn name(named: &Path, number: u32) -> OsString {
    if number == 0 {
        return named.file_name().unwrap_or_default().to_owned();
    }
    let mut name = named.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(end) = named.extension() {
        name.push(".");
        name.push(end);
    }
    name
}

/// The last intervals, in bounded memory.
struct Ring {
    most_bytes: u64,
    bytes: u64,
    ticks: VecDeque<(u64, Tick)>,
}

impl Ring {
    /// Keeps so many bytes at most.
    fn new(most_bytes: u64) -> Self {
        Ring { most_bytes, bytes: 0, ticks: VecDeque::new() }
    }

    /// Adds an interval; the oldest make room.
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

    /// The intervals that are kept, the oldest first.
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
    fn records_stand_beside_each_other_and_beside_those_of_earlier_runs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut first = Files::new(&at("b.json"));
        assert_eq!(first.write("1").unwrap(), at("b.json"));
        assert_eq!(first.write("2").unwrap(), at("b-1.json"));
        std::fs::create_dir(at("b-2.json")).unwrap();
        let mut later = Files::new(&at("b.json"));
        assert_eq!(later.write("3").unwrap(), at("b-3.json"));
        assert_eq!(first.write("4").unwrap(), at("b-4.json"));
        assert_eq!((first.written, later.written), (3, 1));
        let read = |name| std::fs::read_to_string(at(name)).unwrap();
        assert_eq!(["b.json", "b-1.json", "b-3.json", "b-4.json"].map(read), ["1", "2", "3", "4"]);
        // They are not endless.
        later.next = LAST;
        assert_eq!(later.write("5").unwrap(), at("b-999.json"));
        let error = later.write("6").unwrap_err().to_string();
        assert!(error.contains("b-999.json"), "{error}");
        assert_eq!(name(Path::new("/a/b"), 7), "b-7");
    }

    #[test]
    fn what_could_not_be_written_is_tried_again_and_not_all_the_time() {
        let now = Instant::now();
        assert!(is_due(None, true, now) && !is_due(None, false, now));
        let owed = Some(now + AGAIN);
        assert!(!is_due(owed, true, now) && is_due(owed, false, now + AGAIN));
    }
}
