//! `quota-blind`: a runtime that has more threads at work than its CPU quota allows.

mod compiled;
mod failure;
mod load;
mod meta;
mod params;
mod plan;
mod prepare;
mod refused;
mod review;
mod runtime;
mod sentences;
mod stream;
mod summary;
mod trial;
mod worker;

pub use meta::META;
pub use params::{Place, QuotaBlindParams};
pub use runtime::Runtime;

use crate::{Arms, Context, Host, OwnGenerator, Scenario, ScenarioError, Summary, TrialResult};
use analysis::Outcome;
use model::{Arm, ArmResult, Meta, Need, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct QuotaBlind;

impl Scenario for QuotaBlind {
    type Params = QuotaBlindParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn generators(&self) -> &'static [OwnGenerator] {
        &[load::REQUESTS, load::RUNTIME]
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        plan::missing(host)
    }

    fn arms(
        &self,
        params: &QuotaBlindParams,
        host: &Host,
    ) -> Result<Arms<QuotaBlindParams>, ScenarioError> {
        plan::arms(params, host)
    }

    fn calibrate(
        &self,
        arms: &mut [Arm<QuotaBlindParams>],
        _: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let Some(open) = arms.iter().find(|arm| plan::is_open(&arm.settings)) else {
            return Ok(());
        };
        let speed = trial::speed(&open.settings, interrupted)?;
        plan::set_speed(arms, speed);
        Ok(())
    }

    fn expected(&self, params: &QuotaBlindParams) -> Duration {
        params.duration.get() + plan::SET_UP
    }

    fn trial(
        &self,
        params: &QuotaBlindParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        trial::run(params, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
