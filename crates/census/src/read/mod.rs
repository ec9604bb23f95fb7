//! Reads files, archives and lines in one pass.
//!
//! One thread finds files and cuts long ones into blocks, others parse them, and this one folds
//! what they found, in the order in which it was found: the same files give the same census.
//! Whatever the files hold, a few blocks are in memory at once.

mod blocks;
mod error;
mod find;
mod host;
mod item;
mod work;

pub use error::CensusError;

use crate::fleet::{Fleet, Where};
use crate::parse::Reader;
use find::Finder;
use item::Job;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use work::{Done, Part};

/// Jobs that wait for a thread, at most.
const WAITING: usize = 4;

/// What is read, and by how many threads.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The scenarios that count.
    pub scenarios: &'a [&'a str],
    /// Now, in seconds since 1970.
    pub now: i64,
    /// Threads that parse.
    pub threads: usize,
}

/// How far reading went.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Records, whole or not.
    pub records: u64,
    /// Bytes of JSON.
    pub bytes: u64,
}

/// Reads all that these paths hold; `-` is standard input. `progress` is called now and then.
///
/// # Errors
/// If one of them cannot be opened. What is wrong with a file in a folder, or with a line, is
/// counted in the fleet.
pub fn read(
    paths: &[PathBuf],
    options: Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Fleet, CensusError> {
    let mut fleet = Fleet::new(options.scenarios, options.now);
    let kinds = Arc::clone(&fleet.kinds);
    let (to_work, work) = sync_channel::<Job>(WAITING);
    let (to_fold, found) = sync_channel::<Done>(WAITING);
    let work = Mutex::new(work);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            let (to_fold, work, kinds) = (to_fold.clone(), &work, &kinds);
            scope.spawn(move || {
                let mut reader = Reader::new(options.scenarios, kinds);
                while let Some(job) = next(work) {
                    if to_fold.send(work::done(job, &mut reader)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(to_fold);
        let finder = scope.spawn(move || Finder::new(to_work).find(paths));
        fold(&mut fleet, &found, progress);
        finder.join().unwrap_or(Ok(()))
    })?;
    Ok(fleet)
}

/// Reads bytes as a file of this name would be, without a thread.
pub fn read_bytes(bytes: &[u8], name: &str, options: Options) -> Fleet {
    let mut fleet = Fleet::new(options.scenarios, options.now);
    let kinds = Arc::clone(&fleet.kinds);
    let mut reader = Reader::new(options.scenarios, &kinds);
    let mut folding = Folding::default();
    blocks::stream(bytes, name, name, &mut |item| {
        let done = work::done(Job { place: 0, items: vec![item] }, &mut reader);
        done.parts.into_iter().for_each(|part| folding.take(&mut fleet, part));
    });
    fleet
}

fn next(work: &Mutex<Receiver<Job>>) -> Option<Job> {
    work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Folds what was found, in its order.
fn fold(fleet: &mut Fleet, found: &Receiver<Done>, progress: &mut dyn FnMut(Progress)) {
    let mut early: BTreeMap<u64, Done> = BTreeMap::new();
    let mut folding = Folding::default();
    let mut next = 0;
    while let Ok(done) = found.recv() {
        early.insert(done.place, done);
        while let Some(done) = early.remove(&next) {
            next += 1;
            done.parts.into_iter().for_each(|part| folding.take(fleet, part));
            progress(folding.so_far);
        }
    }
}

/// The file that is being folded.
#[derive(Default)]
struct Folding {
    source: u32,
    lines: u32,
    so_far: Progress,
}

impl Folding {
    fn take(&mut self, fleet: &mut Fleet, part: Part) {
        if let Some(name) = &part.begins {
            self.source = fleet.source(name, part.is_file);
            self.lines = 0;
        }
        self.so_far.bytes += part.bytes;
        let begun = self.lines;
        let line = |line: u32| if line == 0 { 0 } else { begun.saturating_add(line) };
        let place = |source: u32, of: u32| Where { source, line: line(of) };
        for (of, answer) in part.found.answers {
            self.so_far.records += 1;
            match line(of) {
                0 => fleet.take(answer, &part.host, place(self.source, of)),
                number => {
                    fleet.take(answer, &format!("{}:{number}", part.host), place(self.source, of));
                }
            }
        }
        for (why, (count, lines)) in part.found.failed {
            self.so_far.records += count;
            let places = lines.into_iter().map(|of| place(self.source, of));
            fleet.set_aside(why, count, places);
        }
        self.lines = self.lines.saturating_add(part.lines);
    }
}
