//! Loop devices: disks whose content is a file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The device that names free loop devices.
pub const CONTROL: &str = "/dev/loop-control";

/// How often another program may take the device in between.
const TRIES: u32 = 20;

/// The call by which [`CONTROL`] names a free device, or makes one.
const GET_FREE: u32 = 0x4c82;

/// The call that gives a device its content, since Linux 5.8.
const CONFIGURE: u32 = 0x4c0a;

/// The call that describes the device. That of a partition answers for the whole device.
const GET_STATUS: u32 = 0x4c05;

/// The device loses its content when nobody has it open and no file system on it is mounted.
const AUTOCLEAR: u32 = 4;

/// The kernel reads the partition table.
const PARTSCAN: u32 = 8;

/// Size of a sector, in bytes.
const SECTOR: u32 = 512;

/// The kernel's `loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    other_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl Info {
    const EMPTY: Info = Info {
        device: 0,
        inode: 0,
        other_device: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
}

/// The kernel's `loop_config`.
#[repr(C)]
struct Config {
    content: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<Config>() == 304);

/// A loop device with content. It ends when this value is dropped and no file system on it is
/// mounted, also if the process is killed.
#[derive(Debug)]
pub struct LoopDevice {
    /// The open device.
    file: File,
    path: PathBuf,
}

/// An open partition of a loop device. While it is open, no other disk gets its device number.
#[derive(Debug)]
pub struct Partition {
    path: PathBuf,
    _open: File,
}

impl Partition {
    /// The path of its device.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl LoopDevice {
    /// Makes a free loop device a disk with this content, and has the kernel read its partition
    /// table. Needs Linux 5.8.
    ///
    /// # Errors
    /// If the kernel refuses. The message names the device.
    pub fn attach(content: &File) -> io::Result<Self> {
        let control = open(Path::new(CONTROL))?;
        let mut tries = 0;
        loop {
            let number = free(&control).map_err(|error| named(Path::new(CONTROL), &error))?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let file = open(&path)?;
            match configure(&file, content) {
                Ok(()) => return Ok(LoopDevice { file, path }),
                // Another program took it in between.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries < TRIES => {
                    tries += 1;
                }
                Err(error) => return Err(named(&path, &error)),
            }
        }
    }

    /// The device.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Opens a partition, counted from 1.
    ///
    /// # Errors
    /// If it cannot be opened, or if its path leads to another disk: in a container, `/dev` may
    /// hold an old file of that name. The message names the path.
    pub fn partition(&self, number: u32) -> io::Result<Partition> {
        let path = PathBuf::from(format!("{}p{number}", self.path.display()));
        let opened = File::open(&path).and_then(|open| self.check_partition(open));
        let open = opened.map_err(|error| named(&path, &error))?;
        Ok(Partition { path, _open: open })
    }

    /// Refuses what is no partition of this device.
    fn check_partition(&self, open: File) -> io::Result<File> {
        if number_of(&open)? == number_of(&self.file)? {
            return Ok(open);
        }
        Err(io::Error::other("this is a partition of another loop device"))
    }
}

/// Checks that loop devices can be made. The kernel may load its module for them.
///
/// # Errors
/// If the kernel refuses.
pub fn check() -> io::Result<()> {
    open(Path::new(CONTROL)).map(drop)
}

/// The error with the path that it is about.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).open(path);
    file.map_err(|error| named(path, &error))
}

/// The number of a free loop device.
fn free(control: &File) -> io::Result<i32> {
    // SAFETY: this call takes no argument.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE as _) };
    if number < 0 { Err(io::Error::last_os_error()) } else { Ok(number) }
}

fn configure(device: &File, content: &File) -> io::Result<()> {
    let mut file_name = [0; 64];
    for (place, letter) in file_name.iter_mut().zip(b"tailback") {
        *place = *letter;
    }
    let info = Info { flags: AUTOCLEAR | PARTSCAN, file_name, ..Info::EMPTY };
    let content = content.as_raw_fd().cast_unsigned();
    let config = Config { content, block_size: SECTOR, info, reserved: [0; 8] };
    // SAFETY: the call reads a structure of this type, which lives until it returns.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE as _, &raw const config) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The number of the loop device that is open, or of which a partition is open.
fn number_of(device: &File) -> io::Result<u32> {
    let mut info = Info::EMPTY;
    // SAFETY: the call fills a structure of this type, which lives until it returns.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), GET_STATUS as _, &raw mut info) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(info.number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_loop_device_gets_no_content() {
        let file = tempfile::tempfile().unwrap();
        assert!(configure(&file, &file).is_err() && free(&file).is_err());
    }

    #[test]
    fn only_a_partition_of_the_device_itself_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let device = |name: &str| LoopDevice {
            file: tempfile::tempfile().unwrap(),
            path: folder.path().join(name),
        };
        let missing = device("loop7").partition(1).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        std::fs::write(folder.path().join("loop7p1"), "no partition").unwrap();
        let other = device("loop7").partition(1).unwrap_err().to_string();
        assert!(other.contains("/loop7p1: "), "{other}");
        // A null device answers no question about loop devices either.
        assert!(number_of(&File::open("/dev/null").unwrap()).is_err());
    }

    #[test]
    fn an_error_names_its_device() {
        let error = open(Path::new("/nowhere/loop7")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().starts_with("/nowhere/loop7: "), "{error}");
    }
}
