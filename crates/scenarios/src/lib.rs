//! The known stalls, one folder each, and the one list of them.
//!
//! Adding a scenario is a folder that implements [`Scenario`] and a line in [`ALL`]; flags, help,
//! man page and completions follow from its [`Meta`] and its struct of parameters
//! ([`params`]).

mod any;
pub mod blocking_nif;
pub mod busy_wait;
mod cell;
mod control_fix;
pub mod cpu_quota;
pub mod cpus;
pub mod erlang;
mod factors;
mod hang;
mod judging;
pub mod mailbox_flood;
pub mod mmap_lock;
pub mod params;
mod probing;
mod quota;
mod suggest;
mod summary;
#[cfg(test)]
mod testing;
mod wait;
mod watch;

pub use cell::Cell;
pub use factors::weigh_factors;
pub use judging::settled;
pub use load::{LoadSpawner, OwnGenerator};
pub use probing::{Part, Probing};
pub use summary::Summary;
pub use watch::Watch;

use analysis::Outcome;
use clap::{ArgMatches, Command};
use host::roots::Roots;
use model::{
    Arm, ArmResult, Judging, LeftOut, Machine, Meta, Observation, Plan, Record, Settings,
    Surroundings, Trial,
};
use params::Params;
use std::time::Duration;

/// Every scenario, in the order that `list` and `check` take.
pub const ALL: &[&dyn AnyScenario] = &[
    &mmap_lock::MmapLock,
    &cpu_quota::CpuQuota,
    &blocking_nif::BlockingNif,
    &mailbox_flood::MailboxFlood,
    &busy_wait::BusyWait,
];

/// The scenario of that id.
pub fn find(id: &str) -> Option<&'static dyn AnyScenario> {
    ALL.iter().find(|scenario| scenario.meta().id == id).copied()
}

/// The load generators that scenarios bring themselves.
pub fn generators() -> Vec<OwnGenerator> {
    ALL.iter().flat_map(|scenario| scenario.generators()).copied().collect()
}

/// Estimates every arm and judges; a study that was not run or broke keeps the verdict that says so.
///
/// Returns false, and changes nothing, where the scenario is unknown to this version.
pub fn judge(record: &mut Record) -> bool {
    let known = judging::judge(record);
    control_fix::add(record);
    if let Some(scenario) = find(&record.scenario) {
        suggest::add_measured(record, scenario.meta());
    }
    known
}

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
    fn missing(&self, host: &Host) -> Option<Missing>;

    /// The arms for these parameters, control first.
    ///
    /// # Errors
    /// If a value cannot be used on this machine, or needs a privilege that is missing.
    fn arms(&self, params: &Self::Params, host: &Host)
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
        host: &Host,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let _ = (arms, host, interrupted);
        Ok(())
    }

    /// The one arm with the cause for these parameters, and the control that it is held against, for
    /// a study that combines values of its own choice.
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

    /// What it says of an outcome, as facts for its sentences. Of one that is untrustworthy, and of a
    /// study of several factors, the headline is not asked for.
    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary;
}

/// A scenario whose parameters are settings, as they stand in a record: what the list of all
/// scenarios has. Every [`Scenario`] is one.
pub trait AnyScenario: Sync {
    /// As [`Scenario::meta`].
    fn meta(&self) -> &'static Meta;

    /// As [`Scenario::generators`].
    fn generators(&self) -> &'static [OwnGenerator];

    /// As [`Scenario::missing`].
    fn missing(&self, host: &Host) -> Option<Missing>;

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

/// The arms of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arms<S = Settings> {
    /// Those that can be had, control first.
    pub arms: Vec<Arm<S>>,
    /// Those that cannot, and why.
    pub left_out: Vec<LeftOut>,
}

impl<S> Arms<S> {
    /// The same arms with their settings in another form.
    pub fn map<T>(self, form: impl Fn(S) -> T) -> Arms<T> {
        let arms = self.arms.into_iter().map(|arm| arm.map(&form)).collect();
        Arms { arms, left_out: self.left_out }
    }
}

impl<S> From<Vec<Arm<S>>> for Arms<S> {
    fn from(arms: Vec<Arm<S>>) -> Self {
        Arms { arms, left_out: Vec::new() }
    }
}

/// Where a study runs.
#[derive(Debug)]
pub struct Host<'a> {
    /// The trees of /proc and /sys.
    pub roots: &'a Roots,
    /// What is known of the machine.
    pub machine: &'a Machine,
}

/// What a trial needs from the runner.
pub struct Context<'a> {
    /// Where it runs.
    pub host: &'a Host<'a>,
    /// How children are executed.
    pub launcher: &'a LoadSpawner,
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
    pub surroundings: Surroundings,
}

/// A need that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, in one sentence.
    pub what: String,
    /// What would grant it.
    pub grant: String,
}

/// Why a study could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A setting cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// A need is not met.
    #[error("{}; {}", .0.what, .0.grant)]
    Missing(Missing),
    /// Somebody ended the study.
    #[error("interrupted")]
    Interrupted,
    /// A trial broke.
    #[error("{0}")]
    Broken(String),
}

impl From<load::LoadError> for ScenarioError {
    fn from(error: load::LoadError) -> Self {
        use load::protocol::FailureKind;
        match error.kind() {
            FailureKind::Unusable => ScenarioError::Unusable(error.to_string()),
            FailureKind::Permission => ScenarioError::Missing(Missing {
                what: error.to_string(),
                grant: "run as root".to_owned(),
            }),
            FailureKind::Limit => ScenarioError::Missing(Missing {
                what: error.to_string(),
                grant:
                    "raise the limit that is in the way (ulimit -u, pids.max, memory), or put a \
                        smaller load on"
                        .to_owned(),
            }),
            FailureKind::System => ScenarioError::Broken(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_declaration_holds_together() {
        let mut ids = BTreeSet::new();
        for scenario in ALL {
            let meta = scenario.meta();
            assert!(ids.insert(meta.id), "{} stands twice", meta.id);
            let judged = meta.measures.iter().any(|m| m.name == meta.judging.measure);
            assert!(judged, "{}: judged measure is not declared", meta.id);
            assert!(!meta.fixes.is_empty() && !meta.who.is_empty());
            assert!(find(meta.id).is_some());
        }
    }

    #[test]
    fn every_sentence_and_every_fix_has_a_name_of_its_own() {
        let templates = testing::templates();
        for meta in ALL.iter().map(|scenario| scenario.meta()) {
            let mut ids = BTreeSet::new();
            for sentence in meta.sentences {
                assert!(ids.insert(sentence.id), "{}: {} stands twice", meta.id, sentence.id);
                assert_is_sentence(sentence.text);
                let parsed = templates.template_from_str(sentence.text);
                assert!(parsed.is_ok(), "{}: {}: {:?}", meta.id, sentence.id, parsed.err());
            }
            let mut ids = BTreeSet::new();
            for fix in meta.fixes {
                assert!(ids.insert(fix.id), "{}: {} stands twice", meta.id, fix.id);
                assert_is_sentence(fix.what);
                assert!((fix.change)(&meta.defaults(false)).is_some(), "{}: {}", meta.id, fix.id);
            }
        }
    }

    /// A capital, a name or a figure at its start, a full stop at its end, single spaces between.
    fn assert_is_sentence(text: &str) {
        let capital = text.starts_with(|c: char| c.is_ascii_uppercase() || c == '{');
        let stop = text.ends_with('.') || text.ends_with(".{% endif %}");
        assert!(capital && stop && !text.contains("  "), "{text}");
    }
}
