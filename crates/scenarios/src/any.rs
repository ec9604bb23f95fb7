//! Every scenario as one whose parameters are the settings of a record: the one place where the two
//! are made into each other.

use crate::params::{self, Params};
use crate::{
    Arms, Cell, Context, Host, OwnGenerator, Scenario, ScenarioError, Summary, TrialResult,
};
use analysis::Outcome;
use clap::{ArgMatches, Command, FromArgMatches as _};
use model::{
    Arm, ArmResult, Judging, Machine, Meta, Need, Plan, Problem, Settings, Suggestion, Trial,
};
use std::time::Duration;

/// A scenario whose parameters are settings, as they stand in a record: what the list of all
/// scenarios has. Every [`Scenario`] is one.
pub trait AnyScenario: Sync {
    /// As [`Scenario::meta`].
    fn meta(&self) -> &'static Meta;

    /// As [`Scenario::generators`].
    fn generators(&self) -> &'static [OwnGenerator];

    /// As [`Scenario::missing`].
    fn missing(&self, host: &Host) -> Option<Need>;

    /// As [`Scenario::of_old_kernels`].
    fn of_old_kernels(&self, machine: &Machine) -> Vec<Suggestion>;

    /// Adds a flag for each parameter to a command that has no other yet.
    fn flags(&self, command: Command) -> Command;

    /// What the flags of such a command say.
    ///
    /// # Errors
    /// If the command has not all of the flags.
    fn settings(&self, matches: &ArgMatches) -> Result<Settings, clap::Error>;

    /// As [`Scenario::arms`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn arms(&self, settings: &Settings, host: &Host) -> Result<Arms, ScenarioError>;

    /// As [`Scenario::calibrate`].
    ///
    /// # Errors
    /// As there, or if settings are none of this scenario's.
    fn calibrate(
        &self,
        arms: &mut [Arm],
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError>;

    /// As [`Scenario::cell`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn cell(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError>;

    /// As [`Scenario::sketch`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn sketch(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError>;

    /// As [`Scenario::judging`]; as declared where the settings are none of this scenario's.
    fn judging(&self, settings: &Settings) -> Vec<Judging>;

    /// As [`Scenario::expected`]; no time where the settings are none of this scenario's.
    fn expected(&self, arm: &Arm) -> Duration;

    /// As [`Scenario::trial`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<TrialResult, ScenarioError>;

    /// As [`Scenario::review`].
    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome);

    /// As [`Scenario::summary`].
    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary;
}

impl<S: Scenario> AnyScenario for S {
    fn meta(&self) -> &'static Meta {
        Scenario::meta(self)
    }

    fn generators(&self) -> &'static [OwnGenerator] {
        Scenario::generators(self)
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        Scenario::missing(self, host)
    }

    fn of_old_kernels(&self, machine: &Machine) -> Vec<Suggestion> {
        Scenario::of_old_kernels(self, machine)
    }

    fn flags(&self, command: Command) -> Command {
        params::flags::<S::Params>(command)
    }

    fn settings(&self, matches: &ArgMatches) -> Result<Settings, clap::Error> {
        Ok(S::Params::from_arg_matches(matches)?.settings())
    }

    fn arms(&self, settings: &Settings, host: &Host) -> Result<Arms, ScenarioError> {
        Ok(Scenario::arms(self, &read(settings)?, host)?.map(|params| params.settings()))
    }

    fn calibrate(
        &self,
        arms: &mut [Arm],
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let typed = arms.iter().map(|arm| {
            let params: S::Params = read(&arm.settings)?;
            Ok(arm.clone().map(|_| params))
        });
        let mut typed = typed.collect::<Result<Vec<_>, ScenarioError>>()?;
        Scenario::calibrate(self, &mut typed, host, interrupted)?;
        for (arm, calibrated) in arms.iter_mut().zip(typed) {
            arm.settings = calibrated.settings.settings();
        }
        Ok(())
    }

    fn cell(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError> {
        Ok(Scenario::cell(self, &read(settings)?, host)?.map(|params| params.settings()))
    }

    fn sketch(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError> {
        Ok(Scenario::sketch(self, &read(settings)?, host)?.map(|params| params.settings()))
    }

    fn judging(&self, settings: &Settings) -> Vec<Judging> {
        match S::Params::of(settings) {
            Some(params) => Scenario::judging(self, &params),
            None => vec![Scenario::meta(self).judging.clone()],
        }
    }

    fn expected(&self, arm: &Arm) -> Duration {
        let params = S::Params::of(&arm.settings);
        params.map(|params| Scenario::expected(self, &params)).unwrap_or_default()
    }

    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<TrialResult, ScenarioError> {
        Scenario::trial(self, &read(&arm.settings)?, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        Scenario::review(self, plan, trials, arms, outcome);
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        Scenario::summary(self, plan, outcome, arms)
    }
}

fn read<P: Params>(settings: &Settings) -> Result<P, ScenarioError> {
    P::read(settings).map_err(|message| ScenarioError::Unusable(Problem::Value { message }))
}
