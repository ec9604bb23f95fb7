//! The two file systems of a trial: on the partitions of one disk in memory, and mounted where no
//! other program sees them.

use super::failure::{broken, refused};
use host::memory_disk::{MemoryDisk, mount};
use load::protocol::Failure;
use os::child::{Child, describe};
use os::death;
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::Signal;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Size of a partition, in bytes. A round of 8 MiB, the victim's file and the journal fit into it.
const PARTITION: u64 = 47 << 20;

/// Size of the whole disk, in bytes, rounded up.
pub(super) const DISK: u64 = 2 * PARTITION + (2 << 20);

/// The kind of the file systems.
pub(super) const EXT4: &str = "ext4";

/// The options of mkfs.ext4. Without them, the size of a block depends on that of the disk, and the
/// kernel would still write tables of the file system during the trial.
const OPTIONS: [&str; 8] = [
    "-q",
    "-F",
    "-b",
    "4096",
    "-J",
    "size=8",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
];

/// How long mkfs.ext4 may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Most bytes of each output of mkfs.ext4 that are kept.
const MOST: usize = 16 << 10;

/// Two file systems on one disk. They end when nobody has them open.
pub(super) struct FileSystems {
    /// That of the victim.
    pub(super) first: OwnedFd,
    /// The other one.
    pub(super) second: OwnedFd,
    /// The device of the victim's file system.
    pub(super) device: PathBuf,
    disk: MemoryDisk,
}

impl FileSystems {
    /// Makes the disk, and mounts both file systems. `mkfs` is the path of mkfs.ext4.
    pub(super) fn make(mkfs: &Path) -> Result<Self, Failure> {
        let disk = MemoryDisk::create(PARTITION);
        let disk = disk.map_err(|error| refused("a loop device cannot be made", &error))?;
        let made = |number: u32| -> Result<_, Failure> {
            let opened = disk.partition(number);
            let partition =
                opened.map_err(|error| refused("a partition cannot be opened", &error))?;
            let device = partition.path();
            format(mkfs, device)?;
            let what = format!("{} cannot be mounted", device.display());
            let mounted = mount(device, EXT4).map_err(|error| refused(what, &error))?;
            Ok((device.to_owned(), mounted))
        };
        let (device, first) = made(1)?;
        let (_, second) = made(2)?;
        Ok(FileSystems { first, second, device, disk })
    }

    /// The numbers by which a control group names the disk.
    pub(super) fn disk(&self) -> Result<String, Failure> {
        self.disk.numbers().map_err(|error| refused("the loop device", &error))
    }

    /// Makes an empty file on the victim's file system.
    pub(super) fn file(&self, name: &str) -> Result<File, Failure> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = openat(&self.first, name, flags, Mode::from_raw_mode(0o600));
        made.map(File::from).map_err(|error| refused(name, &error.into()))
    }
}

/// A path by which a process that has this descriptor reaches a file system.
pub(super) fn path_of(mounted: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", mounted.as_raw_fd()).into()
}

/// Makes a file system on a partition. The caller keeps the partition open, so that the path cannot
/// become that of another disk meanwhile.
fn format(mkfs: &Path, partition: &Path) -> Result<(), Failure> {
    let mut command = Command::new(mkfs);
    command.args(OPTIONS).arg(partition);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    death::bind(&mut command, Signal::KILL);
    let started = command.spawn().map_err(|error| refused(mkfs.display(), &error))?;
    let ran = Child::alone(started).run_to_end(MOST, Instant::now() + LIMIT, &|| false);
    let ran = ran.map_err(|error| refused(mkfs.display(), &error))?;
    if ran.status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&ran.stderr);
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    let why = match (ran.status, last) {
        (None, _) => format!("did not end within {LIMIT:?}"),
        (Some(_), Some(line)) => line.trim().to_owned(),
        (status, None) => describe(status),
    };
    Err(broken(format!("{} {}: {why}", mkfs.display(), partition.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_makes_no_file_system_is_named_with_its_words() {
        let tree = testing::Tree::new(&[("folder", "")]);
        let program = tree.path("mkfs");
        testing::write_program(&program, "#!/bin/sh\necho mkfs: no room >&2\nexit 1\n");
        let failure = format(&program, Path::new("/dev/loop9p1")).unwrap_err();
        assert!(failure.what.ends_with("mkfs /dev/loop9p1: mkfs: no room"), "{}", failure.what);
        testing::write_program(&program, "#!/bin/sh\nexit 3\n");
        let failure = format(&program, Path::new("/dev/loop9p1")).unwrap_err();
        assert!(failure.what.ends_with("ended with exit code 3"), "{}", failure.what);
        testing::write_program(&program, "#!/bin/sh\nexit 0\n");
        assert!(format(&program, Path::new("/dev/loop9p1")).is_ok());
        let failure = format(Path::new("/nowhere/mkfs"), Path::new("/x")).unwrap_err();
        assert!(failure.what.starts_with("/nowhere/mkfs: "), "{}", failure.what);
    }

    #[test]
    fn an_open_folder_is_reached_by_its_descriptor() {
        let tree = testing::Tree::new(&[("file", "text")]);
        let folder = OwnedFd::from(File::open(tree.root()).unwrap());
        assert_eq!(std::fs::read_to_string(path_of(&folder).join("file")).unwrap(), "text");
    }
}
