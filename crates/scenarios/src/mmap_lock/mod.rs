//! `mmap-lock`: readers of /proc/PID stall the memory mapping of process PID.

mod checks;
mod load;
mod meta;
mod observe;
mod params;
mod place;
mod plan;
mod reader_group;
mod review;
mod sentences;
mod summary;
mod trial;

pub use self::load::{CpuLoad, Cut, Event, RawTrial, TrialSpec, Twin, run_load};
pub use meta::META;
pub use params::{MmapLockParams, Target};

use crate::{Arms, Cell, Context, Host, Scenario, ScenarioError, Summary, TrialResult};
use analysis::Outcome;
use model::{ArmResult, Judging, Machine, Meta, Need, Plan, Suggestion, Trial};
use std::time::Duration;

/// The scenario.
pub struct MmapLock;

impl Scenario for MmapLock {
    type Params = MmapLockParams;

    fn meta(&self) -> &'static Meta {
        &META
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        place::missing(host.machine)
    }

    fn of_old_kernels(&self, machine: &Machine) -> Vec<Suggestion> {
        summary::of_old_kernels(machine)
    }

    fn arms(
        &self,
        params: &MmapLockParams,
        host: &Host,
    ) -> Result<Arms<MmapLockParams>, ScenarioError> {
        plan::arms(params, host)
    }

    fn judging(&self, params: &MmapLockParams) -> Vec<Judging> {
        vec![plan::judging(params)]
    }

    fn sketch(
        &self,
        params: &MmapLockParams,
        host: &Host,
    ) -> Result<Cell<MmapLockParams>, ScenarioError> {
        // It looks at /proc and no more; a group is not made for it.
        Cell::of(plan::sketch(params, host)?)
    }

    fn expected(&self, params: &MmapLockParams) -> Duration {
        plan::expected(params)
    }

    fn trial(
        &self,
        params: &MmapLockParams,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError> {
        let spec = plan::spec(params, context.host, context.seed)?;
        let quota = params.reader_quota.get().map(crate::params::Quota::bandwidth);
        trial::run(spec, quota, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        review::review(plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        summary::summary(plan, outcome, arms)
    }
}
