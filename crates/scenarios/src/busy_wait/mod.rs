//! `busy-wait`: schedulers that spin away the CPU, above all under a CPU quota.

mod calibrate;
mod meta;
mod meter;
mod observe;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;

use crate::{
    Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary, erlang, quota,
};
use analysis::Outcome;
use model::{Arm, ArmResult, Meta, Plan, Settings, Trial};
use std::time::Duration;

/// The scenario.
pub struct BusyWait;

impl Scenario for BusyWait {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, site: &Site) -> Option<Missing> {
        erlang::missing().or_else(|| quota::missing(site))
    }

    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
        plan::arms(settings, site)
    }

    fn calibrate(
        &self,
        arms: &mut [Arm],
        site: &Site,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        calibrate::calibrate(arms, site, interrupted)
    }

    fn cell(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        plan::cell(settings, site)
    }

    fn sketch(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        plan::sketch(settings, site)
    }

    fn expected(&self, arm: &Arm) -> Duration {
        plan::expected(&arm.settings)
    }

    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<Seen, ScenarioError> {
        let script = plan::script(&arm.settings)?;
        trial::run(&script, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
