//! `preempted-holder`: threads spin for a lock whose holder is preempted.

mod load;
mod lock;
mod meta;
mod offers;
mod params;
mod plan;
mod round;
mod sentences;
mod spec;
mod summary;
mod trial;

pub use lock::Kind;
pub use meta::META;
pub use params::{Fault, LockFix, PreemptedHolderParams};

use crate::params::Params;
use crate::{
    Arms, Context, Host, OwnGenerator, Scenario, ScenarioError, Summary, TrialResult, hang,
};
use analysis::Outcome;
use model::{ArmResult, Judging, Meta, Need, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct PreemptedHolder;

impl Scenario for PreemptedHolder {
    type Params = PreemptedHolderParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn generators(&self) -> &'static [OwnGenerator] {
        &[load::GENERATOR]
    }

    fn missing(&self, _: &Host) -> Option<Need> {
        None
    }

    fn judging(&self, params: &PreemptedHolderParams) -> Vec<Judging> {
        vec![plan::judging(params)]
    }

    fn arms(
        &self,
        params: &PreemptedHolderParams,
        host: &Host,
    ) -> Result<Arms<PreemptedHolderParams>, ScenarioError> {
        plan::arms(params, host)
    }

    fn expected(&self, params: &PreemptedHolderParams) -> Duration {
        params.duration.get() + plan::SET_UP
    }

    fn trial(
        &self,
        params: &PreemptedHolderParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        let spec = plan::spec(params, context.host)?;
        trial::run(&spec, context)
    }

    fn review(&self, plan: &Plan, _: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        let params = PreemptedHolderParams::of_case(plan);
        let after = params.map(|params| params.duration.get() + trial::HANG_AFTER);
        outcome.caveats.extend(after.and_then(|after| hang::cut_off(arms, after, None)));
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
