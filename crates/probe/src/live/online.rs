//! Which CPUs are online. For the programs in the kernel, a CPU that goes offline stays idle. Its
//! clocks end with it, and do not start again when it comes back.

use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;

/// Words that hold one bit for each CPU that is checked for being idle.
const WORDS: usize = 4;

/// Bits of a word.
const BITS: u32 = 64;

/// The machine was suspended if its two clocks moved apart by more than this, in nanoseconds.
const SUSPENDED_NS: i64 = 100_000_000;

/// The CPUs that are online now, and those that were at some time.
#[derive(Debug, Default)]
pub struct Online {
    now: BTreeSet<u32>,
    ever: BTreeSet<u32>,
    suspended_ns: i64,
}

impl Online {
    /// Takes the CPUs that are online now, and for how long the machine was suspended so far.
    /// Returns whether any CPU came online since the last call; false at the first call. A CPU that
    /// went offline and came back since then is not noticed, unless the machine was suspended.
    pub fn set(&mut self, now: BTreeSet<u32>, suspended_ns: i64) -> bool {
        // The file could not be read.
        if now.is_empty() {
            return false;
        }
        let is_first = self.now.is_empty();
        // All CPUs but one go offline before the machine sleeps, and come back when it wakes.
        let was_suspended = suspended_ns.saturating_sub(self.suspended_ns) > SUSPENDED_NS;
        let has_new = !is_first && (was_suspended || !now.is_subset(&self.now));
        self.ever.extend(&now);
        self.now = now;
        self.suspended_ns = suspended_ns;
        has_new
    }

    /// One bit for each CPU that has gone offline.
    pub fn gone(&self) -> [u64; WORDS] {
        let mut words = [0_u64; WORDS];
        for cpu in self.ever.difference(&self.now) {
            if let Some(word) = words.get_mut((cpu / BITS) as usize) {
                *word |= 1_u64 << (cpu % BITS);
            }
        }
        words
    }
}

/// For how long the machine was suspended since it started, in nanoseconds, as far as its clocks
/// say. Only differences of this time mean anything.
pub fn suspended_ns() -> i64 {
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
    };
    let awake = ns(ClockId::Monotonic);
    ns(ClockId::Boottime).saturating_sub(awake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_goes_offline_is_gone_until_it_comes_back() {
        let mut online = Online::default();
        let mut set = |cpus: &[u32]| {
            let has_new = online.set(cpus.iter().copied().collect(), 7);
            (has_new, online.gone())
        };
        assert_eq!(set(&[0, 1, 65]), (false, [0; WORDS]));
        assert_eq!(set(&[0, 1]), (false, [0, 2, 0, 0]));
        assert_eq!(set(&[0]), (false, [2, 2, 0, 0]));
        assert_eq!(set(&[]), (false, [2, 2, 0, 0]));
        assert_eq!(set(&[0, 1, 2]), (true, [0, 2, 0, 0]));
        // Too high a number to be checked for being idle.
        assert_eq!(set(&[0, 1, 2, 300]), (true, [0, 2, 0, 0]));
        assert_eq!(set(&[0, 1, 2, 65]), (true, [0; WORDS]));
    }

    #[test]
    fn a_suspend_takes_cpus_offline_and_back_between_two_looks() {
        let mut online = Online::default();
        let mut set = |suspended_ns| online.set([0, 1].into(), suspended_ns);
        assert!(!set(5_000_000_000) && !set(5_000_000_300));
        assert!(set(6_000_000_000));
        assert!(!set(6_000_000_000));
    }

    #[test]
    fn a_machine_that_is_awake_is_not_suspended() {
        // Longer than what would count as a suspend. Another program may delay the reading of the
        // second clock.
        let is_awake = |_| {
            let before = suspended_ns();
            std::thread::sleep(std::time::Duration::from_millis(200));
            (suspended_ns() - before).abs() < SUSPENDED_NS
        };
        assert!((0..5).any(is_awake));
    }
}
