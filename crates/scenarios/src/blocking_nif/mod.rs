//! `blocking-nif`: native functions that make the schedulers of the Erlang VM unfair or put them to
//! sleep.

mod meta;
mod observe;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod ticks;
mod trial;

pub use meta::META;
pub use params::{BlockingNifParams, Mode, NifFix};

use crate::{Arms, Cell, Context, Host, Scenario, ScenarioError, Summary, TrialResult, erlang};
use analysis::Outcome;
use model::{ArmResult, Judging, Meta, Need, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct BlockingNif;

impl Scenario for BlockingNif {
    type Params = BlockingNifParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, _: &Host) -> Option<Need> {
        erlang::missing()
    }

    fn arms(
        &self,
        params: &BlockingNifParams,
        host: &Host,
    ) -> Result<Arms<BlockingNifParams>, ScenarioError> {
        plan::arms(params, host)
    }

    fn judging(&self, _: &BlockingNifParams) -> Vec<Judging> {
        vec![meta::ASLEEP, meta::UNFAIRNESS, meta::LATE]
    }

    fn sketch(
        &self,
        params: &BlockingNifParams,
        host: &Host,
    ) -> Result<Cell<BlockingNifParams>, ScenarioError> {
        plan::sketch(params, host)
    }

    fn expected(&self, params: &BlockingNifParams) -> Duration {
        plan::expected(params)
    }

    fn trial(
        &self,
        params: &BlockingNifParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        let spec = plan::spec(params)?;
        trial::run(&spec, context)
    }

    fn review(&self, plan: &Plan, _: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
