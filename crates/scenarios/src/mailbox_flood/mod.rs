//! `mailbox-flood`: an Erlang process that becomes slower the more messages wait for it.

mod meta;
mod observe;
mod plan;
mod read;
mod review;
mod sentences;
mod sink;
mod summary;
mod trial;

pub use meta::META;

use crate::{Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary, erlang};
use analysis::Outcome;
use model::{Arm, ArmResult, Meta, Plan, Settings, Trial};
use std::time::Duration;

/// The scenario.
pub struct MailboxFlood;

impl Scenario for MailboxFlood {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, _: &Site) -> Option<Missing> {
        erlang::missing()
    }

    fn arms(&self, settings: &Settings, _: &Site) -> Result<Arms, ScenarioError> {
        plan::arms(settings)
    }

    fn sketch(&self, settings: &Settings, _: &Site) -> Result<Cell, ScenarioError> {
        plan::sketch(settings)
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
