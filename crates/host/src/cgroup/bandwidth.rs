//! Quota, period and burst: which values the kernel accepts, and how much the groups above allow.

use super::error::{BadQuota, CgroupError, shown};
use crate::hierarchy::Interface;
use crate::roots;
use crate::text;
use std::path::{Path, PathBuf};

/// The smallest quota and the shortest period that the kernel accepts, in microseconds.
const LEAST_US: u64 = 1_000;

/// The longest period that the kernel accepts, in microseconds.
const LONGEST_PERIOD_US: u64 = 1_000_000;

/// How much CPU time a group may use in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth {
    /// CPU time per period, in microseconds.
    pub quota_us: u64,
    /// Length of a period, in microseconds.
    pub period_us: u64,
    /// Unused time that may be saved up for later periods, in microseconds.
    pub burst_us: u64,
}

impl Bandwidth {
    /// The quota in CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / (self.period_us as f64).max(1.0)
    }

    /// Checks the limits that are the same on every kernel.
    ///
    /// # Errors
    /// A sentence, if the quota is too small, the period out of range or the burst above the quota.
    pub fn check(&self) -> Result<(), CgroupError> {
        let Bandwidth { quota_us, period_us, burst_us } = *self;
        if !(LEAST_US..=LONGEST_PERIOD_US).contains(&period_us) {
            return Err(BadQuota::PeriodOutOfRange { period_us }.into());
        }
        if quota_us < LEAST_US {
            return Err(BadQuota::QuotaTooSmall { quota_us }.into());
        }
        if burst_us > quota_us {
            return Err(BadQuota::BurstAboveQuota { burst_us, quota_us }.into());
        }
        Ok(())
    }

    /// Checks this quota against the quotas of `groups`, which all apply.
    pub(super) fn check_below(
        &self,
        groups: &[PathBuf],
        interface: Interface,
    ) -> Result<(), CgroupError> {
        for group in groups {
            let Some((above_quota_us, above_period_us)) = quota_of(group, interface) else {
                continue;
            };
            if is_more((self.quota_us, self.period_us), (above_quota_us, above_period_us)) {
                return Err(BadQuota::QuotaAboveParent {
                    quota_us: self.quota_us,
                    period_us: self.period_us,
                    above: shown(group),
                    above_quota_us,
                    above_period_us,
                    refused: interface == Interface::V1,
                }
                .into());
            }
        }
        Ok(())
    }
}

/// The quota of a group, as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// CPU time per period, in microseconds.
    pub quota_us: u64,
    /// Length of a period, in microseconds.
    pub period_us: u64,
}

impl Limit {
    /// Reads the quota of a group; None without a quota.
    pub(crate) fn read(group: &Path, interface: Interface) -> Option<Self> {
        quota_of(group, interface).map(|(quota_us, period_us)| Limit { quota_us, period_us })
    }

    /// The quota in CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

/// Whether the first quota per period is more CPU time than the second.
fn is_more(one: (u64, u64), other: (u64, u64)) -> bool {
    u128::from(one.0) * u128::from(other.1) > u128::from(other.0) * u128::from(one.1)
}

/// Quota and period of a group in microseconds; None without a quota.
fn quota_of(group: &Path, interface: Interface) -> Option<(u64, u64)> {
    let (quota, period) = match interface {
        // A quota of -1 means none; it does not parse as an unsigned number.
        Interface::V1 => (
            text::number_in(&group.join("cpu.cfs_quota_us"))?,
            text::number_in(&group.join("cpu.cfs_period_us"))?,
        ),
        Interface::V2 => parse_max(&roots::read_text(&group.join("cpu.max")).ok()?)?,
    };
    (quota > 0 && period > 0).then_some((quota, period))
}

/// `cpu.max`: quota or the word `max`, then period.
pub(super) fn parse_max(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(quota_us: u64, period_us: u64, burst_us: u64) -> CgroupError {
        Bandwidth { quota_us, period_us, burst_us }.check().unwrap_err()
    }

    #[test]
    fn what_the_kernel_would_refuse_is_refused() {
        assert_eq!(refusal(999, 100_000, 0), BadQuota::QuotaTooSmall { quota_us: 999 }.into());
        for period_us in [999, 1_000_001] {
            assert_eq!(
                refusal(10_000, period_us, 0),
                BadQuota::PeriodOutOfRange { period_us }.into()
            );
        }
        let above = BadQuota::BurstAboveQuota { burst_us: 10_001, quota_us: 10_000 }.into();
        assert_eq!(refusal(10_000, 100_000, 10_001), above);
        let edges = [(1_000, 1_000, 1_000), (u64::MAX, 1_000_000, u64::MAX)];
        for (quota_us, period_us, burst_us) in edges {
            assert!(Bandwidth { quota_us, period_us, burst_us }.check().is_ok());
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".*") {
            let _ = parse_max(&text);
        }

        #[test]
        fn quota_and_period_are_read_as_written(quota: u64, period: u64) {
            prop_assert_eq!(parse_max(&format!("{quota} {period}\n")), Some((quota, period)));
            prop_assert_eq!(parse_max(&format!("max {period}\n")), None);
        }

        #[test]
        fn more_is_what_the_ratios_say(a in 1u64..1000, b in 1u64..1000, c in 1u64..1000, d in 1u64..1000) {
            let (one, other) = (a as f64 / b as f64, c as f64 / d as f64);
            prop_assume!((one - other).abs() > 1e-9);
            prop_assert_eq!(is_more((a, b), (c, d)), one > other);
            prop_assert!(!is_more((a, b), (a, b)) && !is_more((u64::MAX, 1), (u64::MAX, 1)));
        }
    }
}
