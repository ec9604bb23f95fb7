//! Memory of the machine, from `/proc/meminfo`, and of this process. `proc` is the path of /proc.

use std::path::Path;

/// Most bytes that are read of the file; it has one or two thousand.
const MOST: u64 = 1 << 20;

/// Size in bytes from which a freed block goes back to the kernel at once.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;

/// Makes large blocks that this process frees go back to the kernel at once, for good. Otherwise
/// glibc keeps more and more memory: each freed block raises the size from which it gives memory
/// back.
pub fn give_back_large() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a parameter of the allocator, under the allocator's own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
    }
}

/// Gives free pages between small blocks back to the kernel.
pub fn give_back_small() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches only free memory, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Total memory, in bytes.
pub fn total(proc: &Path) -> Option<u64> {
    field(&read(proc)?, "MemTotal")
}

/// Memory that is available without swapping, in bytes, as the kernel estimates it.
pub fn available(proc: &Path) -> Option<u64> {
    field(&read(proc)?, "MemAvailable")
}

fn read(proc: &Path) -> Option<String> {
    let bytes = crate::file::read_start(&proc.join("meminfo"), MOST).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn field(meminfo: &str, key: &str) -> Option<u64> {
    let mut fields = meminfo.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.trim() == key)?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemTotal:       24684084 kB\nMemTotalish: 1 kB\nHuge: 3\n";
        assert_eq!(field(text, "MemTotal"), Some(24684084 * 1024));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(field(text, "Huge"), None);
        assert_eq!(field("MemTotal: 99999999999999999 kB", "MemTotal"), None);
    }

    #[test]
    fn what_is_there_is_less_than_all() {
        let proc = Path::new("/proc");
        assert!(available(proc).unwrap() <= total(proc).unwrap());
        assert_eq!(available(Path::new("/nowhere")), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*", key in ".{0,3}") {
            let _ = field(&text, &key);
        }
    }
}
