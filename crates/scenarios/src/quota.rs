//! The quota of a group: whether it can be had, and what its own counters say in the evidence of a
//! trial, beside what was seen of its threads.

use crate::params::{Quota, Time};
use crate::{Host, ScenarioError};
use host::cgroup::{BadQuota, Bandwidth, BandwidthGroup, CgroupError, ParentGroup, Usage, sweep};
use model::not_seen::{EvidenceSource, NotSeen, OnlyPrograms};
use model::{Evidence, Need, Problem};
use os::time;

/// What a CPU of a group keeps of its quota when its last thread sleeps, in milliseconds: the
/// kernel's `min_cfs_rq_runtime`.
pub(crate) const KEPT_MS: f64 = 1.0;

/// What is missing to give a group of this process's a quota; nothing is changed for it.
pub(crate) fn missing(host: &Host) -> Option<Need> {
    ParentGroup::find(host.roots).err().map(Need::Quota)
}

/// Quota, period and burst as a group has them.
pub(crate) fn bandwidth(quota: Time, period: Time, burst: Time) -> Bandwidth {
    let [quota_us, period_us, burst_us] =
        [quota, period, burst].map(|length| time::whole_us(length.get()));
    Bandwidth { quota_us, period_us, burst_us }
}

impl Quota {
    /// The same as a group has it.
    pub(crate) fn bandwidth(self) -> Bandwidth {
        bandwidth(self.quota(), self.period(), self.burst())
    }
}

/// Makes sure that this quota can be had, by a group that has it for a moment; returns whether the
/// other one, which has a burst, can be had too.
///
/// What a run that was killed left behind is removed first.
///
/// # Errors
/// If it cannot be had: as a need that is missing where a privilege or a controller is.
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

/// The group below which groups with a quota are made.
///
/// # Errors
/// If there is none: as a need that is missing.
pub(crate) fn home(host: &Host) -> Result<ParentGroup, ScenarioError> {
    ParentGroup::find(host.roots).map_err(|error| ScenarioError::Missing(Need::Quota(error)))
}

/// A group error as a scenario's.
pub(crate) fn refused(error: CgroupError) -> ScenarioError {
    if error.is_bad_value() {
        ScenarioError::Unusable(Problem::Group(error))
    } else if error.is_privilege() {
        ScenarioError::Missing(Need::Quota(error))
    } else {
        broken(error)
    }
}

/// A group error in a trial as a scenario's.
pub(crate) fn broken(error: CgroupError) -> ScenarioError {
    ScenarioError::Broken(Problem::Group(error))
}

/// Lays what the group's counters gained over what was seen of its threads.
///
/// A thread is caught while it is runnable on a CPU off which the quota holds its group. Where the
/// kernel lets nobody look at the end of that, it ends when a thread of the group runs there again.
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
