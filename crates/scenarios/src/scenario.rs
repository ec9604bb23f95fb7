//! What a scenario is.

use crate::params::Params;
use crate::{Arms, Cell, Context, Host, OwnGenerator, ScenarioError, Summary, TrialResult};
use analysis::Outcome;
use model::{Arm, ArmResult, Judging, Machine, Meta, Need, Plan, Suggestion, Trial};
use std::time::Duration;

/// One known stall.
pub trait Scenario: Sync {
    /// Its parameters.
    type Params: Params;

    /// What it says of itself.
    fn meta(&self) -> &'static Meta;

    /// Load generators of its own, which run as children of the tool.
    fn generators(&self) -> &'static [OwnGenerator] {
        &[]
    }

    /// What of its needs this machine lacks; none where it can run.
    fn missing(&self, host: &Host) -> Option<Need>;

    /// Settings of this scenario that stall on a kernel as old as this machine's, and that no run
    /// with its defaults shows.
    fn of_old_kernels(&self, machine: &Machine) -> Vec<Suggestion> {
        let _ = machine;
        Vec::new()
    }

    /// The arms for these parameters, control first.
    ///
    /// # Errors
    /// If a value cannot be used on this machine, or needs a privilege that is missing.
    fn arms(&self, params: &Self::Params, host: &Host)
    -> Result<Arms<Self::Params>, ScenarioError>;

    /// Sets what stands for how fast this machine is, as a rate of requests, in arms that leave it
    /// open: by a short try-out before the first trial, so that the record holds what was run.
    /// Where nothing is run, as for a plan that is only shown, it is not called.
    ///
    /// # Errors
    /// As [`Scenario::trial`].
    fn calibrate(
        &self,
        arms: &mut [Arm<Self::Params>],
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let _ = (arms, host, interrupted);
        Ok(())
    }

    /// The one arm with the cause for these parameters, and the control that it is held against,
    /// for a study that combines values of its own choice.
    ///
    /// # Errors
    /// As [`Scenario::arms`], or if the values make several arms with the cause.
    fn cell(
        &self,
        params: &Self::Params,
        host: &Host,
    ) -> Result<Cell<Self::Params>, ScenarioError> {
        Cell::of(self.arms(params, host)?)
    }

    /// As [`Scenario::cell`], as far as it can be told from the parameters alone: for a dry run,
    /// which runs no program and changes nothing.
    ///
    /// # Errors
    /// If a value cannot be used.
    fn sketch(
        &self,
        params: &Self::Params,
        host: &Host,
    ) -> Result<Cell<Self::Params>, ScenarioError> {
        let _ = host;
        Ok(Cell::of_settings(params.clone(), params.clone()))
    }

    /// How trials of these parameters are judged, the figure that matters most first.
    fn judging(&self, params: &Self::Params) -> Vec<Judging> {
        let _ = params;
        vec![self.meta().judging.clone()]
    }

    /// How long a trial with these parameters is expected to take, for a progress bar.
    fn expected(&self, params: &Self::Params) -> Duration;

    /// Runs one trial to its end or to its deadline.
    ///
    /// # Errors
    /// If it could not be run or was interrupted; a hang is no error.
    fn trial(
        &self,
        params: &Self::Params,
        context: &mut Context,
    ) -> Result<TrialResult, ScenarioError>;

    /// Corrects an outcome by what only this scenario knows, as whether the cause was there at all,
    /// and adds what its figures need to be understood.
    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        let _ = (plan, trials, arms, outcome);
    }

    /// What it says of an outcome, as facts for its sentences. Of one that is untrustworthy, and of
    /// a study of several factors, the headline is not asked for.
    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary;
}
