//! `memory-high`: tasks of a group above memory.high sleep each time that they take memory.

mod leader;
mod load;
mod meta;
mod params;
mod plan;
mod region;
mod sentences;
mod summary;
mod trial;
mod watched;
mod worker;

pub use meta::META;
pub use params::{By, MemoryHighParams};

use crate::{
    Arms, Cell, Context, Host, OwnGenerator, Scenario, ScenarioError, Summary, TrialResult,
};
use analysis::Outcome;
use model::{ArmResult, Meta, Need, Plan};
use std::time::Duration;

/// The scenario.
pub struct MemoryHigh;

impl Scenario for MemoryHigh {
    type Params = MemoryHighParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn generators(&self) -> &'static [OwnGenerator] {
        &[leader::GENERATOR, worker::GENERATOR]
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        plan::missing(host)
    }

    fn arms(
        &self,
        params: &MemoryHighParams,
        host: &Host,
    ) -> Result<Arms<MemoryHighParams>, ScenarioError> {
        plan::arms(params, host)
    }

    fn sketch(
        &self,
        params: &MemoryHighParams,
        _: &Host,
    ) -> Result<Cell<MemoryHighParams>, ScenarioError> {
        params.check()?;
        Ok(Cell::of_settings(params.clone(), params.control()))
    }

    fn expected(&self, params: &MemoryHighParams) -> Duration {
        params.duration.get() + plan::SET_UP
    }

    fn trial(
        &self,
        params: &MemoryHighParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        trial::run(params, context)
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
