//! The group of the readers with a CPU quota: whether it can be had, and what it counted.
//!
//! The process that maps, its twin and tailback are never in it.

use super::meta::measure;
use super::params::MmapLockParams;
use crate::quota::{self, refused};
use crate::{Host, ScenarioError};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup, Usage};
use host::roots::Roots;
use model::{Measure, Observation, Unit};
use std::path::PathBuf;

/// The group of one trial.
pub(super) struct ReaderGroup {
    group: BandwidthGroup,
    begun: Usage,
}

impl ReaderGroup {
    /// Makes it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn create(roots: &Roots, bandwidth: &Bandwidth) -> Result<Self, ScenarioError> {
        let parent = ParentGroup::find(roots).map_err(refused)?;
        let group = BandwidthGroup::create(&parent).map_err(refused)?;
        group.set(bandwidth).map_err(refused)?;
        Ok(ReaderGroup { group, begun: Usage::default() })
    }

    /// The folders by which a process joins it.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.group.join_paths().into_iter().map(Into::into).collect()
    }

    /// What it counts from now on is of the trial.
    pub(super) fn begin(&mut self) {
        self.begun = self.group.usage();
    }

    /// What it counted; the quota is lifted, so that its readers can end.
    pub(super) fn end(&self) -> Usage {
        let gained = self.group.usage().since(&self.begun);
        self.group.lift();
        gained
    }
}

/// Puts what the group counted among the figures of a trial.
pub(super) fn add(observation: &mut Observation, gained: &Usage) {
    if let Some(periods) = gained.nr_throttled {
        let periods = Measure::exact(periods as f64, Unit::Count);
        observation.measures.insert(measure::THROTTLED.to_owned(), periods);
    }
}

/// Makes sure that the quota can be had; whether a burst can be had too.
///
/// # Errors
/// If it cannot be had: as a need that is missing where a privilege or a controller is.
pub(super) fn try_out(params: &MmapLockParams, host: &Host) -> Result<bool, ScenarioError> {
    let Some(quota) = params.reader_quota.get() else { return Ok(false) };
    quota::try_out(host, &quota.bandwidth(), Some(&quota.with_burst().bandwidth()))
}
