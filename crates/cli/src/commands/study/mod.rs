//! `tailback study FILE.toml`.

mod consent;
pub mod flags;
mod kernels;
mod record;
mod time;
mod trust;
mod wanted;

use super::run::Done;
use crate::exit::Failure;
use crate::progress::{Among, Progress};
use crate::signals::Interruption;
use crate::{input, output};
use clap::ArgMatches;
use host::Roots;
use model::Facts;
use model::record::Plan;
use report::{Look, Shown};
use runner::studies::{Design, Standing, StudyError, begin_sitting, sketch};
use runner::{End, Study};
use scenarios::{Host, LoadSpawner};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wanted::Wanted;

/// The longest study file, in bytes.
const MOST: u64 = 1 << 20;

/// The most left-out combinations that are listed before a study begins.
const MOST_LISTED: usize = 5;

/// Runs a study, or continues it; the exit code of its verdict.
pub fn study(matches: &ArgMatches) -> Result<u8, Failure> {
    let file = matches.get_one::<PathBuf>("file").ok_or_else(|| Failure::usage("no study file"))?;
    let text = text(file, matches)?;
    let mut design = Design::read(&text, file, matches.get_flag("quick"))?;
    if let Some(samples) = matches.get_one::<u32>("samples") {
        design.exactly(*samples);
    }
    let dry = matches.get_flag("dry-run");
    if !dry {
        trust::check(&design, file, matches.get_flag("trust"))?;
    }
    if let Some(kernel) = matches.get_one::<String>("in-kernel") {
        design.keep_kernel(kernel);
    } else if design.kernels().is_some() && !dry {
        return kernels::study(&design, &text, file, matches);
    }
    let machine = crate::machine::here();
    if dry {
        let wanted = Wanted::laid_out(design, file, &machine, &sketch)?;
        let told = format!("{}{}", time::plan(&wanted), trust::list(&wanted.design));
        output::print(&os::terminal::lines(&told));
        return Ok(0);
    }
    let wanted = Wanted::of(design, file, &machine)?;
    let _lock = lock(file)?;
    let (path, standing, plan) = record::find(&wanted, matches)?;
    let done = match standing {
        Standing::Complete(record) => complete(*record, path),
        Standing::New => wanted.run(0, None, plan, path, matches)?,
        Standing::After(blocks, record) => {
            wanted.run(blocks, Some(*record), plan, path, matches)?
        }
    };
    wanted.show(&done, matches)?;
    done.code()
}

/// The text of the study file: a guest is given it on its command line.
fn text(file: &Path, matches: &ArgMatches) -> Result<String, Failure> {
    if let Some(text) = matches.get_one::<String>("text") {
        return Ok(text.clone());
    }
    input::read_text(file, MOST)
        .map_err(|error| Failure::usage(format!("{}: {error}; name a study file", file.display())))
}

impl Wanted<'_> {
    /// Runs what is left to run after so many blocks.
    fn run(
        &self,
        blocks: u32,
        before: Option<Facts>,
        mut plan: Plan,
        path: PathBuf,
        matches: &ArgMatches,
    ) -> Result<Done, Failure> {
        consent::ask(self, blocks, matches.get_flag("yes"))?;
        let roots = Roots::real();
        let interruption = Interruption::watch();
        let interrupted = || interruption.noticed();
        let host = Host { roots: &roots, machine: self.machine };
        self.scenario
            .calibrate(&mut plan.arms, &host, &interrupted)
            .map_err(|error| Failure::of(error, Some(self.scenario.meta())))?;
        let study = Study {
            scenario: self.scenario,
            plan,
            time: self.design.time.unwrap_or(Duration::MAX),
            host,
            spawner: LoadSpawner::default(),
            argv: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            keep: Some(path.clone()),
            interrupted: &interrupted,
            // The arms of a study are many, and it is their figures that are asked for.
            probe: runner::ProbeWhen::Never,
        };
        if before.is_some() {
            output::note(&format!(
                "study {}: resumes after block {blocks} of {}",
                self.design.name,
                path.display()
            ));
        }
        self.show_left_out();
        let mut facts = before.unwrap_or_else(|| Facts {
            factorial: Some(self.layout.factorial.clone()),
            ..study.facts()
        });
        begin_sitting(&mut facts, blocks);
        let mut progress = Progress::new(self.scenario.meta(), Among::None);
        let (record, end) = study.go_on(facts, &mut progress);
        progress.finish();
        Ok(Done::keep(record, end, &path))
    }

    /// Prints what this machine refuses, before the rest is run; all of it is in the record.
    fn show_left_out(&self) {
        let left_out = &self.layout.arms.left_out;
        for arm in left_out.iter().take(MOST_LISTED) {
            let left_out = report::prose::left_out(arm, Some(self.scenario.meta()));
            output::note(&format!("left out: {left_out}"));
        }
        if left_out.len() > MOST_LISTED {
            output::note(&format!("left out: {} more", left_out.len() - MOST_LISTED));
        }
    }

    /// Prints the result, and writes the report that the file asks for.
    fn show(&self, done: &Done, matches: &ArgMatches) -> Result<(), Failure> {
        let meta = self.scenario.meta();
        match matches.get_flag("json") {
            true => output::json(&done.record.to_json()),
            false => done.show(meta, output::look_of(matches)),
        }
        done.tell_where();
        if matches!(done.end, End::Interrupted) {
            output::note("the same command resumes after the last whole block");
        }
        let Some(path) = &self.design.output.report else { return Ok(()) };
        let file = done.file();
        let look = Look { why: true, ..Look::default() };
        let text = report::record(&Shown::new(&done.record, Some(meta), &file), look);
        runner::save_text(&text, path).map_err(|error| {
            Failure::need(format!("report {error}; name a file that can be written in [output]"))
        })?;
        output::note(&format!("report: {}", path.display()));
        Ok(())
    }
}

/// A study that had come to its end before.
fn complete(facts: Facts, path: PathBuf) -> Done {
    output::note("the study was complete; --fresh runs it again, --samples N runs more blocks");
    Done::there(scenarios::judged(facts), End::Complete, path)
}

/// Keeps a second tailback from the same study for as long as the file is open: both would write
/// one record, and each would disturb the other.
fn lock(file: &Path) -> Result<Option<File>, Failure> {
    let Ok(open) = File::open(file) else { return Ok(None) };
    match open.try_lock() {
        Ok(()) => Ok(Some(open)),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(format!(
            "{}: another tailback is running this study; wait for it, or end it",
            file.display()
        ))),
        // A file system without locks: another run cannot be kept out.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Failure::usage(error.to_string())
    }
}
