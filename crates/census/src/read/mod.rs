//! Reads files, archives and lines in one pass.
//!
//! One thread finds files and cuts long ones into blocks; others parse them. The calling thread
//! folds the results in the order in which they were found, so that the same files give the same
//! census. Whatever the files hold, only a few blocks are in memory at once.

mod blocks;
mod entries;
mod error;
mod find;
mod host;
mod item;
mod room;
mod source;
mod unpack;
mod work;

pub use error::CensusError;
pub use host::run_file;

use crate::file_host::{FileHost, Given};
use crate::fleet::Fleet;
use crate::options::Options;
use crate::parse::{Reader, Turns};
use crate::trials::Keeper;
use find::{Finder, Shared};
use item::Job;
use room::Room;
use source::Source;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use work::{Done, Part};

/// Most jobs that wait for a thread.
const WAITING: usize = 4;

/// Bytes of memory that parsing takes for each byte of a record whose trials are wanted.
const WITH_TRIALS: u64 = 4;

/// The progress of reading.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Records, valid or not.
    pub records: u64,
    /// Bytes of JSON.
    pub bytes: u64,
}

/// Reads everything in these paths; `-` is standard input. `progress` is called from time to
/// time.
///
/// # Errors
/// If one of the paths cannot be opened, or trials cannot be stored. A bad file in a folder, or a
/// bad line, is only counted in the fleet.
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
    let (ended, room) = (AtomicBool::new(false), Room::default());
    let turns = Turns::default();
    let threads = options.threads.max(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (to_fold, work, kinds, ended) = (to_fold.clone(), &work, &kinds, &ended);
            let turns = &turns;
            scope.spawn(move || {
                let mut reader = Reader::new(&options, kinds, turns);
                reader.share(threads);
                while let Some(job) = next(work) {
                    // The receiver closes early only when reading has ended.
                    if !ended.load(Ordering::Relaxed) {
                        let _ = to_fold.send(work::done(job, &mut reader));
                    }
                }
            });
        }
        drop(to_fold);
        let weight = if options.trials.is_some() { WITH_TRIALS } else { 1 };
        let shared = Shared { ended: &ended, room: &room, hashing: options.hashing, weight };
        let finder = scope.spawn(move || Finder::new(to_work, shared).find(paths));
        let folded = fold(&mut fleet, &found, &room, options.trials, progress);
        // If folding failed, this flag and the closed receiver make the other threads end.
        ended.store(true, Ordering::Relaxed);
        room.close();
        drop(found);
        finder.join().unwrap_or(Ok(()))?;
        folded
    })?;
    Ok(fleet)
}

/// Reads bytes like a file with this name, obtained in this way. No thread is started.
pub fn read_bytes(bytes: &[u8], name: &str, given: Given, options: Options) -> Fleet {
    let mut fleet = Fleet::new(options.scenarios, options.now);
    let kinds = Arc::clone(&fleet.kinds);
    let turns = Turns::default();
    let mut reader = Reader::new(&options, &kinds, &turns);
    let mut folding = Folding::new(options.trials);
    let hashing = options.hashing;
    let file_host: Arc<FileHost> =
        FileHost::new(&host::host_of(Path::new(name)), given, hashing).into();
    let name = match given {
        Given::Found => host::shown(name, hashing),
        Given::Named => name.to_owned(),
    };
    let source = Source { name: &name, file_host, hashing };
    blocks::stream(&mut &bytes[..], &source, &mut |item| {
        let done = work::done(Job { place: 0, items: vec![item], room: 0 }, &mut reader);
        // Errors occur only with a file for the trials.
        let _ = done.parts.into_iter().try_for_each(|part| folding.fold(&mut fleet, part));
    });
    fleet
}

fn next(work: &Mutex<Receiver<Job>>) -> Option<Job> {
    work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Folds the results in the order of their jobs.
fn fold(
    fleet: &mut Fleet,
    found: &Receiver<Done>,
    room: &Room,
    trials: Option<&File>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), CensusError> {
    let mut early: BTreeMap<u64, Done> = BTreeMap::new();
    let mut folding = Folding::new(trials);
    let mut next = 0;
    while let Ok(done) = found.recv() {
        early.insert(done.place, done);
        while let Some(done) = early.remove(&next) {
            next += 1;
            let taken = done.room;
            done.parts.into_iter().try_for_each(|part| folding.fold(fleet, part))?;
            room.release(taken);
            progress(folding.so_far);
        }
    }
    Ok(())
}

/// The state of folding the current file.
struct Folding<'a> {
    trials: Option<Keeper<'a>>,
    lines: u32,
    so_far: Progress,
}

impl<'a> Folding<'a> {
    fn new(trials: Option<&'a File>) -> Self {
        Folding { trials: trials.map(Keeper::new), lines: 0, so_far: Progress::default() }
    }

    fn fold(&mut self, fleet: &mut Fleet, part: Part) -> Result<(), CensusError> {
        if let Some(begin) = &part.begins {
            fleet.begin(&begin.name, begin.is_file);
            self.lines = 0;
        }
        self.so_far.bytes += part.bytes;
        let begun = self.lines;
        let line = |line: u32| if line == 0 { 0 } else { begun.saturating_add(line) };
        for (of, answer) in part.found.answers {
            self.so_far.records += 1;
            let Some(file_host) = &part.file_host else { continue };
            let span = match (&mut self.trials, &answer.trials) {
                (Some(keeper), Some(packed)) => {
                    Some(keeper.keep(packed).map_err(CensusError::Trials)?)
                }
                _ => None,
            };
            fleet.add_record(answer, file_host, line(of), span);
        }
        for (why, (count, lines)) in part.found.failed {
            self.so_far.records += count;
            fleet.set_aside(why, count, lines.into_iter().map(line));
        }
        self.lines = self.lines.saturating_add(part.lines);
        Ok(())
    }
}
