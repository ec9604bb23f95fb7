//! `cpu-quota`: a group that gets less, or more, CPU than its quota.

mod meta;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use params::CpuQuotaParams;
pub use trial::{RawTrial, TrialSpec, Window, run_load};

use crate::{Arms, Cell, Context, Host, Scenario, ScenarioError, Summary, TrialResult};
use analysis::Outcome;
use model::{ArmResult, Judging, Meta, Need, Plan, Trial};
use std::borrow::Cow;
use std::time::Duration;

/// The scenario.
pub struct CpuQuota;

impl Scenario for CpuQuota {
    type Params = CpuQuotaParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        plan::missing(host)
    }

    fn arms(
        &self,
        params: &CpuQuotaParams,
        host: &Host,
    ) -> Result<Arms<CpuQuotaParams>, ScenarioError> {
        plan::arms(params, host).map(Into::into)
    }

    fn judging(&self, _: &CpuQuotaParams) -> Vec<Judging> {
        let excess = Judging { measure: Cow::Borrowed(meta::measure::BEYOND), ..META.judging };
        vec![META.judging, excess]
    }

    fn sketch(
        &self,
        params: &CpuQuotaParams,
        host: &Host,
    ) -> Result<Cell<CpuQuotaParams>, ScenarioError> {
        plan::sketch(params, host)
    }

    fn expected(&self, params: &CpuQuotaParams) -> Duration {
        params.duration.get() + plan::SET_UP
    }

    fn trial(
        &self,
        params: &CpuQuotaParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        let spec = plan::spec(params, context.host)?;
        trial::run(&spec, context)
    }

    fn review(&self, _: &Plan, _: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
