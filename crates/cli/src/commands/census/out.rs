//! A census for other programs: another format, and folders of Parquet.

use crate::exit::{self, Failure};
use crate::signals::Interruption;
use crate::{output, page};
use census::{Fleet, Verdicts};
use clap::ArgMatches;
use model::Census;
use report::export::census::{CensusFormat, answers};
use report::export::node_problem;
use rows::{Folder, Made, Origin, RowsError};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The format that is made of every answer, and so not by `report`.
pub const KCIDB: &str = "kcidb";

/// Where `--parquet` goes, and what keeps trials until they are written.
pub struct Parquet {
    folder: Folder,
    /// The trials of records that were read.
    pub trials: File,
}

impl Parquet {
    /// What was asked for.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn asked(matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        let Some(path) = matches.get_one::<PathBuf>("parquet") else { return Ok(None) };
        let folder = Folder::at(path).map_err(|error| failed(&error))?;
        let trials = folder.nameless().map_err(|error| failed(&error))?;
        Ok(Some(Parquet { folder, trials }))
    }

    /// Writes it, and says so on standard error.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, fleet: &Fleet, census: &Census) -> Result<(), Failure> {
        let made = Made { version: census.version.clone(), taken: census.taken.clone() };
        let interruption = Interruption::watch();
        let ends = || interruption.noticed();
        let written = rows::write(fleet, &self.trials, &self.folder, &made, &ends);
        let written = written.map_err(|error| failed(&error))?;
        output::note(&format!(
            "parquet: {} verdicts, {} trials, {} files",
            written.verdicts, written.trials, written.files
        ));
        if fleet.lost_trials() > 0 {
            output::note(&format!(
                "parquet: the trials of {} records cannot be read, and are not there",
                fleet.lost_trials()
            ));
        }
        Ok(())
    }
}

fn failed(error: &RowsError) -> Failure {
    let line = format!("--parquet {error}");
    match error {
        RowsError::Interrupted => Failure { line, code: exit::INTERRUPTED },
        _ => Failure::usage(line),
    }
}

/// Writes the census in the format that was asked for; the exit code where the format has its own.
///
/// # Errors
/// If it cannot be written.
pub fn format(
    name: &str,
    fleet: &Fleet,
    census: &Census,
    matches: &ArgMatches,
) -> Result<Option<u8>, Failure> {
    let path = matches.get_one::<PathBuf>("output");
    if name == KCIDB {
        return kcidb(fleet, census, matches, path).map(|()| None);
    }
    let known = CensusFormat::ALL.into_iter().find(|(format, _)| *format == name);
    let (_, format) =
        known.ok_or_else(|| Failure::usage("no such --format; see tailback census --help"))?;
    page::write(&format.write(census).map_err(page::failed)?, path)?;
    let is_plugin = format == CensusFormat::NodeProblem;
    Ok(is_plugin.then(|| node_problem::code(&answers(census))))
}

/// All answers one by one, never all in memory.
fn kcidb(
    fleet: &Fleet,
    census: &Census,
    matches: &ArgMatches,
    path: Option<&PathBuf>,
) -> Result<(), Failure> {
    let verdicts = Verdicts::of(fleet);
    let Some(origin) = matches.get_one::<Origin>("origin") else {
        return Err(Failure::usage("--origin is missing; name the CI system"));
    };
    let mut fill =
        |out: &mut dyn Write| rows::kcidb(&verdicts, census.unreachable.as_ref(), origin, out);
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => save(&mut fill, path),
        None => {
            output::stream(&mut fill);
            Ok(())
        }
    }
}

fn save(fill: runner::Fill, path: &Path) -> Result<(), Failure> {
    let path = crate::paths::for_page("--output", path)?;
    runner::save_with(fill, &path)
        .map_err(|error| Failure::usage(format!("{error}; name a file that can be written")))
}
