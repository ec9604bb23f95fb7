//! What a trial is given, and what it gives back.

use crate::LoadSpawner;
use crate::erlang::Otps;
use host::roots::Roots;
use model::{Disturbance, Machine, Observation};
use std::time::Duration;

/// Where a study runs.
pub struct Host<'a> {
    /// The trees of /proc and /sys.
    pub roots: &'a Roots,
    /// What is known of the machine.
    pub machine: &'a Machine,
    /// The OTPs that were found so far.
    pub otps: &'a Otps,
}

/// What a trial needs from the runner.
pub struct Context<'a> {
    /// Where it runs.
    pub host: &'a Host<'a>,
    /// How children are executed.
    pub spawner: &'a LoadSpawner,
    /// Seed of this trial's random choices.
    pub seed: u64,
    /// Whether evidence is gathered: who waited for whom. It costs the trial a little, so a trial
    /// with it is never judged.
    pub probe: bool,
    /// Whether somebody wants the study to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Hears how the trial goes, a few times a second.
    pub tick: &'a mut dyn FnMut(Tick),
}

/// How a trial goes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tick {
    /// Time since the trial's load was released.
    pub elapsed: Duration,
    /// The worst stall of the trial so far.
    pub worst: Duration,
}

/// What one trial saw, and what the machine did meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// What it saw.
    pub observation: Observation,
    /// What the machine did meanwhile.
    pub disturbance: Disturbance,
}
