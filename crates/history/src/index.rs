//! The figures of records: what is new is added, what is gone dropped, and one figure read of each.

use crate::{HistoryError, file};
use host::private::{self, PrivateError};
use model::{Estimate, Record, State};
use report::history::Line;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The longest name in a record that is indexed, in bytes; a record with a longer one counts as
/// none.
const LONGEST_NAME: usize = 4096;

/// The index of the figures of records.
#[derive(Debug)]
pub struct HistoryIndex(Connection);

impl HistoryIndex {
    /// Opens the index in a folder; one in memory where there is none, where the file cannot be
    /// made anew, or where another tailback keeps it locked for too long. `note` is told why.
    ///
    /// # Errors
    /// If not even one in memory can be had.
    pub fn open(folder: Option<&Path>, note: &mut dyn FnMut(&str)) -> Result<Self, HistoryError> {
        let file = folder.and_then(|folder| match private::folder(folder) {
            Ok(folder) => Some(folder.join("history.sqlite")),
            Err(error @ PrivateError::Unsafe { .. }) => {
                note(&format!("index of the history: {error}; it is not kept this time"));
                None
            }
            Err(_) => None,
        });
        match file.map(|file| Self::at(&file)) {
            Some(Ok(index)) => return Ok(index),
            // The records say all of it too; reading them takes longer.
            Some(Err(error)) => note(&format!(
                "index of the history: {error}; the records are read without it this time"
            )),
            None => {}
        }
        Ok(HistoryIndex(file::in_memory()?))
    }

    /// Opens the index in this file, which is made anew where it is not to be believed.
    ///
    /// # Errors
    /// If that cannot be done, or if another tailback keeps it locked for too long.
    pub fn at(file: &Path) -> rusqlite::Result<Self> {
        file::open(file).or_else(|error| file::anew(file, error)).map(HistoryIndex)
    }

    /// Adds what is new or changed among the records of a folder, and drops what is gone.
    ///
    /// `read` reads a file; none where it is no record. Returns how many files there are that end
    /// in `.json` and are no record.
    ///
    /// # Errors
    /// If the folder cannot be read or the index fails.
    pub fn update(
        &mut self,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<Record>,
    ) -> Result<usize, HistoryError> {
        let files = files(folder)?;
        // One that only reads first and writes later could not wait for another that does the same.
        let work = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut not_records = 0;
        for file in &files {
            not_records += usize::from(!update(&work, file, read)?);
        }
        forget(&work, folder, &files)?;
        work.commit()?;
        Ok(not_records)
    }

    /// One figure of the worst arm of each record in a folder, oldest first: the figure that is
    /// judged where none is named.
    ///
    /// # Errors
    /// If the index fails.
    pub fn lines(&self, folder: &Path, measure: Option<&str>) -> Result<Vec<Line>, HistoryError> {
        let mut rows = self.0.prepare(
            "SELECT path, scenario, started, kernel, verdict, measure, arm, estimate FROM figure
             WHERE worst AND measure = coalesce(?1, judged) ORDER BY scenario, started, path",
        )?;
        let mut rows = rows.query([measure])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            // Those of other folders are in the index too.
            lines.extend(line(row)?.filter(|line| Path::new(&line.path).parent() == Some(folder)));
        }
        Ok(lines)
    }
}

/// A row as it is shown; none where it says nothing that this version knows.
fn line(row: &Row<'_>) -> rusqlite::Result<Option<Line>> {
    let (verdict, estimate): (String, String) = (row.get(4)?, row.get(7)?);
    let parts = (state(&verdict), serde_json::from_str::<Estimate>(&estimate).ok());
    let (Some(verdict), Some(estimate)) = parts else { return Ok(None) };
    Ok(Some(Line {
        path: row.get(0)?,
        scenario: row.get(1)?,
        started: row.get(2)?,
        kernel: row.get(3)?,
        verdict,
        measure: row.get(5)?,
        arm: row.get(6)?,
        estimate,
    }))
}

/// The files of a folder that may be records, as absolute paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let entries = std::fs::read_dir(folder)
        .map_err(|source| HistoryError::Folder { folder: folder.to_owned(), source })?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.is_file() && path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// Indexes one file unless it is known already; whether it is a record.
fn update(
    work: &Connection,
    file: &Path,
    read: &dyn Fn(&Path) -> Option<Record>,
) -> rusqlite::Result<bool> {
    let path = file.to_string_lossy();
    let (size, changed) = mark(file);
    let known = work
        .query_row(
            "SELECT record FROM file WHERE path = ?1 AND size = ?2 AND changed = ?3",
            params![path, size, changed],
            |row| row.get::<_, bool>(0),
        )
        .optional()?;
    if let Some(record) = known {
        return Ok(record);
    }
    let record = read(file).filter(fits);
    work.execute("DELETE FROM figure WHERE path = ?1", [&path])?;
    work.execute(
        "INSERT OR REPLACE INTO file VALUES (?1, ?2, ?3, ?4)",
        params![path, size, changed, record.is_some()],
    )?;
    if let Some(record) = &record {
        insert(work, &path, record)?;
    }
    Ok(record.is_some())
}

/// Size and time of the last change, in nanoseconds since 1970.
fn mark(file: &Path) -> (i64, i64) {
    let metadata = std::fs::metadata(file).ok();
    let size = metadata.as_ref().map_or(-1, |metadata| metadata.len().try_into().unwrap_or(-1));
    let changed =
        metadata.and_then(|metadata| metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    (size, changed.map_or(-1, |since| since.as_nanos().try_into().unwrap_or(-1)))
}

/// Whether the names in a record are short enough for the index.
fn fits(record: &Record) -> bool {
    let short = |text: &str| text.len() <= LONGEST_NAME;
    let names: [&str; 4] =
        [&record.scenario, &record.started, &record.host.kernel, &record.plan.judging.measure];
    let arms =
        record.arms.iter().all(|arm| short(&arm.id) && arm.measures.keys().all(|n| short(n)));
    arms && names.into_iter().all(short) && record.verdict.measure.as_deref().is_none_or(short)
}

fn insert(work: &Connection, path: &str, record: &Record) -> rusqlite::Result<()> {
    let judged = record.verdict.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let worst = model::worst_case(&record.arms, judged).map(|arm| arm.id.as_str());
    for arm in &record.arms {
        for (measure, estimate) in &arm.measures {
            // Finite figures and text keys always serialise.
            let estimate = serde_json::to_string(estimate).unwrap_or_default();
            work.execute(
                "INSERT INTO figure VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    path,
                    record.scenario,
                    record.started,
                    record.host.kernel,
                    record.verdict.state.word(),
                    judged,
                    measure,
                    arm.id,
                    worst == Some(arm.id.as_str()),
                    estimate
                ],
            )?;
        }
    }
    Ok(())
}

/// Forgets the files of a folder that are gone.
fn forget(work: &Connection, folder: &Path, files: &[PathBuf]) -> rusqlite::Result<()> {
    let mut known = work.prepare("SELECT path FROM file")?;
    let known: rusqlite::Result<Vec<String>> = known.query_map([], |row| row.get(0))?.collect();
    for path in known? {
        let file = Path::new(&path);
        if file.parent() == Some(folder) && files.binary_search(&file.to_owned()).is_err() {
            work.execute("DELETE FROM figure WHERE path = ?1", [&path])?;
            work.execute("DELETE FROM file WHERE path = ?1", [&path])?;
        }
    }
    Ok(())
}

fn state(word: &str) -> Option<State> {
    State::ALL.into_iter().find(|state| state.word() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_at_once_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        let one = || {
            let mut index = HistoryIndex::at(&file).unwrap();
            index.update(folder.path(), &|_| None).unwrap();
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(one);
            }
        });
    }
}
