//! Reading files whose path another user may control: in a program's folder on the PATH, or below
//! a root that a program names.
//!
//! Opening a pipe waits for a writer, and opening a terminal may make it the caller's controlling
//! terminal. So files are opened without waiting, and only regular files are read, up to a limit.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file for reading and follows links. Files of /proc and /sys are regular files.
///
/// # Errors
/// If it cannot be opened, or is a folder, a pipe, a socket or a device.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// The first `limit` bytes of a regular file, or all of a shorter one.
///
/// # Errors
/// As [`open_regular`], or if it cannot be read.
pub fn read_start(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, mknodat};
    use std::os::unix::net::UnixListener;

    #[test]
    fn nothing_but_a_regular_file_is_read_and_nothing_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let (pipe, socket) = (place.path().join("pipe"), place.path().join("socket"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let _listens = UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &socket, place.path(), Path::new("/dev/zero"), Path::new("/dev/tty")] {
            assert!(read_start(path, 8).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_file_is_read_up_to_the_limit_and_so_is_one_of_the_kernel() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        std::fs::write(&file, "12345").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert_eq!(read_start(&link, 2).unwrap(), b"12");
        assert_eq!(read_start(&file, 9).unwrap(), b"12345");
        assert_eq!(read_start(Path::new("/proc/self/comm"), 1).unwrap().len(), 1);
    }
}
