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
    Arms, Cell, Context, Host, Scenario, ScenarioError, Summary, TrialResult, erlang, quota,
};
use analysis::Outcome;
use model::{Arm, ArmResult, Meta, Need, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct BusyWait;

impl Scenario for BusyWait {
    type Params = BusyWaitParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        erlang::missing().or_else(|| quota::missing(host))
    }

    fn arms(
        &self,
        params: &BusyWaitParams,
        host: &Host,
    ) -> Result<Arms<BusyWaitParams>, ScenarioError> {
        plan::arms(params, host)
    }

    fn calibrate(
        &self,
        arms: &mut [Arm<BusyWaitParams>],
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        calibrate::calibrate(arms, host, interrupted)
    }

    fn cell(
        &self,
        params: &BusyWaitParams,
        host: &Host,
    ) -> Result<Cell<BusyWaitParams>, ScenarioError> {
        plan::cell(params, host)
    }

    fn sketch(
        &self,
        params: &BusyWaitParams,
        host: &Host,
    ) -> Result<Cell<BusyWaitParams>, ScenarioError> {
        plan::sketch(params, host)
    }

    fn expected(&self, params: &BusyWaitParams) -> Duration {
        plan::expected(params)
    }

    fn trial(
        &self,
        params: &BusyWaitParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        let spec = plan::spec(params)?;
        trial::run(&spec, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
