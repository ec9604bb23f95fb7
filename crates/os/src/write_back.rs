//! Writing the data of a file back to its disk before somebody waits for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Begins to write all dirty data of a file back, and does not wait for it: sync_file_range with
/// SYNC_FILE_RANGE_WRITE.
///
/// # Errors
/// If the kernel refuses, or if writing fails.
pub fn begin(file: impl AsFd) -> io::Result<()> {
    let number = file.as_fd().as_raw_fd();
    // SAFETY: the call takes only numbers, and the descriptor is open until it returns.
    let answer = unsafe { libc::sync_file_range(number, 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_a_file_with_data_can_be_written_back() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"data").unwrap();
        begin(&file).unwrap();
        let (pipe, _) = io::pipe().unwrap();
        assert!(begin(&pipe).is_err());
    }
}
