//! What a scenario does, with its own type of parameters; and the same for whoever has them as the
//! settings of a record.

use crate::params::{self, Params};
use crate::{Arms, Cell, Context, Missing, ScenarioError, Seen, Site, Words};
use analysis::Outcome;
use clap::{ArgMatches, Command, FromArgMatches as _};
use model::{Arm, ArmResult, Judging, Meta, Plan, Settings, Trial};
use std::time::Duration;

/// One known stall.
pub trait Scenario: Sync {
    /// Its parameters.
    type Params: Params;

    /// What it says of itself.
    fn meta(&self) -> &'static Meta;

    /// What of its needs this machine lacks; none where it can run.
    fn missing(&self, site: &Site) -> Option<Missing>;

    /// The arms for these parameters, control first.
    ///
    /// # Errors
    /// If a value cannot be used on this machine, or needs a privilege that is missing.
    fn arms(&self, params: &Self::Params, site: &Site)
    -> Result<Arms<Self::Params>, ScenarioError>;

    /// Sets what stands for how fast this machine is, as a rate of requests, in arms that leave it
    /// open: by a short try-out before the first trial, so that the record holds what was run. Where
    /// nothing is run, as for a plan that is only shown, it is not called.
    ///
    /// # Errors
    /// As [`Scenario::trial`].
    fn calibrate(
        &self,
        arms: &mut [Arm<Self::Params>],
        site: &Site,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let _ = (arms, site, interrupted);
        Ok(())
    }

    /// The one arm with the cause for these parameters, and the control that it is held against, for
    /// a study that combines values of its own choice.
    ///
    /// # Errors
    /// As [`Scenario::arms`], or if the values make several arms with the cause.
    fn cell(&self, params: &Self::Params, site: &Site)
    -> Result<Cell<Self::Params>, ScenarioError> {
        Cell::of(self.arms(params, site)?)
    }

    /// As [`Scenario::cell`], as far as it can be told from the parameters alone: for a dry run,
    /// which runs no program and changes nothing.
    ///
    /// # Errors
    /// If a value cannot be used.
    fn sketch(
        &self,
        params: &Self::Params,
        site: &Site,
    ) -> Result<Cell<Self::Params>, ScenarioError> {
        let _ = site;
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
    fn trial(&self, params: &Self::Params, context: &mut Context) -> Result<Seen, ScenarioError>;

    /// Corrects an outcome by what only this scenario knows, as whether the cause was there at all,
    /// and adds what its figures need to be understood.
    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        let _ = (plan, trials, arms, outcome);
    }

    /// Puts an outcome into words.
    fn words(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words;
}

/// A scenario whose parameters are settings, as they stand in a record: what the list of all
/// scenarios has. Every [`Scenario`] is one.
pub trait AnyScenario: Sync {
    /// As [`Scenario::meta`].
    fn meta(&self) -> &'static Meta;

    /// As [`Scenario::missing`].
    fn missing(&self, site: &Site) -> Option<Missing>;

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
    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError>;

    /// As [`Scenario::calibrate`].
    ///
    /// # Errors
    /// As there, or if settings are none of this scenario's.
    fn calibrate(
        &self,
        arms: &mut [Arm],
        site: &Site,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError>;

    /// As [`Scenario::cell`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn cell(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError>;

    /// As [`Scenario::sketch`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn sketch(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError>;

    /// As [`Scenario::judging`]; as declared where the settings are none of this scenario's.
    fn judging(&self, settings: &Settings) -> Vec<Judging>;

    /// As [`Scenario::expected`]; no time where the settings are none of this scenario's.
    fn expected(&self, arm: &Arm) -> Duration;

    /// As [`Scenario::trial`].
    ///
    /// # Errors
    /// As there, or if the settings are none of this scenario's.
    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<Seen, ScenarioError>;

    /// As [`Scenario::review`].
    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome);

    /// As [`Scenario::words`].
    fn words(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words;
}

impl<S: Scenario> AnyScenario for S {
    fn meta(&self) -> &'static Meta {
        Scenario::meta(self)
    }

    fn missing(&self, site: &Site) -> Option<Missing> {
        Scenario::missing(self, site)
    }

    fn flags(&self, command: Command) -> Command {
        params::flags::<S::Params>(command)
    }

    fn settings(&self, matches: &ArgMatches) -> Result<Settings, clap::Error> {
        Ok(S::Params::from_arg_matches(matches)?.settings())
    }

    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
        Ok(Scenario::arms(self, &read(settings)?, site)?.map(|params| params.settings()))
    }

    fn calibrate(
        &self,
        arms: &mut [Arm],
        site: &Site,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let typed = arms.iter().map(|arm| {
            let params: S::Params = read(&arm.settings)?;
            Ok(arm.clone().map(|_| params))
        });
        let mut typed = typed.collect::<Result<Vec<_>, ScenarioError>>()?;
        Scenario::calibrate(self, &mut typed, site, interrupted)?;
        for (arm, calibrated) in arms.iter_mut().zip(typed) {
            arm.settings = calibrated.settings.settings();
        }
        Ok(())
    }

    fn cell(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        Ok(Scenario::cell(self, &read(settings)?, site)?.map(|params| params.settings()))
    }

    fn sketch(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        Ok(Scenario::sketch(self, &read(settings)?, site)?.map(|params| params.settings()))
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

    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<Seen, ScenarioError> {
        Scenario::trial(self, &read(&arm.settings)?, context)
    }

    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        Scenario::review(self, plan, trials, arms, outcome);
    }

    fn words(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
        Scenario::words(self, plan, outcome, arms)
    }
}

fn read<P: Params>(settings: &Settings) -> Result<P, ScenarioError> {
    P::read(settings).map_err(ScenarioError::Unusable)
}
