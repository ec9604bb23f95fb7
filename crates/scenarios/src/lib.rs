//! The known stalls, one folder each, and the one list of them.
//!
//! Adding a scenario is a folder that implements [`Scenario`] and a line in [`ALL`]; flags, help,
//! man page, completions and the docs follow from its [`Meta`].

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
pub use probing::{Player, Probing};
pub use summary::Summary;
pub use watch::Watch;

use analysis::Outcome;
use host::roots::Roots;
use model::{
    Arm, ArmResult, Judging, LeftOut, Machine, Meta, Observation, Plan, Record, Settings,
    Surroundings, Trial,
};
use std::time::Duration;

/// Every scenario, in the order that `list` and `check` take.
pub const ALL: &[&dyn Scenario] = &[
    &mmap_lock::MmapLock,
    &cpu_quota::CpuQuota,
    &blocking_nif::BlockingNif,
    &mailbox_flood::MailboxFlood,
    &busy_wait::BusyWait,
];

/// The scenario of that id.
pub fn find(id: &str) -> Option<&'static dyn Scenario> {
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
    /// What it says of itself.
    fn meta(&self) -> &'static Meta;

    /// Load generators of its own, which run as children of the tool.
    fn generators(&self) -> &'static [OwnGenerator] {
        &[]
    }

    /// What of its needs this machine lacks; none where it can run.
    fn missing(&self, site: &Site) -> Option<Missing>;

    /// The arms for these settings, control first.
    ///
    /// # Errors
    /// If a setting cannot be used on this machine, or needs a privilege that is missing.
    fn arms(&self, settings: &Settings, site: &Site) -> Result<Arms, ScenarioError>;

    /// Sets what stands for how fast this machine is, as a rate of requests, in arms that leave it
    /// open: by a short try-out before the first trial, so that the record holds what was run. Where
    /// nothing is run, as for a plan that is only shown, it is not called.
    ///
    /// # Errors
    /// As [`Scenario::trial`].
    fn calibrate(
        &self,
        arms: &mut [Arm],
        site: &Site,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        let _ = (arms, site, interrupted);
        Ok(())
    }

    /// The one arm with the cause for these settings, and the control that it is held against, for
    /// a study that combines settings of its own choice.
    ///
    /// # Errors
    /// As [`Scenario::arms`], or if the settings make several arms with the cause.
    fn cell(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        Cell::of(self.arms(settings, site)?)
    }

    /// As [`Scenario::cell`], as far as it can be told from the settings alone: for a dry run, which
    /// runs no program and changes nothing.
    ///
    /// # Errors
    /// If a setting cannot be used.
    fn sketch(&self, settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
        let _ = site;
        Ok(Cell::of_settings(settings.clone(), settings.clone()))
    }

    /// How trials of these settings are judged, the figure that matters most first.
    fn judging(&self, settings: &Settings) -> Vec<Judging> {
        let _ = settings;
        vec![self.meta().judging.clone()]
    }

    /// How long a trial of this arm is expected to take, for a progress bar.
    fn expected(&self, arm: &Arm) -> Duration;

    /// Runs one trial to its end or to its deadline.
    ///
    /// # Errors
    /// If it could not be run or was interrupted; a hang is no error.
    fn trial(&self, arm: &Arm, context: &mut Context) -> Result<Seen, ScenarioError>;

    /// Corrects an outcome by what only this scenario knows, as whether the cause was there at all,
    /// and adds what its figures need to be understood.
    fn review(&self, plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
        let _ = (plan, trials, arms, outcome);
    }

    /// What it says of an outcome, as facts for its sentences. Of one that is untrustworthy, and of a
    /// study of several factors, the headline is not asked for.
    fn summary(&self, plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary;
}

/// The arms of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arms {
    /// Those that can be had, control first.
    pub arms: Vec<Arm>,
    /// Those that cannot, and why.
    pub left_out: Vec<LeftOut>,
}

impl From<Vec<Arm>> for Arms {
    fn from(arms: Vec<Arm>) -> Self {
        Arms { arms, left_out: Vec::new() }
    }
}

/// Where a study runs.
#[derive(Debug)]
pub struct Site<'a> {
    /// The trees of /proc and /sys.
    pub roots: &'a Roots,
    /// What is known of the machine.
    pub machine: &'a Machine,
}

/// What a trial needs from the runner.
pub struct Context<'a> {
    /// Where it runs.
    pub site: &'a Site<'a>,
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
pub struct Seen {
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
            for quick in [false, true] {
                let settings = Settings::defaults(meta.knobs, quick);
                assert_eq!(settings.0.len(), meta.knobs.len(), "{}: a knob twice", meta.id);
            }
            let judged = meta.measures.iter().any(|m| m.name == meta.judging.measure);
            assert!(judged, "{}: judged measure is not declared", meta.id);
            assert!(!meta.fixes.is_empty() && !meta.who.is_empty());
            for knob in meta.knobs {
                assert!(!knob.help.ends_with('.'), "{}: {}", meta.id, knob.name);
            }
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
                for (name, value) in fix.parameters {
                    let knob = meta.knob(name).unwrap_or_else(|| panic!("{}: {name}", meta.id));
                    assert!(knob.parse(value).is_ok(), "{}: --{name} {value}", meta.id);
                }
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
