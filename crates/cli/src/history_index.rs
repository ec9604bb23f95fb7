//! An index of the records' figures, so that a thousand records are not read each time. The records
//! are authoritative: the index can be deleted at any time.

use crate::exit::Failure;
use crate::{output, records};
use host::private::{self, PrivateError};
use model::{Estimate, Record, State};
use report::history::Line;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Version of the tables; an index of another version is rebuilt.
const SCHEMA: i64 = 2;

/// How long another tailback that writes the index is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tables: a row for each file, and one for each figure of each of its arms.
const TABLES: &str = "
    CREATE TABLE file (path TEXT PRIMARY KEY, size INTEGER, changed INTEGER, record INTEGER);
    CREATE TABLE figure (path TEXT, scenario TEXT, started TEXT, kernel TEXT, verdict TEXT,
        judged TEXT, measure TEXT, arm TEXT, worst INTEGER, estimate TEXT);
    CREATE INDEX figure_path ON figure (path);";

/// The index of the figures of records.
#[derive(Debug)]
pub struct HistoryIndex(Connection);

/// Why the index failed.
fn failed(error: &rusqlite::Error) -> Failure {
    Failure::broken(format!("index of the history: {error}; delete it and try again"))
}

impl HistoryIndex {
    /// Opens the index in the cache folder; one in memory where there is no room for a file, where it
    /// cannot be rebuilt, or where another tailback keeps it locked for too long.
    ///
    /// # Errors
    /// If not even one in memory can be had.
    pub fn open() -> Result<Self, Failure> {
        let file =
            os::folders::cache().and_then(|cache| match private::folder(&cache.join("tailback")) {
                Ok(folder) => Some(folder.join("history.sqlite")),
                Err(error @ PrivateError::Unsafe { .. }) => {
                    output::note(&format!(
                        "index of the history: {error}; it is not kept this time"
                    ));
                    None
                }
                Err(_) => None,
            });
        match file.map(|file| opened(&file).or_else(|error| rebuilt(&file, error))) {
            Some(Ok(index)) => return Ok(index),
            // The records say all of it too; reading them takes longer.
            Some(Err(error)) => output::note(&format!(
                "index of the history: {error}; the records are read without it this time"
            )),
            None => {}
        }
        let memory = Connection::open_in_memory().map_err(|e| failed(&e))?;
        shaped(memory).map_err(|error| failed(&error))
    }

    /// Adds what is new or changed among the records of a folder, and drops what is gone.
    ///
    /// Returns how many files there are that end in `.json` and are no record.
    ///
    /// # Errors
    /// If the folder cannot be read or the index fails.
    pub fn update(&mut self, folder: &Path) -> Result<usize, Failure> {
        let files = files(folder)?;
        // One that only reads first and writes later could not wait for another that does the same.
        let work = self.0.transaction_with_behavior(TransactionBehavior::Immediate);
        let work = work.map_err(|error| failed(&error))?;
        let mut not_records = 0;
        for file in &files {
            not_records += usize::from(!update(&work, file).map_err(|error| failed(&error))?);
        }
        forget(&work, folder, &files).map_err(|error| failed(&error))?;
        work.commit().map_err(|error| failed(&error))?;
        Ok(not_records)
    }

    /// One figure of the worst arm of each record in a folder, oldest first: the figure that is
    /// judged where none is named.
    ///
    /// # Errors
    /// If the index fails.
    pub fn lines(&self, folder: &Path, measure: Option<&str>) -> Result<Vec<Line>, Failure> {
        self.select(folder, measure).map_err(|error| failed(&error))
    }

    fn select(&self, folder: &Path, measure: Option<&str>) -> rusqlite::Result<Vec<Line>> {
        let mut rows = self.0.prepare(
            "SELECT path, scenario, started, kernel, verdict, measure, arm, estimate FROM figure
             WHERE worst AND measure = coalesce(?1, judged) ORDER BY scenario, started, path",
        )?;
        let rows = rows.query_map([measure], |row| {
            let path: String = row.get(0)?;
            let verdict: String = row.get(4)?;
            let estimate: String = row.get(7)?;
            let parts = (state(&verdict), serde_json::from_str::<Estimate>(&estimate).ok());
            let (Some(verdict), Some(estimate)) = parts else { return Ok(None) };
            Ok(Some(Line {
                path,
                scenario: row.get(1)?,
                started: row.get(2)?,
                kernel: row.get(3)?,
                verdict,
                measure: row.get(5)?,
                arm: row.get(6)?,
                estimate,
            }))
        })?;
        let inside = |line: &Line| Path::new(&line.path).parent() == Some(folder);
        let lines: rusqlite::Result<Vec<Option<Line>>> = rows.collect();
        Ok(lines?.into_iter().flatten().filter(inside).collect())
    }
}

fn opened(file: &Path) -> rusqlite::Result<HistoryIndex> {
    if file.symlink_metadata().is_ok() {
        // One that another user could have written is rebuilt.
        private::open(file).map_err(|_| rusqlite::Error::InvalidPath(file.to_owned()))?;
    }
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file, flags)?;
    // Another tailback that writes is waited for.
    connection.busy_timeout(PATIENCE)?;
    shaped(connection)
}

/// An index that is no database, damaged, of another version, or not ours holds nothing that the records
/// do not: it is rebuilt. After any other error, as where it is locked, it stays.
fn rebuilt(file: &Path, error: rusqlite::Error) -> rusqlite::Result<HistoryIndex> {
    let worthless = match &error {
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
        }
        rusqlite::Error::InvalidQuery | rusqlite::Error::InvalidPath(_) => true,
        _ => false,
    };
    if !worthless || std::fs::remove_file(file).is_err() {
        return Err(error);
    }
    opened(file)
}

fn shaped(mut connection: Connection) -> rusqlite::Result<HistoryIndex> {
    let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let shape: i64 = work.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match shape {
        SCHEMA => {}
        0 => {
            work.execute_batch(TABLES)?;
            work.pragma_update(None, "user_version", SCHEMA)?;
        }
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    work.commit()?;
    Ok(HistoryIndex(connection))
}

/// The files of a folder that may be records, as absolute paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        Failure::usage(format!("{}: {error}; name a folder of records", folder.display()))
    })?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.is_file() && path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// Indexes one file unless it is known already; whether it is a record.
fn update(work: &Connection, file: &Path) -> rusqlite::Result<bool> {
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
    let record = records::read(file).ok();
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
    let all = [
        State::Affected,
        State::NotAffected,
        State::Inconclusive,
        State::Untrustworthy,
        State::Skipped,
    ];
    all.into_iter().find(|state| state.word() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_locked_stays_and_one_that_is_none_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        drop(opened(&file).unwrap());
        let size = || std::fs::metadata(&file).unwrap().len();
        let whole = size();
        let locked = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        assert!(rebuilt(&file, rusqlite::Error::SqliteFailure(locked, None)).is_err());
        assert_eq!(size(), whole);
        std::fs::write(&file, "no database, and long enough to be looked at as one").unwrap();
        let error = opened(&file).unwrap_err();
        rebuilt(&file, error).unwrap();
        assert_eq!(size(), whole);
    }

    #[test]
    fn several_at_once_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        let one = || {
            let mut index = opened(&file).unwrap();
            index.update(folder.path()).unwrap();
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(one);
            }
        });
    }
}
