//! `blocking-nif`: native functions that make the schedulers of the Erlang VM unfair or put them to
//! sleep.

mod meta;
mod observe;
mod plan;
mod review;
mod sentences;
mod summary;
mod ticks;
mod trial;

pub use meta::META;

use crate::{Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary, erlang};
use analysis::Outcome;
use model::{Arm, ArmResult, Judging, Meta, Plan, Settings, Trial};
use std::time::Duration;

/// The scenario.
pub struct BlockingNif;

impl Scenario for BlockingNif {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, _: &Site) -> Option<Missing> {
        erlang::missing()
    }

    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
        plan::arms(settings, site)
    }

    fn judging(&self, _: &Settings) -> Vec<Judging> {
        vec![meta::ASLEEP, meta::UNFAIRNESS, meta::LATE]
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

    fn review(&self, plan: &Plan, _: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
