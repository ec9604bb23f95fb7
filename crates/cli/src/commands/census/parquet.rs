//! `census --parquet`: every answer and trial, for other programs.

use crate::exit::{self, Failure};
use crate::output;
use crate::session::Session;
use census::Fleet;
use model::Census;
use rows::{Folder, Made, RowsError};
use std::fs::File;
use std::path::Path;

/// Where `--parquet` goes, and what keeps trials until they are written.
pub struct Parquet {
    folder: Folder,
    trials: File,
}

impl Parquet {
    /// In this folder.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let folder = Folder::at(path).map_err(|error| failed(&error))?;
        let trials = folder.nameless().map_err(|error| failed(&error))?;
        Ok(Parquet { folder, trials })
    }

    /// The file for the trials of records as they are read.
    pub fn trials(&self) -> &File {
        &self.trials
    }

    /// Writes it, and says so on standard error.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, session: &Session, fleet: &Fleet, census: &Census) -> Result<(), Failure> {
        let made = Made { version: census.version.clone(), taken: census.taken.clone() };
        let interruption = session.interruption();
        let ends = || interruption.noticed();
        let written = rows::write(fleet, &self.trials, &self.folder, &made, &ends);
        let written = written.map_err(|error| failed(&error))?;
        output::note(&format!(
            "parquet: {} verdicts, {} trials, {} files",
            written.verdicts, written.trials, written.files
        ));
        if fleet.lost_trials() > 0 {
            output::note(&format!(
                "parquet: the trials of {} records cannot be read and were left out",
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
