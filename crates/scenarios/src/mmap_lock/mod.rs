//! `mmap-lock`: readers of /proc/PID stall the memory mapping of process PID.

mod meta;
mod observe;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use trial::{Cast, Cut, Event, Played, Script, Twin, play};

use crate::{Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary};
use analysis::Outcome;
use model::{Arm, ArmResult, Judging, Meta, Plan, Settings, Trial};
use std::time::Duration;

/// The scenario.
pub struct MmapLock;

impl Scenario for MmapLock {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, site: &Site) -> Option<Missing> {
        plan::missing(site.machine)
    }

    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
        plan::arms(settings, site).map(Into::into)
    }

    fn judging(&self, settings: &Settings) -> Vec<Judging> {
        vec![plan::judging(settings)]
    }

    fn sketch(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        // It looks at /proc and no more.
        self.cell(settings, site)
    }

    fn expected(&self, arm: &Arm) -> Duration {
        plan::expected(&arm.settings)
    }

    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<Seen, ScenarioError> {
        let script = plan::script(&arm.settings, context.site, context.seed)?;
        trial::run(&script, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
