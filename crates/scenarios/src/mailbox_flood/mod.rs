//! `mailbox-flood`: an Erlang process that becomes slower the more messages wait for it.

mod meta;
mod observe;
mod params;
mod plan;
mod read;
mod review;
mod sentences;
mod sink;
mod summary;
mod trial;

pub use meta::META;
pub use params::{Dam, FloodFix, Mailbox, MailboxFloodParams, Message, Pace, QueueData, SinkKind};

use crate::{Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary, erlang};
use analysis::Outcome;
use model::{ArmResult, Meta, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct MailboxFlood;

impl Scenario for MailboxFlood {
    type Params = MailboxFloodParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, _: &Site) -> Option<Missing> {
        erlang::missing()
    }

    fn arms(
        &self,
        params: &MailboxFloodParams,
        _: &Site,
    ) -> Result<Arms<MailboxFloodParams>, ScenarioError> {
        plan::arms(params)
    }

    fn sketch(
        &self,
        params: &MailboxFloodParams,
        _: &Site,
    ) -> Result<Cell<MailboxFloodParams>, ScenarioError> {
        plan::sketch(params)
    }

    fn expected(&self, params: &MailboxFloodParams) -> Duration {
        plan::expected(params)
    }

    fn trial(
        &self,
        params: &MailboxFloodParams,
        context: &mut Context,
    ) -> Result<Seen, ScenarioError> {
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
