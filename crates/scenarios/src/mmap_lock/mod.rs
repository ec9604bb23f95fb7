//! `mmap-lock`: readers of /proc/PID stall the memory mapping of process PID.

mod meta;
mod observe;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use params::{MmapLockParams, Target};
pub use trial::{Cast, Cut, Event, Played, Script, Twin, play};

use crate::{Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary};
use analysis::Outcome;
use model::{ArmResult, Judging, Meta, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct MmapLock;

impl Scenario for MmapLock {
    type Params = MmapLockParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, site: &Site) -> Option<Missing> {
        plan::missing(site.machine)
    }

    fn arms(
        &self,
        params: &MmapLockParams,
        site: &Site,
    ) -> Result<Arms<MmapLockParams>, ScenarioError> {
        plan::arms(params, site).map(Into::into)
    }

    fn judging(&self, params: &MmapLockParams) -> Vec<Judging> {
        vec![plan::judging(params)]
    }

    fn sketch(
        &self,
        params: &MmapLockParams,
        site: &Site,
    ) -> Result<Cell<MmapLockParams>, ScenarioError> {
        // It looks at /proc and no more.
        self.cell(params, site)
    }

    fn expected(&self, params: &MmapLockParams) -> Duration {
        plan::expected(params)
    }

    fn trial(&self, params: &MmapLockParams, context: &mut Context) -> Result<Seen, ScenarioError> {
        let script = plan::script(params, context.site, context.seed)?;
        trial::run(&script, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
