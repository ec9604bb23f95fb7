//! The definition of a scenario.

use crate::{
    Arms, Cell, Context, Host, OwnGenerator, Results, Review, ScenarioError, Summary, TrialResult,
};
use analysis::Outcome;
use model::{Arm, ArmResult, Judging, Machine, Meta, Need, Plan, Suggestion};
use std::time::Duration;

type Result<T> = std::result::Result<T, ScenarioError>;
/// A function from parameters and the host to a result.
type Made<P, T> = fn(&P, &Host) -> Result<T>;
type Calibrate<P> = fn(&mut [Arm<P>], &Host, &dyn Fn() -> bool) -> Result<()>;

/// One known stall: its description, and what it does with its parameters.
pub struct Scenario<P> {
    /// The description of the scenario.
    pub meta: &'static Meta,
    /// Load generators that belong to this scenario. They run as children of the tool.
    pub generators: &'static [OwnGenerator],
    /// What this machine lacks for the scenario. None if it can run.
    pub missing: fn(&Host) -> Option<Need>,
    /// Settings of this scenario that stall on a kernel as old as the machine's. No run with the
    /// defaults shows these stalls.
    pub of_old_kernels: Option<fn(&Machine) -> Vec<Suggestion>>,
    /// The arms for these parameters, the control first. Fails if a value cannot be used on this
    /// machine, or if it needs a privilege that is missing.
    pub arms: Made<P, Arms<P>>,
    /// Sets values that depend on the speed of this machine, such as a rate of requests, in arms
    /// that leave them open. It measures them shortly before the first trial, so that the record
    /// holds the values that were used. It is not called if nothing is run, such as for a plan
    /// that is only shown.
    pub calibrate: Option<Calibrate<P>>,
    /// The one arm with the cause for these parameters, and its control, for a study that combines
    /// values of its own. If absent, they are taken from `arms`. In that case, values that make
    /// several arms with the cause are an error.
    pub cell: Option<Made<P, Cell<P>>>,
    /// The same, as far as the parameters alone determine it. It is for a dry run, which runs no
    /// program and changes nothing. If absent, the parameters are used as they are.
    pub sketch: Option<Made<P, Cell<P>>>,
    /// How trials of these parameters are judged, the most important figure first. If absent, as
    /// declared in `meta`.
    pub judging: Option<fn(&P) -> Vec<Judging>>,
    /// Expected duration of a trial with these parameters, for a progress bar.
    pub expected: fn(&P) -> Duration,
    /// Least time that the load of a trial with these parameters runs before the measurement
    /// begins. None if both begin together.
    pub warm_up: Option<fn(&P) -> Duration>,
    /// Runs one trial until its end or its deadline. Fails if it could not run or was interrupted.
    /// A hang is not an error.
    pub trial: fn(&P, &mut Context) -> Result<TrialResult>,
    /// The scenario's own review of an outcome. For example, it checks whether the cause was
    /// present, and explains the figures.
    pub review: Option<fn(&Results) -> Review>,
    /// The summary of an outcome, as facts for its sentences. The headline is not used if the
    /// outcome is untrustworthy, or for a study of several factors.
    pub summary: fn(&Plan, &Outcome, &[ArmResult]) -> Summary,
}
