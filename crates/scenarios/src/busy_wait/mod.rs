//! `busy-wait`: schedulers that spin away the CPU, above all under a CPU quota.

mod calibrate;
mod meta;
mod meter;
mod observe;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use params::{BusyWaitParams, Load};

use crate::{
    Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary, erlang, quota,
};
use analysis::Outcome;
use model::{Arm, ArmResult, Meta, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct BusyWait;

impl Scenario for BusyWait {
    type Params = BusyWaitParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, site: &Site) -> Option<Missing> {
        erlang::missing().or_else(|| quota::missing(site))
    }

    fn arms(
        &self,
        params: &BusyWaitParams,
        site: &Site,
    ) -> Result<Arms<BusyWaitParams>, ScenarioError> {
        plan::arms(params, site)
    }

    fn calibrate(
        &self,
        arms: &mut [Arm<BusyWaitParams>],
        site: &Site,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        calibrate::calibrate(arms, site, interrupted)
    }

    fn cell(
        &self,
        params: &BusyWaitParams,
        site: &Site,
    ) -> Result<Cell<BusyWaitParams>, ScenarioError> {
        plan::cell(params, site)
    }

    fn sketch(
        &self,
        params: &BusyWaitParams,
        site: &Site,
    ) -> Result<Cell<BusyWaitParams>, ScenarioError> {
        plan::sketch(params, site)
    }

    fn expected(&self, params: &BusyWaitParams) -> Duration {
        plan::expected(params)
    }

    fn trial(&self, params: &BusyWaitParams, context: &mut Context) -> Result<Seen, ScenarioError> {
        let script = plan::script(params)?;
        trial::run(&script, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
