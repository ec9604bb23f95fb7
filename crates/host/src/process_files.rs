//! Files of a process that another user runs: its data in /proc, the program that it executes,
//! and the files that it has mapped.
//!
//! No path that the process could have chosen is followed. Its folder in /proc is held open, so
//! that a later process with the same pid is not mistaken for it. The program and the mapped
//! files are reached through the kernel's own links. They are first opened with `O_PATH`, which
//! does not open the file itself, so that a device or a pipe is never really opened.

use crate::roots::Roots;
use os::stat::Stat;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// The largest file that is opened, in bytes.
pub const MOST_BYTES: u64 = 1 << 30;

/// Most bytes of `stat` that are read.
const STAT: u64 = 1_024;

/// The text that `maps` appends to the name of a deleted file.
const DELETED: &str = " (deleted)";

/// A mapping of a file, as `maps` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MappedFile {
    /// Start address.
    pub from: u64,
    /// End address.
    pub to: u64,
    /// The inode number of the file.
    pub inode: u64,
    /// Its path; the process may have put another file there since.
    pub path: String,
}

impl MappedFile {
    /// Parses a line of `maps`; None if the line has no mapped file.
    pub fn of_line(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (from, to) = words.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (from, to) = (number(from)?, number(to)?);
        let inode = words.nth(3)?.parse().ok()?;
        let path = words.next()?.trim_start();
        let is_file = path.starts_with('/') && to > from;
        is_file.then(|| MappedFile { from, to, inode, path: path.to_owned() })
    }
}

/// The folder of one process in /proc.
#[derive(Debug)]
pub struct ProcessFiles(OwnedFd);

/// Start time of a process, in clock ticks after boot; it distinguishes two processes with the
/// same pid.
pub fn started(roots: &Roots, pid: u32) -> Option<u64> {
    ProcessFiles::open(roots, pid).ok()?.started()
}

impl ProcessFiles {
    /// Opens the folder of a process.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn open(roots: &Roots, pid: u32) -> Result<Self, Errno> {
        let path = roots.proc.join(pid.to_string());
        openat(CWD, &path, FOLDER, Mode::empty()).map(ProcessFiles)
    }

    /// Start time of the process, in clock ticks after boot.
    pub fn started(&self) -> Option<u64> {
        let stat = self.read("stat", STAT)?;
        Stat::parse(&stat)?.started()
    }

    /// The first `most` bytes of a file in the folder; None if it cannot be read, or is no file.
    pub fn read(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        let flags = READ | OFlags::NOFOLLOW;
        let file = openat(&self.0, name, flags, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        File::from(file).take(most).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The thread ids, at most `most`.
    pub fn threads(&self, most: usize) -> Vec<u32> {
        let Ok(folder) = openat(&self.0, "task", FOLDER_READ, Mode::empty()) else {
            return Vec::new();
        };
        let Ok(entries) = rustix::fs::Dir::new(folder) else { return Vec::new() };
        let numbers =
            entries.flatten().filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok());
        numbers.take(most).collect()
    }

    /// The program that the process executes.
    pub fn program(&self) -> Option<File> {
        regular(&openat(&self.0, "exe", LOOK, Mode::empty()).ok()?, None)
    }

    /// A file that the process has mapped.
    pub fn mapped(&self, mapping: &MappedFile) -> Option<File> {
        let link = format!("map_files/{:x}-{:x}", mapping.from, mapping.to);
        match openat(&self.0, link.as_str(), LOOK, Mode::empty()) {
            Ok(file) => regular(&file, None),
            // Only a process with CAP_CHECKPOINT_RESTORE may follow these links.
            Err(Errno::PERM | Errno::ACCESS) => self.by_name(mapping),
            Err(_) => None,
        }
    }

    /// Opens a mapped file by its path below the process's root, without links that leave this
    /// root.
    fn by_name(&self, mapping: &MappedFile) -> Option<File> {
        if mapping.path.ends_with(DELETED) {
            return None;
        }
        let root = openat(&self.0, "root", FOLDER, Mode::empty()).ok()?;
        let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(&root, mapping.path.as_str(), LOOK, Mode::empty(), within).ok()?;
        regular(&file, Some(mapping.inode))
    }
}

/// Flags to open a folder for lookups.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FOLDER_READ: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags to examine a file without opening it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Flags to read a file that may turn out to be something else.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens an examined file for reading, if it is a regular file, is not too large, and has the
/// given inode number, if any.
fn regular(looked: &OwnedFd, inode: Option<u64>) -> Option<File> {
    let about = statat(looked, "", AtFlags::EMPTY_PATH).ok()?;
    let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
    let fits = u64::try_from(about.st_size).is_ok_and(|size| size <= MOST_BYTES);
    if !is_file || !fits || inode.is_some_and(|inode| inode != about.st_ino) {
        return None;
    }
    reopen(looked).ok()
}

fn reopen(looked: &OwnedFd) -> Result<File, Errno> {
    let link = format!("/proc/self/fd/{}", looked.as_fd().as_raw_fd());
    openat(CWD, Path::new(&link), READ, Mode::empty()).map(File::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn this() -> ProcessFiles {
        ProcessFiles::open(&Roots::real(), std::process::id()).unwrap()
    }

    /// The first mapping of the program of this process, as in `maps`.
    fn first() -> MappedFile {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let code = maps.lines().filter(|line| line.contains(" r-xp "));
        code.filter_map(MappedFile::of_line).next().unwrap()
    }

    #[test]
    fn the_program_of_a_process_is_the_file_that_it_executes() {
        let program = this().program().unwrap().metadata().unwrap();
        let wanted = std::fs::metadata("/proc/self/exe").unwrap();
        assert_eq!((program.dev(), program.ino()), (wanted.dev(), wanted.ino()));
        assert!(this().started().is_some());
    }

    #[test]
    fn a_mapped_file_is_found_by_the_kernels_link_and_by_its_name() {
        let (files, mapping) = (this(), first());
        let wanted = std::fs::metadata(&mapping.path).unwrap().ino();
        let inode = |file: Option<File>| file.unwrap().metadata().unwrap().ino();
        assert_eq!(inode(files.mapped(&mapping)), wanted);
        assert_eq!(inode(files.by_name(&mapping)), wanted);
    }

    #[test]
    fn a_name_that_means_another_file_by_now_is_refused() {
        let files = this();
        let place = tempfile::tempdir().unwrap();
        let named = |name: &str, inode| {
            let path = place.path().join(name).display().to_string();
            files.by_name(&MappedFile { from: 1, to: 2, inode, path })
        };
        std::fs::write(place.path().join("t.so"), "x").unwrap();
        let inode = std::fs::metadata(place.path().join("t.so")).unwrap().ino();
        assert!(named("t.so", inode).is_some());
        assert!(named("t.so", inode + 1).is_none());
        // The name that `maps` prints for an unlinked file, here made as a link by another user.
        std::os::unix::fs::symlink("t.so", place.path().join("t.so (deleted)")).unwrap();
        assert!(named("t.so (deleted)", inode).is_none());
        // A kernel link that leaves every root.
        std::os::unix::fs::symlink("/proc/self/exe", place.path().join("exe")).unwrap();
        assert!(named("exe", std::fs::metadata("/proc/self/exe").unwrap().ino()).is_none());
    }

    #[test]
    fn pipes_devices_and_folders_are_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let process = place.path().join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let roots = Roots::at(place.path());
        let (pipe, exe) = (place.path().join("pipe"), process.join("exe"));
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        for target in [pipe.as_path(), Path::new("/dev/zero"), place.path()] {
            let _ = std::fs::remove_file(&exe);
            std::os::unix::fs::symlink(target, &exe).unwrap();
            let files = ProcessFiles::open(&roots, 7).unwrap();
            assert!(files.program().is_none(), "{}", target.display());
        }
        let large = File::create(place.path().join("large")).unwrap();
        large.set_len(MOST_BYTES + 1).unwrap();
        std::fs::remove_file(&exe).unwrap();
        std::os::unix::fs::symlink(place.path().join("large"), &exe).unwrap();
        assert!(ProcessFiles::open(&roots, 7).unwrap().program().is_none());
    }
}
