//! Finds files and hands them out as jobs.

use super::error::CensusError;
use super::item::{Begin, Item, Job, open, open_named};
use super::room::Room;
use super::source::Source;
use super::{blocks, host};
use crate::file_host::{FileHost, Given, Hashing};
use model::census::Why;
use std::ffi::OsString;
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

/// Files of at least this many bytes are cut into blocks.
pub(super) const LARGE: u64 = 4 << 20;

/// Most small files in a job.
const MOST_FILES: usize = 128;

/// A job of at least this many bytes is handed out.
const ENOUGH: usize = 1 << 20;

/// Most levels of nested folders.
const DEEPEST: usize = 32;

/// Most bytes that are read of a file in a folder, which holds the records of one host. A sparse
/// file may have any size, and a file that grows while it is read has no end.
const MOST_OF_HOST: u64 = 4 << 30;

/// State that the finder shares with the parsing threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'a> {
    /// Whether reading has ended.
    pub(super) ended: &'a AtomicBool,
    pub(super) room: &'a Room,
    /// The hash of host names.
    pub(super) hashing: Option<Hashing<'a>>,
    /// Bytes of memory that parsing takes for each byte of text.
    pub(super) weight: u64,
}

/// Finds files and hands out the jobs.
pub(super) struct Finder<'a> {
    jobs: SyncSender<Job>,
    place: u64,
    items: Vec<Item>,
    bytes: usize,
    shared: Shared<'a>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(jobs: SyncSender<Job>, shared: Shared<'a>) -> Self {
        Finder { jobs, place: 0, items: Vec::new(), bytes: 0, shared }
    }

    /// Hands out everything in these paths.
    pub(super) fn find(mut self, paths: &[PathBuf]) -> Result<(), CensusError> {
        for path in paths {
            self.named(path).map_err(|source| CensusError::Named { path: path.clone(), source })?;
        }
        self.give();
        Ok(())
    }

    /// Reads a path that the user named, whatever its name is. A link is followed.
    fn named(&mut self, path: &Path) -> std::io::Result<()> {
        if path.as_os_str() == "-" {
            self.stream(&mut std::io::stdin(), "-", self.file_host("-", Given::Named));
            return Ok(());
        }
        let real = std::fs::canonicalize(path)?;
        if real.is_dir() {
            std::fs::read_dir(&real)?;
            self.folder(path, Path::new(""), 0);
        } else {
            // The file is opened here, so that a failure is an error and not only counted.
            let mut file = open_named(&real)?;
            let host = host::host_of(Path::new(path.file_name().unwrap_or_default()));
            let file_host = self.file_host(&host, Given::Named);
            self.stream(&mut file, &path.display().to_string(), file_host);
        }
        Ok(())
    }

    /// The files of a folder in the order of their names. Links are not followed.
    fn folder(&mut self, top: &Path, below: &Path, depth: usize) {
        let (names, is_whole) = list(&top.join(below));
        if !is_whole {
            self.unread(top, below);
        }
        for (name, is_folder) in names {
            if self.shared.ended.load(Ordering::Relaxed) {
                return;
            }
            let below = below.join(&name);
            if is_folder && depth < DEEPEST {
                self.folder(top, &below, depth + 1);
            } else if is_folder {
                self.unread(top, &below);
            } else {
                let path = top.join(&below);
                let is_packed = host::is_packed(&below);
                let size = || std::fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
                // A packed file is streamed whatever its size, so only the size of other files is
                // read.
                let size = if is_packed { LARGE } else { size() };
                let file_host = self.file_host(&host::host_of(&below), Given::Found);
                let name = self.shown(top, &below);
                self.file(path, name, file_host, size);
            }
        }
    }

    /// Reports a folder that was not read, or not to its end.
    fn unread(&mut self, top: &Path, below: &Path) {
        let begins = Some(Begin::file(&self.shown(top, below)));
        self.add(Item::Failed { begins, why: Why::Unreadable }, 0);
    }

    /// The name of a file below a named folder, as it is shown.
    fn shown(&self, top: &Path, below: &Path) -> String {
        let below = host::shown(&below.to_string_lossy(), self.shared.hashing);
        top.join(below).display().to_string()
    }

    fn file_host(&self, host: &str, given: Given) -> Arc<FileHost> {
        FileHost::new(host, given, self.shared.hashing).into()
    }

    fn file(&mut self, path: PathBuf, name: String, file_host: Arc<FileHost>, size: u64) {
        if size < LARGE {
            return self.add(Item::File { path, name, file_host }, size as usize);
        }
        match open(&path) {
            Ok(mut file) => self.stream(&mut file, &name, file_host),
            Err(_) => {
                let begins = Some(Begin::file(&name));
                self.add(Item::Failed { begins, why: Why::Unreadable }, 0);
            }
        }
    }

    fn stream(&mut self, bytes: &mut dyn Read, name: &str, file_host: Arc<FileHost>) {
        let left = if file_host.is_alone() { MOST_OF_HOST } else { u64::MAX };
        let mut bytes = UntilEnded { bytes, ended: self.shared.ended, left };
        let source = Source { name, file_host, hashing: self.shared.hashing };
        blocks::stream(&mut bytes, &source, &mut |item| {
            let bytes = if let Item::Text(text) = &item { text.bytes.len() } else { 0 };
            self.add(item, bytes);
        });
    }

    fn add(&mut self, item: Item, bytes: usize) {
        self.items.push(item);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.items.len() >= MOST_FILES || self.bytes >= ENOUGH {
            self.give();
        }
    }

    fn give(&mut self) {
        let room = self.shared.weight.saturating_mul(std::mem::take(&mut self.bytes) as u64);
        let items = std::mem::take(&mut self.items);
        if !items.is_empty() {
            self.shared.room.reserve(room);
            // The receiver closes only after folding has ended.
            let _ = self.jobs.send(Job { place: self.place, items, room });
            self.place += 1;
        }
    }
}

/// The folders and the wanted files in a folder, in the order of their names, and whether these
/// are all of them.
fn list(folder: &Path) -> (Vec<(OsString, bool)>, bool) {
    let Ok(entries) = std::fs::read_dir(folder) else { return (Vec::new(), false) };
    let mut names = Vec::new();
    let mut is_whole = true;
    for entry in entries {
        let Ok(entry) = entry else {
            is_whole = false;
            break;
        };
        // What has gone meanwhile has no type.
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_dir() || kind.is_file() && host::is_wanted(Path::new(&name)) {
            names.push((name, kind.is_dir()));
        }
    }
    names.sort_unstable();
    (names, is_whole)
}

/// A source that ends when reading has ended. More bytes than `left` are an error.
struct UntilEnded<'a, R> {
    bytes: R,
    ended: &'a AtomicBool,
    left: u64,
}

impl<R: Read> Read for UntilEnded<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if self.ended.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let more = self.bytes.read(bytes)?;
        let left = self.left.checked_sub(more as u64);
        self.left = left.ok_or_else(|| Error::from(ErrorKind::FileTooLarge))?;
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_an_error() {
        let ended = AtomicBool::new(false);
        let mut read = Vec::new();
        let mut endless = UntilEnded { bytes: std::io::repeat(b'x'), ended: &ended, left: 1000 };
        let error = endless.read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(read.len() <= 1000, "{}", read.len());
        let text = [b'x'; 1000];
        let mut short = UntilEnded { bytes: &text[..], ended: &ended, left: 1000 };
        assert_eq!(short.read_to_end(&mut read).unwrap(), 1000);
    }
}
