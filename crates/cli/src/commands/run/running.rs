//! A study from its settings to its record, one block per turn.

use super::done::Done;
use crate::claim::{self, Claim, Held};
use crate::exit::Failure;
use crate::progress::{Among, Progress};
use crate::session::Session;
use crate::settings::StudyOptions;
use crate::undecided::{self, Undecided};
use crate::{output, paths};
use host::Roots;
use model::{Factorial, Facts, Machine, Pair, Plan, units};
use runner::{End, ProbeWhen, Study, Underway};
use scenarios::{AnyScenario, Arms, Host, LoadSpawner, ScenarioError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The place where the studies of a command run.
pub struct RunContext<'a> {
    session: &'a Session,
    roots: Roots,
    machine: &'a Machine,
    interrupted: &'a dyn Fn() -> bool,
}

impl<'a> RunContext<'a> {
    /// On this machine, until the user interrupts.
    pub fn new(
        session: &'a Session,
        machine: &'a Machine,
        interrupted: &'a dyn Fn() -> bool,
    ) -> Self {
        RunContext { session, roots: Roots::real(), machine, interrupted }
    }

    /// The machine in the form for scenarios.
    pub fn host(&self) -> Host<'_> {
        Host { roots: &self.roots, machine: self.machine, otps: &self.session.otps }
    }

    /// Whether the user has interrupted.
    pub fn interrupted(&self) -> bool {
        (self.interrupted)()
    }

    /// A study of this plan. `path` is the file of its record.
    fn study(
        &self,
        scenario: &'static dyn AnyScenario,
        plan: Plan,
        time: Duration,
        probe: ProbeWhen,
        path: &Path,
    ) -> Study<'_> {
        Study {
            scenario,
            plan,
            time,
            host: self.host(),
            spawner: LoadSpawner::default(),
            argv: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            keep: Some(path.to_owned()),
            probe,
            interrupted: self.interrupted,
        }
    }
}

/// A study with a complete plan.
pub struct Planned<'p> {
    /// Its scenario.
    pub scenario: &'static dyn AnyScenario,
    /// The plan. It includes the results of calibration.
    pub plan: Plan,
    /// The combination of each arm.
    pub factorial: Factorial,
    /// The pair of this run, and its place in the pair.
    pub pair: Pair,
    /// The file of its record.
    pub record: &'p Path,
}

/// A study that was begun, or could not begin.
pub enum Begun<'a> {
    /// Ready for its turns.
    Running(Box<Running<'a>>),
    /// A need is missing, or its load could not be calibrated.
    NotRun(Box<Done>),
}

/// A study between its turns. It holds the locks until its record is saved for the last time.
pub struct Running<'a> {
    underway: Underway<'a>,
    progress: Progress,
    path: PathBuf,
    _claim: Claim,
    _held: Option<Held>,
}

impl<'a> Running<'a> {
    /// Runs the next block. Returns how the study ended if that was the last block.
    pub fn turn(&mut self) -> Option<End> {
        self.underway.turn(&mut self.progress)
    }

    /// Shows how many studies of the check are settled, and how much time is left.
    pub fn show_place(&mut self, settled: usize, of: usize, left: Duration) {
        self.progress.together(settled, of, left);
    }

    /// Says that the verdict is final, after this time, and how many studies of the check have none
    /// yet.
    pub fn show_settled(&mut self, after: Duration, open: usize) {
        let state = self.underway.judgement().state;
        self.progress.settled(state, after, open);
    }

    /// The study, block by block.
    pub fn underway(&self) -> &Underway<'a> {
        &self.underway
    }

    /// The study, for changes.
    pub fn underway_mut(&mut self) -> &mut Underway<'a> {
        &mut self.underway
    }

    /// Ends the study and keeps its record.
    pub fn end(self, end: End) -> Done {
        let Running { underway, mut progress, path, _claim, _held } = self;
        let (record, end) = underway.end(end, &mut progress);
        progress.finish();
        Done::keep(record, end, &path)
    }
}

/// Begins a study: checks its needs, calibrates its load, and finds a file for its record.
///
/// # Errors
/// If a setting cannot be used or the record cannot be kept; then nothing ran. A missing need is
/// no error: the record then says `skipped`.
pub fn begin<'a>(
    scenario: &'static dyn AnyScenario,
    options: &StudyOptions,
    context: &'a RunContext<'a>,
    asked: Option<&PathBuf>,
    among: Among,
) -> Result<Begun<'a>, Failure> {
    let machine = context.machine;
    let host = context.host();
    let meta = scenario.meta();
    let mut hindered = None;
    let settings = options.settings(scenario)?;
    let mut arms = match scenario.arms(&settings, &host) {
        Ok(arms) => arms,
        Err(missing @ ScenarioError::Missing(_)) => {
            hindered = Some(missing);
            Arms::default()
        }
        Err(other) => return Err(Failure::of(other, Some(meta))),
    };
    // If nothing could be kept, this fails before anything is measured.
    let new = paths::record(context.session, asked, &among.file_name(meta.id))?;
    let claim = claimed(&new)?;
    // If the file cannot be claimed, another run could continue it as well.
    let may_go_on = options.go_on && (asked.is_none() || matches!(claim, Claim::HeldByUs(_)));
    let begun = match may_go_on {
        true => undecided::find(
            asked,
            meta.id,
            &options.plan(scenario, &settings, arms.clone()),
            machine,
        ),
        false => None,
    };
    // The record of an undecided study already has the results of its calibration.
    if begun.is_none()
        && let Err(error) = scenario.calibrate(&mut arms.arms, &host, context.interrupted)
    {
        hindered = Some(error);
    }
    let plan = options.plan(scenario, &settings, arms);
    let path = begun.as_ref().map_or(new, |begun| begun.path.clone());
    let spent = begun.as_ref().map_or(0.0, |begun| begun.facts.elapsed_s);
    let time = options.time(scenario, &plan, machine);
    if let Some(rare) = options.rare {
        output::note(&format!(
            "run {}: trials are long enough to show a freeze that comes once in {}; not-affected \
             needs {} of trials",
            meta.id,
            units::format_duration(rare),
            whole_seconds(options.to_not_affected(scenario, &plan))
        ));
    }
    let time = time.saturating_add(Duration::try_from_secs_f64(spent).unwrap_or_default());
    let plan = begun.as_ref().map_or(plan, |begun| begun.plan.clone());
    let study = context.study(scenario, plan, time, options.probe, &path);
    if let Some(error) = hindered {
        return Ok(Begun::NotRun(Box::new(not_run(&study, error))));
    }
    let anew = option_to_begin_anew(&among);
    let mut progress = Progress::new(meta, among);
    let (facts, held) = match begun {
        Some(begun) => {
            tell_going_on(&begun, anew);
            (begun.facts, begun.held)
        }
        None => (study.facts(), None),
    };
    let underway = study.begin(facts, &mut progress);
    let running = Running { underway, progress, path, _claim: claim, _held: held };
    Ok(Begun::Running(Box::new(running)))
}

/// Begins a study with a complete plan. It runs all its blocks, however long they take.
///
/// # Errors
/// If the record cannot be kept.
pub fn begin_planned<'a>(
    planned: Planned,
    context: &'a RunContext<'a>,
    among: Among,
) -> Result<Running<'a>, Failure> {
    let Planned { scenario, plan, factorial, pair, record } = planned;
    let meta = scenario.meta();
    let path = paths::record(context.session, Some(&record.to_owned()), meta.id)?;
    let claim = claimed(&path)?;
    let study = context.study(scenario, plan, Duration::MAX, ProbeWhen::Never, &path);
    let facts = Facts { factorial: Some(factorial), pair: Some(pair), ..study.facts() };
    let mut progress = Progress::new(meta, among);
    let underway = study.begin(facts, &mut progress);
    Ok(Running { underway, progress, path, _claim: claim, _held: None })
}

fn whole_seconds(time: Duration) -> String {
    units::format_duration(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}

/// Claims to be the only writer of a new record, or of the requested file.
///
/// # Errors
/// If another run writes the file: the run that ends last would overwrite the record of the
/// other.
fn claimed(path: &Path) -> Result<Claim, Failure> {
    match claim::take(path) {
        Claim::HeldByOther(holder) => Err(Failure::usage(format!(
            "--record {}: {} is writing this file; wait for that run, or name another file",
            path.display(),
            claim::process(holder)
        ))),
        claim => Ok(claim),
    }
}

/// Prints which study is continued, and the option that begins a new study. A new study would use
/// an error rate that is already spent.
fn tell_going_on(begun: &Undecided, anew: &str) {
    let blocks = begun.facts.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
    output::note(&format!(
        "continues the undecided study of {} after {blocks} blocks: {}; {anew} starts a new study",
        begun.facts.started,
        begun.path.display()
    ));
}

/// The option with which a command begins a new study instead of continuing an undecided one. A
/// check has no `--fresh`.
fn option_to_begin_anew(among: &Among) -> &'static str {
    match among {
        Among::Check(_) => "--seed N",
        Among::None | Among::Versions(_) | Among::Pair(..) => "--fresh",
    }
}

/// A study that began no trial: a need is missing, or its load could not be calibrated.
fn not_run(study: &Study, error: ScenarioError) -> Done {
    let end = End::from(error);
    Done::nowhere(study.not_run(&end), end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check::Check;
    use crate::commands::run::RunFlags;
    use crate::progress::Shared;
    use clap::{Args, Command};

    #[test]
    fn the_option_that_begins_anew_is_one_of_the_command() {
        let check = Check::augment_args(Command::new("check"));
        let run = RunFlags::augment_args(Command::new("run"));
        let of_check = Among::Check(Shared::new(Duration::ZERO));
        for (among, command) in [(of_check, check), (Among::None, run)] {
            let option = option_to_begin_anew(&among);
            let name = option.split(' ').next().and_then(|word| word.strip_prefix("--"));
            assert!(command.get_arguments().any(|arg| arg.get_long() == name), "{option}");
        }
    }
}
