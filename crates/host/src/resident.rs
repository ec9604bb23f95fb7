//! The memory that a process uses at this moment.

use crate::roots::{Roots, read_start};

/// Resident memory of a process, in bytes; `process` is a pid or `self`. It is the second number
/// in /proc/PID/statm, which takes no lock of the process.
pub fn resident_bytes(roots: &Roots, process: impl std::fmt::Display) -> Option<u64> {
    let path = roots.proc.join(process.to_string()).join("statm");
    let text = read_start(&path, 256).ok()?;
    let pages = String::from_utf8_lossy(&text).split_ascii_whitespace().nth(1)?.parse::<u64>();
    pages.ok()?.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_in_bytes_and_nonsense_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::at(dir.path());
        std::fs::create_dir_all(roots.proc.join("7")).unwrap();
        let of = |text: &str| {
            std::fs::write(roots.proc.join("7/statm"), text).unwrap();
            resident_bytes(&roots, 7)
        };
        assert_eq!(of("900 3 1 1 0 1 0\n"), Some(3 * rustix::param::page_size() as u64));
        for text in ["", "1", "1 x", &format!("1 {}", u64::MAX)] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(resident_bytes(&roots, "self"), None);
    }
}
