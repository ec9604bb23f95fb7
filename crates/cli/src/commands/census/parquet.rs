//! `census --parquet`: every verdict and trial, for other programs.

use crate::exit::{self, Failure};
use crate::session::Session;
use crate::{output, page};
use census::Fleet;
use model::Census;
use rows::{Folder, Made, RowsError};
use std::fs::File;
use std::path::Path;

/// The folder of `--parquet`, and a file that holds the trials until they are written there.
pub struct Parquet {
    folder: Folder,
    trials: File,
}

impl Parquet {
    /// Prepares this folder.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let folder = Folder::at(path).map_err(|error| failed(&error))?;
        let trials = folder.nameless().map_err(|error| failed(&error))?;
        Ok(Parquet { folder, trials })
    }

    /// The file that collects the trials while records are read.
    pub fn trials(&self) -> &File {
        &self.trials
    }

    /// Writes all files, and reports that on standard error.
    ///
    /// # Errors
    /// If a file cannot be written.
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
                "parquet: the trials of {} records could not be read and were left out",
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
        _ if error.of_kernel().is_some_and(page::is_full) => Failure::need(line),
        _ => Failure::usage(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_full_disk_is_a_missing_need() {
        let code = |kind: ErrorKind| {
            failed(&RowsError::Io { path: "/x".into(), source: kind.into() }).code
        };
        assert_eq!(code(ErrorKind::StorageFull), exit::NEED);
        assert_eq!(code(ErrorKind::PermissionDenied), exit::USAGE);
        assert_eq!(failed(&RowsError::Interrupted).code, exit::INTERRUPTED);
    }
}
