//! The input and the result of a trial.

use crate::LoadSpawner;
use crate::erlang::Otps;
use host::roots::Roots;
use model::{Disturbance, Machine, Observation};
use std::time::Duration;

/// Where a study runs.
pub struct Host<'a> {
    /// The trees of /proc and /sys.
    pub roots: &'a Roots,
    /// The facts about the machine.
    pub machine: &'a Machine,
    /// The OTPs that were found so far.
    pub otps: &'a Otps,
}

/// What a trial needs from the runner.
pub struct Context<'a> {
    /// Where it runs.
    pub host: &'a Host<'a>,
    /// How to start child processes.
    pub spawner: &'a LoadSpawner,
    /// Seed of this trial's random choices.
    pub seed: u64,
    /// Whether evidence is collected: which thread waited for which. This costs some time, so a
    /// trial with evidence is never judged.
    pub probe: bool,
    /// Whether the user wants the study to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Receives the progress of the trial, a few times per second.
    pub tick: &'a mut dyn FnMut(Tick),
}

/// The progress of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tick {
    /// Time since the trial's load was released.
    pub elapsed: Duration,
    /// The worst stall of the trial so far.
    pub worst: Duration,
}

/// The result of a trial, and the disturbances of the machine during it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// The figures of the trial.
    pub observation: Observation,
    /// The disturbances during the trial.
    pub disturbance: Disturbance,
}
