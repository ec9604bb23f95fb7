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

use crate::{Arms, Cell, Context, Host, Scenario, ScenarioError, Summary, TrialResult, erlang};
use analysis::Outcome;
use model::{ArmResult, Meta, Need, Plan, Trial};
use std::time::Duration;

/// The scenario.
pub struct MailboxFlood;

impl Scenario for MailboxFlood {
    type Params = MailboxFloodParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, _: &Host) -> Option<Need> {
        erlang::missing()
    }

    fn arms(
        &self,
        params: &MailboxFloodParams,
        _: &Host,
    ) -> Result<Arms<MailboxFloodParams>, ScenarioError> {
        plan::arms(params)
    }

    fn sketch(
        &self,
        params: &MailboxFloodParams,
        _: &Host,
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
