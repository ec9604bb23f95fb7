//! What records say of their figures, kept in an index so that a thousand of them are not read anew
//! each time. The records stay the truth: the index can be deleted at any time.

use crate::exit::Failure;
use crate::{output, records};
use host::private::{self, PrivateError};
use model::{Estimate, Record, State};
use report::history::Line;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Shape of the tables; an index of another shape is made anew.
const SHAPE: i64 = 2;

/// The tables: a row for each file, and one for each figure of each of its arms.
const TABLES: &str = "
    CREATE TABLE file (path TEXT PRIMARY KEY, size INTEGER, changed INTEGER, record INTEGER);
    CREATE TABLE figure (path TEXT, scenario TEXT, started TEXT, kernel TEXT, verdict TEXT,
        judged TEXT, measure TEXT, arm TEXT, worst INTEGER, estimate TEXT);
    CREATE INDEX figure_path ON figure (path);";

/// The index of the figures of records.
pub struct Past(Connection);

/// Why the index failed.
fn failed(error: &rusqlite::Error) -> Failure {
    Failure::broken(format!("index of the history: {error}; delete it and try again"))
}

impl Past {
    /// Opens the index in the cache folder; one in memory where there is no room for a file, or
    /// where it is damaged beyond being made anew.
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
        if let Some(past) = file.and_then(|file| opened(&file).ok().or_else(|| anew(&file))) {
            return Ok(past);
        }
        let memory = Connection::open_in_memory().map_err(|e| failed(&e))?;
        shaped(memory).map_err(|error| failed(&error))
    }

    /// Takes up what is new or changed among the records of a folder, and forgets what is gone.
    ///
    /// Returns how many files there are that end in `.json` and are no record.
    ///
    /// # Errors
    /// If the folder cannot be read or the index fails.
    pub fn take_up(&mut self, folder: &Path) -> Result<usize, Failure> {
        let files = files(folder)?;
        let work = self.0.transaction().map_err(|error| failed(&error))?;
        let mut strangers = 0;
        for file in &files {
            strangers += usize::from(!take_up(&work, file).map_err(|error| failed(&error))?);
        }
        forget(&work, folder, &files).map_err(|error| failed(&error))?;
        work.commit().map_err(|error| failed(&error))?;
        Ok(strangers)
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

fn opened(file: &Path) -> rusqlite::Result<Past> {
    if file.symlink_metadata().is_ok() {
        // One that somebody else could have written is made anew.
        private::open(file).map_err(|_| rusqlite::Error::InvalidPath(file.to_owned()))?;
    }
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file, flags)?;
    // Another tailback that writes is waited for.
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    shaped(connection)
}

/// An index that is damaged, or of another shape, holds nothing that the records do not.
fn anew(file: &Path) -> Option<Past> {
    std::fs::remove_file(file).ok()?;
    opened(file).ok()
}

fn shaped(connection: Connection) -> rusqlite::Result<Past> {
    let shape: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match shape {
        SHAPE => {}
        0 => {
            connection.execute_batch(TABLES)?;
            connection.pragma_update(None, "user_version", SHAPE)?;
        }
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    Ok(Past(connection))
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

/// Takes up one file unless it is known already; whether it is a record.
fn take_up(work: &Connection, file: &Path) -> rusqlite::Result<bool> {
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
