//! The file of the index: an SQLite database that is believed only after a check.
//!
//! A database can hold much that costs time or means something else: a view in the place of a
//! table, a trigger, pages that refer to each other in a circle. So its tables have to be ours to
//! the letter, and SQLite has to find each page, row and type in order, before a row is read.

use host::private;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// Version of the tables; an index of another version is made anew.
const SCHEMA: i64 = 3;

/// How long another tailback that writes the index is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest index that is used, in bytes; the check reads all of it.
const MOST: u64 = 1 << 30;

/// The longest row that is read or written, in bytes.
const LONGEST: i32 = 1 << 20;

/// The tables: a row for each file, and one for each figure of each of its arms. Strict, so that
/// the check of the database looks at the types too.
const TABLES: [(&str, &str); 3] = [
    (
        "file",
        "CREATE TABLE file (path TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, \
         changed INTEGER NOT NULL, record INTEGER NOT NULL) STRICT",
    ),
    (
        "figure",
        "CREATE TABLE figure (path TEXT NOT NULL, scenario TEXT NOT NULL, started TEXT NOT NULL, \
         kernel TEXT NOT NULL, verdict TEXT NOT NULL, judged TEXT NOT NULL, measure TEXT NOT NULL, \
         arm TEXT NOT NULL, worst INTEGER NOT NULL, estimate TEXT NOT NULL) STRICT",
    ),
    ("figure_path", "CREATE INDEX figure_path ON figure (path)"),
];

/// The bytes of the longest row, which are counted without the row being read.
const LENGTHS: &str = "SELECT coalesce(max(bytes), 0) FROM (
    SELECT octet_length(path) AS bytes FROM file UNION ALL
    SELECT octet_length(path) + octet_length(scenario) + octet_length(started) + octet_length(kernel)
        + octet_length(verdict) + octet_length(judged) + octet_length(measure) + octet_length(arm)
        + octet_length(estimate) FROM figure)";

/// Opens the index in a file that is the caller's alone, or makes it there.
///
/// # Errors
/// If it cannot be opened, is locked for too long, or is not to be believed.
pub(crate) fn open(file: &Path) -> rusqlite::Result<Connection> {
    if let Ok(found) = file.symlink_metadata() {
        // One that another user could have written is made anew.
        let refused = || rusqlite::Error::InvalidPath(file.to_owned());
        private::open(file).map_err(|_| refused())?;
        if found.len() > MOST {
            return Err(refused());
        }
    }
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file, flags)?;
    // Another tailback that writes is waited for.
    connection.busy_timeout(PATIENCE)?;
    shaped(connection)
}

/// An index that no file holds.
///
/// # Errors
/// If there is no memory.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    shaped(Connection::open_in_memory()?)
}

/// Makes an index anew that is no database, damaged, of another version, or not ours: it holds
/// nothing that the records do not. After any other error, as where it is locked, it stays.
///
/// # Errors
/// That error, or what came of the second attempt.
pub(crate) fn anew(file: &Path, error: rusqlite::Error) -> rusqlite::Result<Connection> {
    // SQLite itself drops a journal that is left beside a file that is new.
    if !is_worthless(&error) || std::fs::remove_file(file).is_err() {
        return Err(error);
    }
    open(file)
}

/// Whether the error says that the file is no index of ours.
fn is_worthless(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            // The last is a schema that SQLite cannot read.
            ErrorCode::NotADatabase
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::TooBig
                | ErrorCode::Unknown
        ),
        rusqlite::Error::InvalidQuery
        | rusqlite::Error::InvalidPath(_)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    }
}

fn shaped(mut connection: Connection) -> rusqlite::Result<Connection> {
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match work.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? {
        SCHEMA => check(&work)?,
        0 if entries(&work)?.is_empty() => make(&work)?,
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    work.commit()?;
    Ok(connection)
}

fn make(work: &Transaction<'_>) -> rusqlite::Result<()> {
    for (_, statement) in TABLES {
        work.execute(statement, [])?;
    }
    work.pragma_update(None, "user_version", SCHEMA)
}

/// Refuses a database whose tables are not ours, or that is not in order.
fn check(work: &Transaction<'_>) -> rusqlite::Result<()> {
    let ours = TABLES.map(|(name, statement)| (name.to_owned(), statement.to_owned()));
    if entries(work)? != ours {
        return Err(rusqlite::Error::InvalidQuery);
    }
    let found: String = work.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    let longest: i64 = work.query_row(LENGTHS, [], |row| row.get(0))?;
    if found == "ok" && longest <= i64::from(LONGEST) {
        return Ok(());
    }
    Err(rusqlite::Error::InvalidQuery)
}

/// What the database says that it holds, in the order in which it was made; one entry more than it
/// may have is enough.
fn entries(work: &Transaction<'_>) -> rusqlite::Result<Vec<(String, String)>> {
    let mut rows = work.prepare(
        "SELECT name, substr(sql, 1, 1000) FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid LIMIT ?1",
    )?;
    let rows = rows.query_map([TABLES.len() as i64 + 1], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// An index whose file was changed by these statements since it was made.
    fn changed(statements: &str) -> (tempfile::TempDir, rusqlite::Result<Connection>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        drop(open(&file).unwrap());
        let hostile = Connection::open(&file).unwrap();
        hostile.execute_batch(statements).unwrap();
        drop(hostile);
        let opened = open(&file);
        (folder, opened)
    }

    #[test]
    fn tables_that_are_not_ours_are_refused_and_made_anew() {
        for statements in [
            "DROP TABLE figure; CREATE VIEW figure AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL \
             SELECT i + 1 FROM n) SELECT i AS path, i AS measure, 1 AS worst FROM n;",
            "CREATE TRIGGER more AFTER INSERT ON file BEGIN DELETE FROM figure; END;",
            "CREATE TABLE other (x);",
            "DROP INDEX figure_path; CREATE INDEX figure_path ON figure (arm);",
            "PRAGMA user_version = 2;",
            "DROP TABLE file; PRAGMA user_version = 0;",
        ] {
            let (folder, opened) = changed(statements);
            let file = folder.path().join("history.sqlite");
            let index = anew(&file, opened.expect_err(statements)).unwrap();
            let rows = "SELECT count(*) FROM figure";
            assert_eq!(index.query_row(rows, [], |row| row.get::<_, i64>(0)), Ok(0));
        }
        assert!(changed("INSERT INTO file VALUES ('/a.json', 1, 2, 1)").1.is_ok());
    }

    #[test]
    fn values_of_another_type_are_refused() {
        let loose = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \
            replace(sql, ') STRICT', ')') WHERE name = 'file';";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        drop(open(&file).unwrap());
        Connection::open(&file).unwrap().execute_batch(loose).unwrap();
        let strict = "PRAGMA writable_schema = ON; INSERT INTO file VALUES (x'00ff', 'x', 1, 1); \
            UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name = 'file';";
        Connection::open(&file).unwrap().execute_batch(strict).unwrap();
        assert!(open(&file).is_err());
    }

    #[test]
    fn an_index_that_is_locked_stays_and_one_that_is_none_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        drop(open(&file).unwrap());
        let size = || std::fs::metadata(&file).unwrap().len();
        let whole = size();
        let locked = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        assert!(anew(&file, rusqlite::Error::SqliteFailure(locked, None)).is_err());
        assert_eq!(size(), whole);
        std::fs::write(&file, "no database, and long enough to be looked at as one").unwrap();
        let journal = folder.path().join("history.sqlite-journal");
        std::fs::write(&journal, "of the one before").unwrap();
        let error = open(&file).unwrap_err();
        anew(&file, error).unwrap();
        assert_eq!(size(), whole);
        assert!(!journal.exists());
    }

    #[test]
    fn a_row_that_is_longer_than_any_of_ours_makes_it_anew() {
        let long = "INSERT INTO file VALUES (printf('%.*c', 2000000, 'x'), 1, 2, 1);";
        let (folder, opened) = changed(long);
        let error = opened.unwrap_err();
        anew(&folder.path().join("history.sqlite"), error).unwrap();
    }

    #[test]
    fn one_that_others_may_write_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.sqlite");
        drop(open(&file).unwrap());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        let error = open(&file).unwrap_err();
        assert!(matches!(error, rusqlite::Error::InvalidPath(_)), "{error}");
        anew(&file, error).unwrap();
    }
}
