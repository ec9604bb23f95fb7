//! How much CPU time a group has used, and how often and how long it was throttled.

use crate::hierarchy::Interface;
use crate::roots;
use crate::text;
use std::path::Path;

/// Counters of a group since it was made; each one is absent if the kernel does not count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time, in nanoseconds.
    pub usage_ns: Option<u64>,
    /// Periods that were enforced: those in which a task of the group ran.
    pub nr_periods: Option<u64>,
    /// Periods at whose end some CPU of the group was throttled.
    pub nr_throttled: Option<u64>,
    /// Time that CPUs were throttled, summed over all CPUs, in nanoseconds.
    pub throttled_ns: Option<u64>,
    /// Periods that exceeded the quota by using saved-up time.
    pub nr_bursts: Option<u64>,
    /// Saved-up time that was used, in nanoseconds.
    pub burst_ns: Option<u64>,
    /// Time throttled by this group's own quota, not by the quota of a group above, in
    /// nanoseconds.
    pub throttled_self_ns: Option<u64>,
}

impl Usage {
    /// Zero for every counter.
    pub const ZERO: Usage = Usage {
        usage_ns: Some(0),
        nr_periods: Some(0),
        nr_throttled: Some(0),
        throttled_ns: Some(0),
        nr_bursts: Some(0),
        burst_ns: Some(0),
        throttled_self_ns: Some(0),
    };

    /// Reads the counters of a group whose CPU time, under v1, may be counted in another group.
    pub(crate) fn read(interface: Interface, cpu: &Path, usage: Option<&Path>) -> Self {
        let stat = roots::read_text(&cpu.join("cpu.stat")).unwrap_or_default();
        let local = roots::read_text(&cpu.join("cpu.stat.local")).unwrap_or_default();
        match interface {
            Interface::V1 => {
                let usage_ns = usage.and_then(|dir| text::number_in(&dir.join("cpuacct.usage")));
                Usage { usage_ns, ..Usage::from_v1(&stat, &local) }
            }
            Interface::V2 => Usage::from_v2(&stat, &local),
        }
    }

    /// v1 counts in nanoseconds.
    pub(super) fn from_v1(stat: &str, local: &str) -> Self {
        Usage {
            usage_ns: None,
            throttled_ns: text::counter(stat, "throttled_time"),
            burst_ns: text::counter(stat, "burst_time"),
            throttled_self_ns: text::counter(local, "throttled_time"),
            ..Usage::periods(stat)
        }
    }

    /// v2 counts in microseconds.
    pub(super) fn from_v2(stat: &str, local: &str) -> Self {
        let nanos = |text, key| text::counter(text, key).and_then(|us| us.checked_mul(1000));
        Usage {
            usage_ns: nanos(stat, "usage_usec"),
            throttled_ns: nanos(stat, "throttled_usec"),
            burst_ns: nanos(stat, "burst_usec"),
            throttled_self_ns: nanos(local, "throttled_usec"),
            ..Usage::periods(stat)
        }
    }

    fn periods(stat: &str) -> Self {
        Usage {
            nr_periods: text::counter(stat, "nr_periods"),
            nr_throttled: text::counter(stat, "nr_throttled"),
            nr_bursts: text::counter(stat, "nr_bursts"),
            ..Usage::default()
        }
    }

    /// The counts since an earlier reading; a count is absent if either reading lacks it.
    pub fn since(&self, earlier: &Usage) -> Usage {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Usage {
            usage_ns: less(self.usage_ns, earlier.usage_ns),
            nr_periods: less(self.nr_periods, earlier.nr_periods),
            nr_throttled: less(self.nr_throttled, earlier.nr_throttled),
            throttled_ns: less(self.throttled_ns, earlier.throttled_ns),
            nr_bursts: less(self.nr_bursts, earlier.nr_bursts),
            burst_ns: less(self.burst_ns, earlier.burst_ns),
            throttled_self_ns: less(self.throttled_self_ns, earlier.throttled_self_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: Usage = Usage {
        usage_ns: Some(7_000),
        nr_periods: Some(51),
        nr_throttled: Some(50),
        throttled_ns: Some(4_000_000),
        nr_bursts: Some(2),
        burst_ns: Some(3_000),
        throttled_self_ns: Some(1_000),
    };

    #[test]
    fn both_versions_say_the_same_in_their_own_units() {
        let v1 = "nr_periods 51\nnr_throttled 50\nthrottled_time 4000000\nnr_bursts 2\nburst_time 3000\n";
        let read = Usage::from_v1(v1, "throttled_time 1000\n");
        assert_eq!(read, Usage { usage_ns: None, ..ALL });
        let v2 = "usage_usec 7\nuser_usec 6\nsystem_usec 1\nnr_periods 51\nnr_throttled 50\n\
                  throttled_usec 4000\nnr_bursts 2\nburst_usec 3\n";
        assert_eq!(Usage::from_v2(v2, "throttled_usec 1\n"), ALL);
    }

    #[test]
    fn what_an_older_kernel_lacks_is_absent() {
        let read = Usage::from_v1("nr_periods 1\nnr_throttled 0\nthrottled_time 0\n", "");
        let lacking = (read.nr_bursts, read.burst_ns, read.throttled_self_ns, read.usage_ns);
        assert_eq!(lacking, (None, None, None, None));
        assert_eq!((read.nr_periods, read.throttled_ns), (Some(1), Some(0)));
    }

    #[test]
    fn a_difference_needs_both_ends() {
        let earlier = Usage { nr_periods: Some(1), burst_ns: None, ..ALL };
        let since = ALL.since(&earlier);
        assert_eq!((since.nr_periods, since.usage_ns, since.burst_ns), (Some(50), Some(0), None));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(stat in "(?s).*", local in "(usage_usec|throttled_usec|nr_periods) ?-?[0-9]{0,30}\n") {
            let _ = (Usage::from_v1(&stat, &local), Usage::from_v2(&local, &stat));
        }
    }
}
