//! `tailback run SCENARIO`.

use crate::claim::{self, Claim};
use crate::exit::{self, Failure};
use crate::output;
use crate::paths;
use crate::progress::{Progress, Round};
use crate::settings::StudyOptions;
use crate::signals::Interruption;
use crate::undecided::{self, Undecided};
use clap::ArgMatches;
use host::Roots;
use model::{Machine, Meta, Record};
use report::{Look, Shown};
use runner::{End, Study};
use scenarios::{AnyScenario, Arms, Host, LoadSpawner, Missing, ScenarioError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs one scenario; the exit code of its verdict.
pub fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    let (id, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no scenario"))?;
    let scenario = scenarios::find(id)
        .ok_or_else(|| Failure::usage(format!("no scenario {id}; see tailback list")))?;
    let machine = crate::machine::here();
    let options = StudyOptions::of_run(scenario, matches)?;
    let asked = matches.get_one::<PathBuf>("record");
    let done = study(scenario, &options, &machine, asked, &Interruption::watch(), None)?;
    if matches.get_flag("json") {
        output::json(&done.record.to_json());
    } else {
        done.show(scenario.meta(), output::look_of(matches));
    }
    done.tell_where();
    done.code()
}

/// A study that was run, or that could not be.
pub struct Done {
    /// Its record.
    pub record: Record,
    /// How it ended.
    pub end: End,
    /// Where the record is kept; nowhere where nothing was measured.
    kept: Option<Kept>,
}

/// Where a record ended up.
enum Kept {
    /// Where it should be.
    There(PathBuf),
    /// Elsewhere, and why.
    Elsewhere(PathBuf, String),
    /// Nowhere, and why.
    Lost(String),
}

impl Done {
    /// A study whose record is kept here, or elsewhere where that fails.
    pub fn keep(record: Record, end: End, path: &Path) -> Self {
        let kept = kept(&record, path);
        Done { record, end, kept }
    }

    /// A study whose record stands here already.
    pub fn there(record: Record, end: End, path: PathBuf) -> Self {
        Done { record, end, kept: Some(Kept::There(path)) }
    }

    /// Shows the record as text; with its reasons, who held up whom too.
    pub fn show(&self, meta: &Meta, look: Look) {
        let file = self.file();
        output::print(&report::record(&Shown::new(&self.record, Some(meta), &file), look));
        if look.why && !self.record.probed.is_empty() {
            let explanation = analysis::explain(&self.record, None);
            let text = report::explanation(&explanation, Some(meta), look);
            output::print(&format!("\n{text}"));
        }
    }

    /// Says on standard error where the record is.
    pub fn tell_where(&self) {
        match &self.kept {
            // Where a guest keeps its record is of no use to anybody.
            Some(Kept::There(_)) if self.record.host.guest.is_some() => {}
            Some(Kept::There(path)) => output::note(&format!("record: {}", path.display())),
            Some(Kept::Elsewhere(path, why)) => {
                output::complain(&format!("{why}; the record was kept as {}", path.display()));
            }
            Some(Kept::Lost(why)) => output::complain(&format!(
                "{why}; the record is lost: free some room and run with --json to have it on \
                 standard output"
            )),
            None => {}
        }
    }

    /// The file of the record; empty where it has none.
    pub fn file(&self) -> String {
        match &self.kept {
            Some(Kept::There(path) | Kept::Elsewhere(path, _)) => path.display().to_string(),
            Some(Kept::Lost(_)) | None => String::new(),
        }
    }

    /// The exit code, or the line that ends the program.
    pub fn code(&self) -> Result<u8, Failure> {
        match &self.end {
            End::Unusable(why) => Err(Failure::usage(why.clone())),
            End::Missing(why) => Err(Failure::need(why.clone())),
            End::Broken(why) => Err(Failure::broken(why.clone())),
            End::Interrupted => Ok(exit::INTERRUPTED),
            End::Complete if matches!(self.kept, Some(Kept::Elsewhere(..) | Kept::Lost(_))) => {
                Ok(exit::NEED)
            }
            End::Complete => Ok(self.record.verdict.state.exit_code()),
        }
    }
}

/// Runs one study and keeps its record.
///
/// # Errors
/// If a setting cannot be used or the record cannot be kept; then nothing was run. A missing need
/// is no error: it is a record that says `skipped`. `round` is the study's place in a check.
pub fn study(
    scenario: &'static dyn AnyScenario,
    options: &StudyOptions,
    machine: &Machine,
    asked: Option<&PathBuf>,
    interruption: &Interruption,
    round: Option<Round>,
) -> Result<Done, Failure> {
    let roots = Roots::real();
    let host = Host { roots: &roots, machine };
    let meta = scenario.meta();
    let interrupted = || interruption.noticed();
    let mut hindered = None;
    let mut arms = match scenario.arms(&options.settings, &host) {
        Ok(arms) => arms,
        Err(missing @ ScenarioError::Missing(_)) => {
            hindered = Some(missing);
            Arms::default()
        }
        Err(other) => return Err(other.into()),
    };
    // Refused before anything is measured where nothing could be kept.
    let new = paths::record(asked, meta.id)?;
    let claim = claimed(&new)?;
    // In a file that cannot be claimed another run could go on as well.
    let may_go_on = options.go_on && (asked.is_none() || matches!(claim, Claim::Ours(_)));
    let mut begun = match may_go_on {
        true => undecided::find(asked, meta.id, &options.plan(scenario, arms.clone()), machine),
        false => None,
    };
    // Until the record is kept for the last time.
    let _held = begun.as_mut().and_then(|begun| begun.held.take());
    // What was tried out for an undecided study stands in its record.
    if begun.is_none()
        && let Err(error) = scenario.calibrate(&mut arms.arms, &host, &interrupted)
    {
        hindered = Some(error);
    }
    let plan = options.plan(scenario, arms);
    let path = begun.as_ref().map_or(new, |begun| begun.path.clone());
    let spent = begun.as_ref().map_or(0.0, |begun| begun.record.elapsed_s);
    let time = options.time(scenario, &plan, machine);
    let study = Study {
        scenario,
        time: time.saturating_add(Duration::try_from_secs_f64(spent).unwrap_or_default()),
        plan: begun.as_ref().map_or(plan, |begun| begun.plan.clone()),
        host,
        spawner: LoadSpawner::default(),
        argv: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        keep: Some(&path),
        probe: options.probe,
        interrupted: &interrupted,
    };
    if let Some(error) = hindered {
        return Ok(not_run(&study, error));
    }
    let mut progress = Progress::new(meta, round);
    let (record, end) = match begun {
        Some(begun) => {
            tell_going_on(&begun);
            study.go_on(begun.record, &mut progress)
        }
        None => study.run(&mut progress),
    };
    progress.finish();
    Ok(Done::keep(record, end, &path))
}

/// The claim to be the only writer of a new record, or of the file that was asked for.
///
/// # Errors
/// If another run writes it: the one that ends last would leave nothing of the other.
fn claimed(path: &Path) -> Result<Claim, Failure> {
    match claim::take(path) {
        Claim::Theirs(holder) => Err(Failure::usage(format!(
            "--record {}: {} is writing it; wait for it, or name another file",
            path.display(),
            claim::process(holder)
        ))),
        claim => Ok(claim),
    }
}

/// Says which study is gone on with: a new one would look again at an error rate that is spent.
fn tell_going_on(begun: &Undecided) {
    let blocks = begun.record.verdict.test.as_ref().map_or(0, |test| test.blocks);
    output::note(&format!(
        "goes on with the undecided study of {}, after {blocks} blocks: {}; --fresh starts anew",
        begun.record.started,
        begun.path.display()
    ));
}

/// A study of which no trial was begun: a need is missing, or its load could not be tried out.
fn not_run(study: &Study, error: ScenarioError) -> Done {
    let missing = match &error {
        ScenarioError::Missing(missing) => missing.clone(),
        other => Missing { what: other.to_string(), grant: "run it again".to_owned() },
    };
    Done { record: study.not_run(&missing), end: End::from(error), kept: None }
}

/// Makes sure that the record is somewhere.
fn kept(record: &Record, path: &Path) -> Option<Kept> {
    (!runner::would_lose(record, path)).then(|| save_somewhere(record, path))
}

fn save_somewhere(record: &Record, path: &Path) -> Kept {
    let Err(error) = runner::save(record, path) else {
        return Kept::There(path.to_owned());
    };
    let why = format!("record {error}");
    paths::fallback(&record.scenario)
        .into_iter()
        .find(|fallback| fallback != path && runner::save(record, fallback).is_ok())
        .map_or_else(|| Kept::Lost(why.clone()), |fallback| Kept::Elsewhere(fallback, why.clone()))
}
