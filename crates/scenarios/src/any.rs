//! Every scenario with its parameters as the settings of a record. Only this file converts between
//! the two.

use crate::params::{self, Params};
use crate::{
    Arms, Cell, Context, Host, OwnGenerator, Results, Review, Scenario, ScenarioError, Summary,
    TrialResult,
};
use analysis::Outcome;
use clap::{ArgMatches, Command};
use model::{
    Arm, ArmResult, Judging, Machine, Meta, Need, Plan, Problem, Role, Settings, Suggestion,
};
use std::time::Duration;

/// A scenario whose parameters are settings, in the form of a record. The list of all scenarios
/// holds these. Every [`Scenario`] is one.
pub trait AnyScenario: Sync {
    /// See [`Scenario::meta`].
    fn meta(&self) -> &'static Meta;

    /// See [`Scenario::generators`].
    fn generators(&self) -> &'static [OwnGenerator];

    /// See [`Scenario::missing`].
    fn missing(&self, host: &Host) -> Option<Need>;

    /// See [`Scenario::of_old_kernels`].
    fn of_old_kernels(&self, machine: &Machine) -> Vec<Suggestion>;

    /// Adds a flag for each parameter to a command without other flags.
    fn flags(&self, command: Command) -> Command;

    /// Reads the settings from the flags of such a command.
    ///
    /// # Errors
    /// If the command lacks a flag.
    fn settings(&self, matches: &ArgMatches) -> Result<Settings, clap::Error>;

    /// See [`Scenario::arms`].
    ///
    /// # Errors
    /// Those of [`Scenario::arms`], or if the settings are not of this scenario.
    fn arms(&self, settings: &Settings, host: &Host) -> Result<Arms, ScenarioError>;

    /// See [`Scenario::calibrate`].
    ///
    /// # Errors
    /// Those of [`Scenario::calibrate`], or if any settings are not of this scenario.
    fn calibrate(
        &self,
        arms: &mut [Arm],
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError>;

    /// See [`Scenario::cell`].
    ///
    /// # Errors
    /// Those of [`Scenario::cell`], or if the settings are not of this scenario.
    fn cell(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError>;

    /// See [`Scenario::sketch`].
    ///
    /// # Errors
    /// Those of [`Scenario::sketch`], or if the settings are not of this scenario.
    fn sketch(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError>;

    /// See [`Scenario::judging`]. If the settings are not of this scenario, the declared judging.
    fn judging(&self, settings: &Settings) -> Vec<Judging>;

    /// See [`Scenario::expected`]. Zero if the settings are not of this scenario.
    fn expected(&self, arm: &Arm) -> Duration;

    /// Expected time of one trial of each arm. If the study washes out, a trial of the control is
    /// added at the start and after each arm with the cause.
    fn expected_of_block(&self, arms: &[Arm], wash_out: bool) -> Duration {
        let of_arms: Duration = arms.iter().map(|arm| self.expected(arm)).sum();
        let control = arms.iter().find(|arm| arm.role == Role::Control).filter(|_| wash_out);
        let has_cause = |arm: &&Arm| matches!(arm.role, Role::Case | Role::Fix);
        let washes = u32::try_from(1 + arms.iter().filter(has_cause).count()).unwrap_or(u32::MAX);
        of_arms + control.map_or(Duration::ZERO, |arm| self.expected(arm)).saturating_mul(washes)
    }

    /// See [`Scenario::trial`].
    ///
    /// # Errors
    /// Those of [`Scenario::trial`], or if the settings are not of this scenario.
    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<TrialResult, ScenarioError>;

    /// See [`Scenario::review`].
    fn review(&self, results: &Results) -> Review;

    /// See [`Scenario::summary`].
    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary;
}

impl<P: Params> AnyScenario for Scenario<P> {
    fn meta(&self) -> &'static Meta {
        self.meta
    }

    fn generators(&self) -> &'static [OwnGenerator] {
        self.generators
    }

    fn missing(&self, host: &Host) -> Option<Need> {
        (self.missing)(host)
    }

    fn of_old_kernels(&self, machine: &Machine) -> Vec<Suggestion> {
        self.of_old_kernels.map(|of_old_kernels| of_old_kernels(machine)).unwrap_or_default()
    }

    fn flags(&self, command: Command) -> Command {
        params::flags::<P>(command)
    }

    fn settings(&self, matches: &ArgMatches) -> Result<Settings, clap::Error> {
        Ok(P::from_arg_matches(matches)?.settings())
    }

    fn arms(&self, settings: &Settings, host: &Host) -> Result<Arms, ScenarioError> {
        Ok((self.arms)(&read(settings)?, host)?.map(|params| params.settings()))
    }

    fn calibrate(
        &self,
        arms: &mut [Arm],
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let Some(calibrate) = self.calibrate else { return Ok(()) };
        let typed = arms.iter().map(|arm| {
            let params: P = read(&arm.settings)?;
            Ok(arm.clone().map(|_| params))
        });
        let mut typed = typed.collect::<Result<Vec<_>, ScenarioError>>()?;
        calibrate(&mut typed, host, interrupted)?;
        for (arm, calibrated) in arms.iter_mut().zip(typed) {
            arm.settings = calibrated.settings.settings();
        }
        Ok(())
    }

    fn cell(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError> {
        let params = read(settings)?;
        let cell = match self.cell {
            Some(cell) => cell(&params, host)?,
            None => Cell::of((self.arms)(&params, host)?)?,
        };
        Ok(cell.map(|params| params.settings()))
    }

    fn sketch(&self, settings: &Settings, host: &Host) -> Result<Cell, ScenarioError> {
        let params: P = read(settings)?;
        let cell = match self.sketch {
            Some(sketch) => sketch(&params, host)?,
            None => Cell::of_settings(params.clone(), params),
        };
        Ok(cell.map(|params| params.settings()))
    }

    fn judging(&self, settings: &Settings) -> Vec<Judging> {
        match self.judging.zip(P::of(settings)) {
            Some((judging, params)) => judging(&params),
            None => vec![self.meta.judging.clone()],
        }
    }

    fn expected(&self, arm: &Arm) -> Duration {
        P::of(&arm.settings).map(|params| (self.expected)(&params)).unwrap_or_default()
    }

    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<TrialResult, ScenarioError> {
        let params = read(&arm.settings)?;
        let mut seen = (self.trial)(&params, context)?;
        let warm_up = self.warm_up.map(|warm_up| warm_up(&params));
        seen.observation.warm_up_ms = warm_up.filter(|time| !time.is_zero()).map(os::time::ms);
        Ok(seen)
    }

    fn review(&self, results: &Results) -> Review {
        self.review.map(|review| review(results)).unwrap_or_default()
    }

    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
        (self.summary)(plan, outcome, arms)
    }
}

fn read<P: Params>(settings: &Settings) -> Result<P, ScenarioError> {
    P::read(settings).map_err(|message| ScenarioError::Unusable(Problem::Value { message }))
}
