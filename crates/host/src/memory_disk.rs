//! A disk in memory with two partitions, and file systems on it that only this process and its
//! children can reach.
//!
//! The disk is a loop device whose content is memory. A file system on it is mounted without a
//! place in the file tree, so no other program sees it. All of it ends with the last process that
//! has it open, also if that process is killed. So there is nothing to restore.

use os::loop_device::{LoopDevice, Partition};
use rustix::fs::{major, minor};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Size of a sector, in bytes.
const SECTOR: u64 = 512;

/// The first sector of the first partition: 1 MiB.
const FIRST: u32 = 2048;

/// The type of a partition for Linux.
const LINUX: u8 = 0x83;

/// The offset of the first entry in a partition table, and the size of an entry, in bytes.
const ENTRIES: usize = 446;
const ENTRY: usize = 16;

/// A disk in memory with two partitions of the same size.
#[derive(Debug)]
pub struct MemoryDisk {
    device: LoopDevice,
}

impl MemoryDisk {
    /// Makes a disk with two partitions of this many bytes. They take memory as they are written.
    /// Needs root and Linux 5.8.
    ///
    /// # Errors
    /// If the kernel refuses. The message names the device.
    pub fn create(partition_bytes: u64) -> io::Result<Self> {
        let sectors = u32::try_from(partition_bytes / SECTOR)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let content = os::memory_file::create("tailback-disk")?;
        content.set_len((u64::from(FIRST) + 2 * u64::from(sectors)) * SECTOR)?;
        content.write_all_at(&partition_table(sectors), 0)?;
        Ok(MemoryDisk { device: LoopDevice::attach(&content)? })
    }

    /// The numbers by which a control group names the disk: `7:0`.
    ///
    /// # Errors
    /// If the device cannot be looked at.
    pub fn numbers(&self) -> io::Result<String> {
        let device = self.device.file().metadata()?.rdev();
        Ok(format!("{}:{}", major(device), minor(device)))
    }

    /// Opens a partition, counted from 1.
    ///
    /// # Errors
    /// If it cannot be opened, or if its path leads to another disk. The message names the path.
    pub fn partition(&self, number: u32) -> io::Result<Partition> {
        self.device.partition(number)
    }
}

/// The first sector of a disk with two partitions of this many sectors.
fn partition_table(sectors: u32) -> [u8; SECTOR as usize] {
    let mut table = [0; SECTOR as usize];
    let firsts = [FIRST, FIRST.saturating_add(sectors)];
    for (entry, first) in table[ENTRIES..].chunks_exact_mut(ENTRY).zip(firsts) {
        // The old addresses (head, cylinder) stay zero. Linux does not read them.
        entry[4] = LINUX;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..16].copy_from_slice(&sectors.to_le_bytes());
    }
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    table
}

/// Checks that file systems of this kind can be mounted without a place in the file tree. The
/// kernel may load its module for them.
///
/// # Errors
/// If the kernel refuses: it has no such file system, is older than Linux 5.2, or the caller may
/// not mount.
pub fn check_kind(kind: &str) -> io::Result<()> {
    fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    Ok(())
}

/// Mounts the file system of a device without a place in the file tree. Its files are opened
/// below the returned descriptor. The mount ends when nobody has the descriptor or a file on it
/// open.
///
/// # Errors
/// If the kernel refuses.
pub fn mount(device: &Path, kind: &str) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "source", device)?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_partitions_stand_in_the_table_one_after_the_other() {
        let table = partition_table(4096);
        let number = |at: usize| u32::from_le_bytes(table[at..at + 4].try_into().unwrap());
        assert_eq!((table[450], table[466], table[482]), (LINUX, LINUX, 0));
        assert_eq!((number(454), number(458)), (2048, 4096));
        assert_eq!((number(470), number(474)), (6144, 4096));
        assert_eq!(table[510..], [0x55, 0xaa]);
    }

    #[test]
    fn what_is_too_large_for_a_table_is_refused() {
        let error = MemoryDisk::create(u64::MAX).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_kind_that_no_kernel_has_cannot_be_mounted() {
        assert!(check_kind("no-such-file-system").is_err());
        assert!(mount(Path::new("/nowhere"), "no-such-file-system").is_err());
    }
}
