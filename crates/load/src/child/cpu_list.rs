//! The CPUs that threads are pinned to: a written list, or the CPUs that the kernel allows.

use os::{cpulist, pin};
use std::fmt;
use std::str::FromStr;

/// CPUs in ascending order, at least one, none twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// The CPUs in the calling thread's affinity mask, which excludes the CPUs that a cpuset
    /// forbids.
    ///
    /// # Errors
    /// If the mask cannot be read, or it contains only CPUs above the limit for pinning.
    pub fn allowed() -> std::io::Result<Self> {
        let cpus = pin::allowed()?.into_iter().filter(|cpu| *cpu < pin::LIMIT).collect();
        CpuList::new(cpus).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    /// These CPUs, sorted. None if there is none, or if a number is too large for any machine.
    pub fn new(mut cpus: Vec<u32>) -> Option<Self> {
        cpus.sort_unstable();
        cpus.dedup();
        let sound = cpus.last().is_some_and(|&last| last < pin::LIMIT);
        sound.then_some(CpuList(cpus))
    }

    /// Number of CPUs.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The CPU of the thread with this index. The CPUs are used in turns.
    pub fn of_thread(&self, index: usize) -> u32 {
        self.0[index % self.0.len()]
    }
}

impl FromStr for CpuList {
    type Err = String;

    /// Parses a list in the kernel's format: `0-3,8`.
    fn from_str(text: &str) -> Result<Self, String> {
        cpulist::parse(text)
            .and_then(CpuList::new)
            .ok_or_else(|| format!("`{text}` is not a list of CPUs; write it like 0-3,8"))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cpulist::format(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn threads_take_turns_on_the_listed_cpus_alone() {
        let cpus: CpuList = "0-1,8".parse().unwrap();
        let turns: Vec<u32> = (0..5).map(|index| cpus.of_thread(index)).collect();
        assert_eq!(turns, [0, 1, 8, 0, 1]);
        assert_eq!((cpus.count(), cpus.to_string()), (3, "0-1,8".to_owned()));
    }

    #[test]
    fn what_is_no_list_is_refused_by_its_words() {
        for wrong in ["", " ", "3-1", "1,", "-", "a", "+1", "1--2", "0-8192", "4294967296"] {
            let error = wrong.parse::<CpuList>().unwrap_err();
            assert!(error.starts_with(&format!("`{wrong}` is not a list")), "{error}");
        }
        assert!(["0-1023"; 99].join(",").parse::<CpuList>().is_err());
        assert_eq!(CpuList::new(Vec::new()), None);
    }

    #[test]
    fn the_mask_of_this_thread_allows_some_cpu() {
        assert!(CpuList::allowed().unwrap().count() > 0);
    }

    proptest! {
        #[test]
        fn a_list_survives_writing_and_reading(cpus in proptest::collection::vec(0u32..1024, 1..40)) {
            let list = CpuList::new(cpus).unwrap();
            prop_assert_eq!(list.to_string().parse::<CpuList>(), Ok(list));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9,-]{0,20}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
