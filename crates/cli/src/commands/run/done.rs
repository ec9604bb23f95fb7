//! A study that was run: its record, the place of the record, and the exit code.

use crate::exit::{self, Failure};
use crate::ktap;
use crate::output;
use crate::paths;
use crate::session::Session;
use model::{Judged, Meta};
use report::export::ktap::{Test, Undecided};
use report::{Look, Shown, prose};
use runner::End;
use scenarios::AnyScenario;
use std::path::{Path, PathBuf};

/// A study that was run, or could not run.
pub struct Done {
    /// Its record.
    pub record: Judged,
    /// How it ended.
    pub end: End,
    /// The place of the record; None if nothing was measured.
    kept: Option<Kept>,
}

/// The place of a record.
enum Kept {
    /// In the intended file.
    There(PathBuf),
    /// In another file, for this reason.
    Elsewhere(PathBuf, String),
    /// Lost, for this reason.
    Lost(String),
}

impl Done {
    /// A study whose record is kept in `path`, or in another file if that fails.
    pub fn keep(record: Judged, end: End, path: &Path) -> Self {
        let kept = kept(&record, path);
        Done { record, end, kept }
    }

    /// A study whose record is already in this file.
    pub fn there(record: Judged, end: End, path: PathBuf) -> Self {
        Done { record, end, kept: Some(Kept::There(path)) }
    }

    /// A study that measured nothing; its record is not kept.
    pub fn nowhere(record: Judged, end: End) -> Self {
        Done { record, end, kept: None }
    }

    /// A study whose record is lost.
    #[cfg(test)]
    pub fn lost(record: Judged, end: End) -> Self {
        Done { record, end, kept: Some(Kept::Lost("no space left".to_owned())) }
    }

    /// Shows the record as text. With `--why`, it also shows which task held up which.
    pub fn show(&self, session: &Session, meta: &Meta, look: Look) {
        let file = self.file();
        session.out.print(&report::record(&Shown::new(&self.record, Some(meta), &file), look));
        if look.why && !self.record.probed.is_empty() {
            let explanation = analysis::explain(&self.record, None);
            let text = report::explanation(&explanation, &self.record, Some(meta), look);
            session.out.print(&format!("\n{text}"));
        }
    }

    /// Prints the verdict for a test runner and returns the exit code.
    pub fn ktap(&self, session: &Session, undecided: Undecided) -> u8 {
        let file = self.file();
        let code = self.code().unwrap_or_else(|failure| {
            output::complain(&failure.line);
            failure.code
        });
        let code = ktap::print(session, &[self.test(&file)], undecided, code);
        self.print_path();
        code
    }

    /// The study as a test. A broken or unusable study tells nothing about the machine.
    pub fn test<'a>(&'a self, file: &'a str) -> Test<'a> {
        match (&self.end, self.code()) {
            (End::Broken(_) | End::Unusable(_), Err(failure)) => {
                Test { name: self.record.scenario.clone(), came: Err(failure.line) }
            }
            _ => Test::of(self.shown(file)),
        }
    }

    /// The record for output, with the name of its file.
    pub fn shown<'a>(&'a self, file: &'a str) -> Shown<'a> {
        let scenario = scenarios::find(&self.record.scenario);
        Shown::new(&self.record, scenario.map(AnyScenario::meta), file)
    }

    /// Whether the record is in the intended file, or was not to be kept.
    pub fn is_in_place(&self) -> bool {
        !matches!(self.kept, Some(Kept::Elsewhere(..) | Kept::Lost(_)))
    }

    /// Prints the place of the record on standard error.
    pub fn print_path(&self) {
        match &self.kept {
            // The path inside a guest is useless to the user.
            Some(Kept::There(_)) if self.record.machine.guest.is_some() => {}
            Some(Kept::There(path)) => output::note(&format!("record: {}", path.display())),
            Some(Kept::Elsewhere(path, why)) => {
                output::complain(&format!("{why}; the record was kept as {}", path.display()));
            }
            // A comparison prints no record with --json, and a full disk is one reason of several.
            Some(Kept::Lost(why)) => output::complain(&format!(
                "{why}; the record is lost, unless --json printed it; before the next run, free \
                 some disk space, or set TMPDIR to a folder that can be written"
            )),
            None => {}
        }
    }

    /// The path of the record; empty if it was not kept.
    pub fn file(&self) -> String {
        match &self.kept {
            Some(Kept::There(path) | Kept::Elsewhere(path, _)) => path.display().to_string(),
            Some(Kept::Lost(_)) | None => String::new(),
        }
    }

    /// The exit code, or the error line that ends the program.
    pub fn code(&self) -> Result<u8, Failure> {
        let meta = scenarios::find(&self.record.scenario).map(|scenario| scenario.meta());
        match &self.end {
            End::Unusable(why) => Err(Failure::usage(prose::problem(why, meta))),
            End::Missing(need) => Err(Failure::need(prose::need(need, meta))),
            End::Broken(why) => Err(Failure::broken(prose::problem(why, meta))),
            End::Interrupted => Ok(exit::INTERRUPTED),
            End::Complete if !self.is_in_place() => Ok(exit::NEED),
            End::Complete => Ok(self.record.judgement.state.exit_code()),
        }
    }
}

/// Saves a record that would otherwise be lost.
fn kept(record: &Judged, path: &Path) -> Option<Kept> {
    (!runner::would_lose(record, path)).then(|| save_somewhere(record, path))
}

fn save_somewhere(record: &Judged, path: &Path) -> Kept {
    let Err(error) = runner::save(record, path) else {
        return Kept::There(path.to_owned());
    };
    let why = format!("record {error}");
    paths::fallback(&record.scenario)
        .find(|fallback| fallback != path && runner::save(record, fallback).is_ok())
        .map_or_else(|| Kept::Lost(why.clone()), |fallback| Kept::Elsewhere(fallback, why.clone()))
}
