//! The group of readers with a CPU quota: whether it can be created, and its counts.
//!
//! The mapper, its twin and tailback itself are never in this group.

use super::meta::measure;
use super::params::MmapLockParams;
use crate::quota::{self, refused};
use crate::{Host, ScenarioError};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup, Usage};
use host::roots::Roots;
use model::{Measure, Observation, Unit};
use std::path::PathBuf;

/// The group of readers in one trial.
pub(super) struct ReaderGroup {
    group: BandwidthGroup,
    begun: Usage,
}

impl ReaderGroup {
    /// Creates the group.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn create(roots: &Roots, bandwidth: &Bandwidth) -> Result<Self, ScenarioError> {
        let parent = ParentGroup::find(roots).map_err(refused)?;
        let group = BandwidthGroup::create(&parent).map_err(refused)?;
        group.set(bandwidth).map_err(refused)?;
        Ok(ReaderGroup { group, begun: Usage::default() })
    }

    /// The folders through which a process joins the group.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.group.join_paths().into_iter().map(Into::into).collect()
    }

    /// Starts the counts of the trial.
    pub(super) fn begin(&mut self) {
        self.begun = self.group.usage();
    }

    /// The counts since the start. The quota is lifted, so the readers can end.
    pub(super) fn end(&self) -> Usage {
        let gained = self.group.usage().since(&self.begun);
        self.group.lift();
        gained
    }
}

/// Adds the counts of the group to the figures of a trial.
pub(super) fn add(observation: &mut Observation, gained: &Usage) {
    if let Some(periods) = gained.nr_throttled {
        let periods = Measure::exact(periods as f64, Unit::Count);
        observation.measures.insert(measure::THROTTLED.to_owned(), periods);
    }
}

/// Checks that the quota is available. Returns whether a burst is available too.
///
/// # Errors
/// If the quota is not available. A missing privilege or controller is reported as a need.
pub(super) fn try_out(params: &MmapLockParams, host: &Host) -> Result<bool, ScenarioError> {
    let Some(quota) = params.reader_quota.get() else { return Ok(false) };
    quota::try_out(host, &quota.bandwidth(), Some(&quota.with_burst().bandwidth()))
}
