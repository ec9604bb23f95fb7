//! What the kernel counts about the journal of a mounted file system.

use std::path::Path;

/// The folder with a folder for each journal.
const JOURNALS: &str = "/proc/fs/jbd2";

/// The inode of a journal that is in its file system.
const INODE: u32 = 8;

/// Most bytes that are read of the file; it has some hundred.
const MOST: u64 = 16 << 10;

/// How long a transaction of the journal on this device was locked, in milliseconds: the mean of
/// all transactions since the file system was mounted. A locked transaction waits for those who
/// have it open, and nobody can begin to change the file system. None if the kernel does not count
/// it.
pub(super) fn locked_ms(device: &Path) -> Option<u64> {
    let name = device.file_name()?.to_str()?;
    let path = Path::new(JOURNALS).join(format!("{name}-{INODE}")).join("info");
    let text = os::file::read_start(&path, MOST).ok()?;
    locked_in(&String::from_utf8_lossy(&text))
}

fn locked_in(info: &str) -> Option<u64> {
    let what = "ms transaction was being locked";
    info.lines().find_map(|line| line.trim().strip_suffix(what)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_locked_transaction_is_read_as_the_kernel_writes_it() {
        let info = "42 transactions (40 requested), each up to 512 blocks\n\
                    average: \n  0ms waiting for transaction\n  0ms request delay\n  \
                    20ms running transaction\n  612ms transaction was being locked\n  \
                    0ms flushing data (in ordered mode)\n  0ms logging transaction\n  \
                    900us average transaction commit time\n";
        assert_eq!(locked_in(info), Some(612));
        assert_eq!(locked_in("0 transactions (0 requested), each up to 512 blocks\n"), None);
        assert_eq!(locked_ms(Path::new("/dev/no-such-device")), None);
    }
}
