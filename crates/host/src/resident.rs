//! The memory that a process uses at this moment.

use crate::roots::{Roots, read_start};

/// Resident memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub bytes: u64,
    /// The part that belongs to files or shared memory. Other processes may share it.
    pub shared: u64,
}

impl Resident {
    /// The memory of a process; `process` is a pid or `self`. It is in /proc/PID/statm, which takes
    /// no lock of the process.
    pub fn of(roots: &Roots, process: impl std::fmt::Display) -> Option<Self> {
        let path = roots.proc.join(process.to_string()).join("statm");
        let text = read_start(&path, 256).ok()?;
        let text = String::from_utf8_lossy(&text);
        let page = u64::try_from(rustix::param::page_size()).ok()?;
        let bytes = |word: &str| word.parse::<u64>().ok()?.checked_mul(page);
        let mut words = text.split_ascii_whitespace().skip(1);
        Some(Resident { bytes: bytes(words.next()?)?, shared: bytes(words.next()?)? })
    }
}

/// All resident memory of a process, in bytes; see [`Resident::of`].
pub fn resident_bytes(roots: &Roots, process: impl std::fmt::Display) -> Option<u64> {
    Resident::of(roots, process).map(|memory| memory.bytes)
}

/// How much of its memory each of several processes holds alone at least, in bytes: all of it,
/// without what the one of the others that shares most may share.
pub fn held_alone(all: &[Resident]) -> Vec<u64> {
    let mut shared: Vec<u64> = all.iter().map(|one| one.shared).collect();
    shared.sort_unstable_by(|one, other| other.cmp(one));
    let [most, next] = [0, 1].map(|place| shared.get(place).copied().unwrap_or(0));
    let of_others = |one: &Resident| if one.shared == most { next } else { most };
    all.iter().map(|one| one.bytes.saturating_sub(one.shared.min(of_others(one)))).collect()
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
        for text in ["", "1", "1 x", "1 2", &format!("1 {} 0", u64::MAX)] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(resident_bytes(&roots, "self"), None);
    }

    #[test]
    fn what_another_process_may_share_is_nobodys_alone() {
        let of = |bytes, shared| Resident { bytes, shared };
        // Two servers that share memory, and a small tool.
        assert_eq!(held_alone(&[of(90, 80), of(85, 80), of(5, 3)]), [10, 5, 2]);
        // A program whose memory is a shared mapping of its own.
        assert_eq!(held_alone(&[of(90, 80), of(5, 3)]), [87, 2]);
        assert_eq!((held_alone(&[of(9, 9)]), held_alone(&[])), (vec![9], vec![]));
    }
}
