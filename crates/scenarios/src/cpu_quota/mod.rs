//! `cpu-quota`: a group that gets less, or more, CPU than its quota.

mod meta;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use trial::{Played, Script, Window, play};

use crate::{Arms, Cell, Context, Missing, Scenario, ScenarioError, Seen, Site, Summary};
use analysis::Outcome;
use model::{Arm, ArmResult, Judging, Meta, Plan, Settings, Trial};
use std::borrow::Cow;
use std::time::Duration;

/// The scenario.
pub struct CpuQuota;

impl Scenario for CpuQuota {
    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, site: &Site) -> Option<Missing> {
        plan::lacking(site)
    }

    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
        plan::arms(settings, site).map(Into::into)
    }

    fn judging(&self, _: &Settings) -> Vec<Judging> {
        let excess = Judging { measure: Cow::Borrowed(meta::measure::BEYOND), ..META.judging };
        vec![META.judging, excess]
    }

    fn sketch(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        plan::sketch(settings, site)
    }

    fn expected(&self, arm: &Arm) -> Duration {
        arm.settings.duration("duration").unwrap_or_default() + plan::SET_UP
    }

    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<Seen, ScenarioError> {
        let script = plan::script(&arm.settings, context.site)?;
        trial::run(&script, context)
    }

    fn review(&self, _: &Plan, _: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
