//! `tailback study FILE.toml`.

mod consent;
mod flags;
mod kernels;
mod planned;
mod record;
mod time;
mod trust;
mod wanted;

use super::run::Done;
use crate::command::{Failure, Run, Session};
use crate::output;
use crate::progress::{Among, Progress};
pub use flags::StudyFile;
use host::Roots;
use model::Facts;
use model::record::Plan;
pub use planned::{HowPlanned, PlannedFile, planned, take_calibrated};
use report::{Look, Shown};
use runner::studies::{Design, Standing, begin_sitting, sketch};
use runner::{End, Study};
use scenarios::{Host, LoadSpawner};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wanted::Wanted;

/// The most left-out combinations that are listed before a study begins.
const MOST_LISTED: usize = 5;

/// How long to wait for the lock of a run that was just killed. Its processes end a moment after
/// the signal.
const JUST_KILLED: Duration = Duration::from_millis(500);

/// Pause between two tries to lock a study.
const PAUSE: Duration = Duration::from_millis(5);

impl Run for StudyFile {
    /// Runs a study, or continues it. The exit code is the one of its verdict.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let file = self.file.as_path();
        let text = self.text()?;
        let mut design = Design::read(&text, file, self.quick)?;
        if let Some(samples) = self.samples {
            design.exactly(samples);
        }
        if !self.dry_run {
            trust::check(&design, file, self.trust)?;
        }
        if let Some(kernel) = &self.in_kernel {
            design.keep_kernel(kernel);
        } else if design.kernels().is_some() && !self.dry_run {
            return kernels::study(session, &design, &text, self);
        }
        let machine = session.machine();
        if self.dry_run {
            let wanted = Wanted::laid_out(design, file, &machine, &session.otps, &sketch)?;
            let plan = format!("{}{}", time::plan(&wanted), trust::list(&wanted.design));
            session.out.print(&os::terminal::lines(&plan));
            return Ok(0);
        }
        let wanted = Wanted::of(design, file, &machine, &session.otps)?;
        let _lock = lock(file, JUST_KILLED)?;
        let (path, standing, plan) = record::find(session, &wanted, self)?;
        let done = match standing {
            Standing::Complete(record) => complete(*record, path),
            Standing::New => wanted.run(session, 0, None, plan, path, self.yes)?,
            Standing::After(blocks, record) => {
                wanted.run(session, blocks, Some(*record), plan, path, self.yes)?
            }
        };
        wanted.show(session, &done, self)?;
        done.code()
    }

    fn load(&self) -> Option<String> {
        (!self.dry_run).then(|| "study".to_owned())
    }
}

impl StudyFile {
    /// The text of the study file. A guest gets it on its command line.
    fn text(&self) -> Result<String, Failure> {
        self.text.as_ref().map_or_else(|| planned::text(&self.file), |text| Ok(text.clone()))
    }
}

impl Wanted<'_> {
    /// Runs the rest of the study after `blocks` blocks.
    fn run(
        &self,
        session: &Session,
        blocks: u32,
        before: Option<Facts>,
        mut plan: Plan,
        path: PathBuf,
        yes: bool,
    ) -> Result<Done, Failure> {
        consent::ask(self, blocks, yes)?;
        let roots = Roots::real();
        let interruption = session.interruption();
        let interrupted = || interruption.noticed();
        let host = Host { roots: &roots, machine: self.machine, otps: &session.otps };
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
            // A study has many arms, and its purpose is their figures, not the explanation of a
            // stall.
            probe: runner::ProbeWhen::Never,
        };
        if before.is_some() {
            output::note(&format!(
                "study {}: resumes after block {blocks}: {}",
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

    /// Prints the combinations that this machine refuses, before the others run. The record lists
    /// all of them.
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
    fn show(&self, session: &Session, done: &Done, flags: &StudyFile) -> Result<(), Failure> {
        let meta = self.scenario.meta();
        match flags.json {
            true => session.out.json(&done.record.to_json()),
            false => done.show(session, meta, output::look_with(flags.why)),
        }
        done.print_path();
        // A record in another file is not found by the next run.
        if matches!(done.end, End::Interrupted) && done.is_in_place() {
            output::note(how_to_resume(flags.fresh));
        }
        let Some(path) = &self.design.output.report else { return Ok(()) };
        let file = done.file();
        let look = Look { why: true, ..Look::default() };
        let text = report::record(&Shown::new(&done.record, Some(meta), &file), look);
        runner::save_text(&text, path).map_err(|error| {
            Failure::need(format!("report {error}; in [output], name a file that can be written"))
        })?;
        output::note(&format!("report: {}", path.display()));
        Ok(())
    }
}

/// The command that resumes an interrupted study. `--fresh` would throw its blocks away again.
fn how_to_resume(fresh: bool) -> &'static str {
    match fresh {
        true => "the same command without --fresh resumes after the last whole block",
        false => "the same command resumes after the last whole block",
    }
}

/// A study that was already complete.
fn complete(facts: Facts, path: PathBuf) -> Done {
    output::note(
        "the study is already complete; --fresh runs it again, --samples N runs more blocks",
    );
    Done::there(scenarios::judged(facts), End::Complete, path)
}

/// Locks the study while the file is open, so that no second tailback runs it. Two would write
/// one record and disturb each other. A lock that another process holds is tried again for
/// `patience`.
fn lock(file: &Path, patience: Duration) -> Result<Option<File>, Failure> {
    let Ok(open) = File::open(file) else { return Ok(None) };
    let deadline = Instant::now() + patience;
    loop {
        match open.try_lock() {
            Ok(()) => return Ok(Some(open)),
            // The lock does not tell whether its holder is about to end.
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::usage(format!(
                    "{}: another tailback is running this study; wait for it, or end it",
                    file.display()
                )));
            }
            // The file system has no locks, so another run cannot be kept out.
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_that_was_begun_afresh_resumes_without_that_flag() {
        assert!(how_to_resume(true).contains("without --fresh resumes"));
        assert!(!how_to_resume(false).contains("--fresh"));
    }

    #[test]
    fn the_lock_of_a_run_that_ends_is_waited_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = lock(file.path(), Duration::ZERO).unwrap().unwrap();
        let refused = lock(file.path(), Duration::ZERO).unwrap_err();
        assert!(refused.line.contains("another tailback"), "{}", refused.line);
        let ends = std::thread::spawn(move || {
            std::thread::sleep(10 * PAUSE);
            drop(held);
        });
        assert!(lock(file.path(), Duration::from_secs(60)).unwrap().is_some());
        ends.join().unwrap();
    }
}
