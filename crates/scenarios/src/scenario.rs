//! What a scenario is.

use crate::{
    Arms, Cell, Context, Host, OwnGenerator, Results, Review, ScenarioError, Summary, TrialResult,
};
use analysis::Outcome;
use model::{Arm, ArmResult, Judging, Machine, Meta, Need, Plan, Suggestion};
use std::time::Duration;

type Result<T> = std::result::Result<T, ScenarioError>;
/// What is made of parameters on a machine.
type Made<P, T> = fn(&P, &Host) -> Result<T>;
type Calibrate<P> = fn(&mut [Arm<P>], &Host, &dyn Fn() -> bool) -> Result<()>;

/// One known stall: what it says of itself, and what it does with its parameters.
pub struct Scenario<P> {
    /// What it says of itself.
    pub meta: &'static Meta,
    /// Load generators of its own, which run as children of the tool.
    pub generators: &'static [OwnGenerator],
    /// What of its needs this machine lacks; none where it can run.
    pub missing: fn(&Host) -> Option<Need>,
    /// Settings of this scenario that stall on a kernel as old as this machine's, and that no run
    /// with its defaults shows.
    pub of_old_kernels: Option<fn(&Machine) -> Vec<Suggestion>>,
    /// The arms for these parameters, control first. Fails if a value cannot be used on this
    /// machine, or needs a privilege that is missing.
    pub arms: Made<P, Arms<P>>,
    /// Sets what stands for how fast this machine is, as a rate of requests, in arms that leave it
    /// open: by a short try-out before the first trial, so that the record holds what was run.
    /// Where nothing is run, as for a plan that is only shown, it is not called.
    pub calibrate: Option<Calibrate<P>>,
    /// The one arm with the cause for these parameters, and the control that it is held against,
    /// for a study that combines values of its own choice. Without it, those of the arms; then
    /// values that make several arms with the cause are an error.
    pub cell: Option<Made<P, Cell<P>>>,
    /// The same as far as it can be told from the parameters alone: for a dry run, which runs no
    /// program and changes nothing. Without it, the parameters as they are.
    pub sketch: Option<Made<P, Cell<P>>>,
    /// How trials of these parameters are judged, the figure that matters most first; as declared
    /// where absent.
    pub judging: Option<fn(&P) -> Vec<Judging>>,
    /// How long a trial with these parameters is expected to take, for a progress bar.
    pub expected: fn(&P) -> Duration,
    /// How long the load of a trial with these parameters runs at least before what is measured
    /// begins. None where both begin together.
    pub warm_up: Option<fn(&P) -> Duration>,
    /// Runs one trial to its end or to its deadline. Fails if it could not be run or was
    /// interrupted; a hang is no error.
    pub trial: fn(&P, &mut Context) -> Result<TrialResult>,
    /// What only this scenario knows of an outcome, as whether the cause was there at all, and what
    /// its figures need to be understood.
    pub review: Option<fn(&Results) -> Review>,
    /// What it says of an outcome, as facts for its sentences. Of one that is untrustworthy, and of
    /// a study of several factors, the headline is not asked for.
    pub summary: fn(&Plan, &Outcome, &[ArmResult]) -> Summary,
}
