//! The answers of the runs: a line each, appended when the run has ended, and their records.

use crate::{Answer, Row, TruthError};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The answer of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The row.
    pub row: String,
    /// [`Row::key`] of what was run.
    pub key: String,
    /// Which of its runs, from 0.
    pub run: u32,
    /// A digest of the program that was run.
    pub build: String,
    /// Its version, as git describes it.
    pub version: String,
    /// When it ended (RFC 3339, UTC).
    pub at: String,
    /// The answer.
    pub answer: Answer,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Its record, below the folder of the results; absent where it can be made again from its
    /// seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
}

/// The results of a folder, locked for writing.
pub struct Results {
    folder: PathBuf,
    lines: Vec<Line>,
    file: File,
    _lock: File,
}

impl Results {
    /// Reads the results of a folder, which is made where it is not there.
    ///
    /// A line that was torn when its writer was killed is left out, and so its run is done again.
    ///
    /// # Errors
    /// If it cannot be read or written, or if another process has the lock.
    pub fn open(folder: &Path) -> Result<Self, TruthError> {
        std::fs::create_dir_all(folder).map_err(|e| TruthError::file(folder, e))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(|e| TruthError::file(&path, e))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| TruthError::Busy(folder.to_owned()))?;
        let path = folder.join(FILE);
        let lines = read(&path)?;
        let file = open_to_append(&path).map_err(|e| TruthError::file(&path, e))?;
        Ok(Results { folder: folder.to_owned(), lines, file, _lock: lock })
    }

    /// All lines, in the order in which they were written.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The lines of a row as it is now; of this build alone, where one is given. Of a run that was
    /// done twice the last one counts.
    pub fn of<'a>(&'a self, row: &Row, build: Option<&str>) -> Vec<&'a Line> {
        let key = row.key();
        let counts = |line: &&Line| {
            line.row == row.id && line.key == key && build.is_none_or(|build| line.build == build)
        };
        let mut seen = BTreeSet::new();
        let mut found: Vec<&Line> =
            self.lines.iter().rev().filter(counts).filter(|line| seen.insert(line.run)).collect();
        found.sort_by_key(|line| line.run);
        found
    }

    /// Adds a line; `lasting` where it took so long that it has to survive a crash of the machine.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, line: Line, lasting: bool) -> Result<(), TruthError> {
        let write = || {
            (&self.file).write_all(text(&line)?.as_bytes())?;
            if lasting { self.file.sync_data() } else { Ok(()) }
        };
        write().map_err(|e| TruthError::file(&self.folder.join(FILE), e))?;
        self.lines.push(line);
        Ok(())
    }

    /// Keeps a record; its path below the folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, row: &str, run: u32, record: &str) -> Result<PathBuf, TruthError> {
        let name = Path::new("records").join(row).join(format!("{run:04}.json.gz"));
        let path = self.folder.join(&name);
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            let mut gz = GzEncoder::new(File::create(&path)?, Compression::default());
            gz.write_all(record.as_bytes())?;
            gz.finish()?.sync_all()
        };
        write().map_err(|e| TruthError::file(&path, e))?;
        Ok(name)
    }
}

/// The file of the lines.
const FILE: &str = "results.jsonl";

fn read(path: &Path) -> Result<Vec<Line>, TruthError> {
    match std::fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(TruthError::file(path, error)),
    }
}

fn text(line: &Line) -> std::io::Result<String> {
    Ok(serde_json::to_string(line)? + "\n")
}

/// Behind a torn line a new one begins, else both were lost.
fn open_to_append(path: &Path) -> std::io::Result<File> {
    let torn = std::fs::read(path).is_ok_and(|old| old.last().is_some_and(|end| *end != b'\n'));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if torn {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::row::{parse, tests::ROW};

    pub(crate) fn line(row: &Row, run: u32, answer: Answer) -> Line {
        Line {
            row: row.id.clone(),
            key: row.key(),
            run,
            build: "b".to_owned(),
            version: "v".to_owned(),
            at: "2026-11-21T23:00:00Z".to_owned(),
            answer,
            seconds: f64::from(run) + 1.0,
            record: None,
        }
    }

    #[test]
    fn results_are_found_again_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let row = parse(ROW).unwrap().remove(0);
        let mut results = Results::open(folder.path()).unwrap();
        results.add(line(&row, 0, Answer::NotAffected), true).unwrap();
        assert!(matches!(Results::open(folder.path()), Err(TruthError::Busy(_))));
        drop(results);
        let path = folder.path().join(FILE);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"row\": \"status-i");
        std::fs::write(&path, text).unwrap();
        let mut results = Results::open(folder.path()).unwrap();
        results.add(line(&row, 1, Answer::Inconclusive), true).unwrap();
        drop(results);
        let results = Results::open(folder.path()).unwrap();
        let answers: Vec<Answer> = results.of(&row, None).iter().map(|l| l.answer).collect();
        assert_eq!(answers, [Answer::NotAffected, Answer::Inconclusive]);
    }

    #[test]
    fn only_results_of_the_same_row_and_build_count_and_the_last_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let row = parse(ROW).unwrap().remove(0);
        let mut results = Results::open(folder.path()).unwrap();
        for answer in [Answer::Affected, Answer::NotAffected] {
            results.add(line(&row, 0, answer), true).unwrap();
        }
        let other = Line { build: "c".to_owned(), ..line(&row, 1, Answer::Affected) };
        results.add(other, true).unwrap();
        assert_eq!(results.of(&row, Some("b")).len(), 1);
        assert_eq!(results.of(&row, Some("b"))[0].answer, Answer::NotAffected);
        assert_eq!(results.of(&row, None).len(), 2);
        let changed = Row { command: Some("run cpu-quota".to_owned()), ..row };
        assert_eq!(results.of(&changed, None).len(), 0);
    }

    #[test]
    fn a_record_is_kept_where_its_line_says() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open(folder.path()).unwrap();
        let name = results.keep("row", 3, "{}").unwrap();
        let file = File::open(folder.path().join(&name)).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
        assert_eq!((text.as_str(), name.to_str()), ("{}", Some("records/row/0003.json.gz")));
    }
}
