//! The quota of a group: whether it is available, and what its counters add to the evidence of a
//! trial, which covers its threads.

use crate::params::{Quota, Time};
use crate::{Host, ScenarioError};
use host::cgroup::{BadQuota, Bandwidth, BandwidthGroup, CgroupError, ParentGroup, Usage, sweep};
use model::not_seen::{EvidenceSource, NotSeen, OnlyPrograms};
use model::{Evidence, Need, Problem};
use os::time;

/// CPU time that a CPU of a group keeps of its quota when its last thread sleeps, in milliseconds:
/// the kernel's `min_cfs_rq_runtime`.
pub(crate) const KEPT_MS: f64 = 1.0;

/// What is missing to give a group of this process a quota. This changes nothing.
pub(crate) fn missing(host: &Host) -> Option<Need> {
    ParentGroup::find(host.roots).err().map(Need::Quota)
}

/// Quota, period and burst in the form that a group takes.
pub(crate) fn bandwidth(quota: Time, period: Time, burst: Time) -> Bandwidth {
    let [quota_us, period_us, burst_us] =
        [quota, period, burst].map(|length| time::whole_us(length.get()));
    Bandwidth { quota_us, period_us, burst_us }
}

impl Quota {
    /// The same in the form that a group takes.
    pub(crate) fn bandwidth(self) -> Bandwidth {
        bandwidth(self.quota(), self.period(), self.burst())
    }
}

/// Checks that this quota is available, by giving it to a temporary group. Returns whether the
/// other quota, which has a burst, is available too.
///
/// First removes what an earlier, killed run left behind.
///
/// # Errors
/// If the quota is not available. A missing privilege or controller is reported as a need.
pub(crate) fn try_out(
    host: &Host,
    bandwidth: &Bandwidth,
    with_burst: Option<&Bandwidth>,
) -> Result<bool, ScenarioError> {
    let home = home(host)?;
    sweep(&home);
    let group = BandwidthGroup::create(&home).map_err(refused)?;
    group.set(bandwidth).map_err(refused)?;
    let has_burst = match with_burst.map(|bandwidth| group.set(bandwidth)) {
        Some(Ok(())) => true,
        None | Some(Err(CgroupError::Value(BadQuota::NoBurst { .. }))) => false,
        Some(Err(error)) => return Err(refused(error)),
    };
    group.remove().map_err(refused)?;
    Ok(has_burst)
}

/// The parent group for groups with a quota.
///
/// # Errors
/// If there is none. This is reported as a need.
pub(crate) fn home(host: &Host) -> Result<ParentGroup, ScenarioError> {
    ParentGroup::find(host.roots).map_err(|error| ScenarioError::Missing(Need::Quota(error)))
}

/// Converts a group error into a scenario error.
pub(crate) fn refused(error: CgroupError) -> ScenarioError {
    if error.is_bad_value() {
        ScenarioError::Unusable(Problem::Group(error))
    } else if error.is_privilege() {
        ScenarioError::Missing(Need::Quota(error))
    } else {
        broken(error)
    }
}

/// Converts a group error during a trial into a scenario error.
pub(crate) fn broken(error: CgroupError) -> ScenarioError {
    ScenarioError::Broken(Problem::Group(error))
}

/// Adds the counters of the group to the evidence about its threads.
///
/// A thread counts as throttled while it is runnable on a CPU on which its group is throttled. If
/// the kernel does not show the end of the throttling, it ends when a thread of the group runs
/// there again.
pub(crate) fn lay_over(evidence: &mut Evidence, gained: &Usage) {
    if evidence.quota.is_none() {
        evidence.missing.push(NotSeen::OnlyPrograms(OnlyPrograms::Throttled));
    }
    let Evidence { quota, threads, .. } = evidence;
    let quota =
        quota.get_or_insert_with(|| probe::quota::shares(threads, EvidenceSource::ThreadFiles));
    quota.throttles = gained.nr_throttled.unwrap_or(0);
    quota.throttled_ns = gained.throttled_ns;
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::evidence::QuotaEvidence;
    use model::not_seen::Sees;

    #[test]
    fn the_counters_of_the_group_stand_beside_its_threads() {
        let quota = QuotaEvidence {
            source: EvidenceSource::Probe(Sees::Scheduler),
            throttles: 0,
            throttled_ns: None,
            threads: Vec::new(),
            timeline: Vec::new(),
        };
        let gained = Usage { nr_throttled: Some(7), ..Usage::default() };
        let mut seen = Evidence { quota: Some(quota), ..Evidence::default() };
        lay_over(&mut seen, &gained);
        let quota = seen.quota.unwrap();
        assert_eq!(quota.throttles, 7);
        assert_eq!(quota.source, EvidenceSource::Probe(Sees::Scheduler));
        let mut unseen = Evidence::default();
        lay_over(&mut unseen, &gained);
        assert_eq!(unseen.quota.unwrap().throttles, 7);
        assert_eq!(unseen.missing, [NotSeen::OnlyPrograms(OnlyPrograms::Throttled)]);
    }
}
