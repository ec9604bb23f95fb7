//! The answers of each row: JSON lines that are appended and never removed.
//!
//! A line is one run of a command, or all studies of a simulated row. The file is part of the
//! repository, and anyone may have changed it. So nothing in it is trusted.

use crate::{Answer, Row, TruthError, judge};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Most bytes of the file that are read.
const MOST_BYTES: u64 = 64 << 20;

/// Most runs in a line.
const MOST_RUNS: u32 = 1_000_000;

/// Most runs with a forbidden answer that a line lists.
pub const MOST_AGAIN: usize = 5;

/// Most bytes of a text in a line.
const LONGEST: usize = 2_000;

/// The answers of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The name of the row.
    pub row: String,
    /// What was run, in the form of [`Row::asked`].
    pub asked: String,
    /// The number of runs with each answer.
    pub answers: BTreeMap<Answer, u32>,
    /// The first runs of a simulated row with a forbidden answer, for `truth --again`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<u32>,
    /// The judge, in the form of [`judge::of`]. None in lines from before judges were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// The build.
    pub build: Build,
    /// The machine.
    pub machine: Machine,
    /// The day on which it ended, in UTC, such as 2026-11-25.
    pub day: String,
    /// Duration of a run, in seconds. None for simulated rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Mean number of blocks of a simulated study. None if it is not a study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<f64>,
}

/// The build that gave the answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The commit. None if git does not know it, and in lines from before commits were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether sources were changed after that commit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changed: bool,
}

/// The machine of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The release of its kernel. A guest has another kernel, which is part of `asked`.
    pub kernel: String,
    /// The number of its CPUs.
    pub cpus: u32,
    /// The model of its CPUs, if the kernel knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let machine = host::machine(&host::Roots::real());
        let plain =
            |text: &str| text.chars().filter(|c| *c == ' ' || c.is_ascii_graphic()).collect();
        Machine {
            kernel: plain(&machine.kernel),
            cpus: u32::try_from(machine.cpus.len()).unwrap_or(u32::MAX),
            cpu_model: machine.cpu_model.as_deref().map(plain),
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Line {
    /// The number of runs.
    pub fn runs(&self) -> u32 {
        self.answers.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether the line is of the current content of this row and of the current judge.
    fn is_current(&self, row: &Row) -> bool {
        self.row == row.id
            && self.judge.is_some()
            && self.judge.as_deref() == judge::of(row)
            && self.asked == row.asked()
    }

    /// Rejects lines that no run can have written, and text that could control a terminal or
    /// change a page.
    fn check(&self) -> Result<(), String> {
        let hex = |text: &Option<String>, lengths: RangeInclusive<usize>| {
            let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            text.as_ref().is_none_or(|t| lengths.contains(&t.len()) && t.bytes().all(digit))
        };
        let day = |text: &str| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
        let machine = [Some(&self.machine.kernel), self.machine.cpu_model.as_ref()];
        let texts = [&self.row, &self.asked].into_iter().chain(machine.into_iter().flatten());
        let printable = |text: &String| {
            text.len() <= LONGEST && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        };
        let below = |number: Option<f64>| number.is_some_and(|n| !n.is_finite() || n < 0.0);
        let problem = if !texts.into_iter().all(printable) {
            "a text is too long, or is not plain ASCII"
        } else if self.answers.is_empty() || self.answers.values().any(|count| *count == 0) {
            "it has no answer, or one that never came"
        } else if self.runs() > MOST_RUNS {
            "it counts more than a million runs"
        } else if self.again.len() > MOST_AGAIN {
            "it names more than five runs to run again"
        } else if !hex(&self.judge, 16..=16) {
            "its judge is not 16 hexadecimal digits"
        } else if !hex(&self.build.commit, 7..=40) {
            "its commit is not 7 to 40 hexadecimal digits"
        } else if !day(&self.day) {
            "its day is not one, as 2026-11-25"
        } else if below(self.seconds) || below(self.blocks) {
            "its seconds or blocks are below 0"
        } else {
            return Ok(());
        };
        Err(problem.to_owned())
    }
}

/// The lines of a file.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    lines: Vec<Line>,
    is_torn: bool,
}

impl History {
    /// Reads a file. A missing file has no lines.
    ///
    /// # Errors
    /// If it cannot be read, or if a line is invalid. The error has the number of the first such
    /// line.
    pub fn read(path: &Path) -> Result<Self, TruthError> {
        let text = text(path)?;
        let mut history = History { path: path.to_owned(), lines: Vec::new(), is_torn: false };
        for (number, line) in text.split_inclusive('\n').enumerate() {
            match parse(line) {
                Ok(line) => history.lines.push(line),
                Err(_) if is_torn(line) => history.is_torn = true,
                Err(why) => {
                    return Err(TruthError::History {
                        path: path.to_owned(),
                        line: number + 1,
                        why,
                    });
                }
            }
        }
        Ok(history)
    }

    /// Whether the last line is incomplete, for example after a crash of the machine. Such a line
    /// does not count, and the next [`add`](Self::add) replaces it.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// All lines, in the order in which they were written.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The lines of a row that count: those of its current content and of the current judge. A
    /// simulated row gives the same answers each time, so only its line with the most runs
    /// counts.
    pub fn counted(&self, row: &Row) -> Vec<&Line> {
        let current = self.lines.iter().filter(|line| line.is_current(row));
        match row.simulate {
            Some(_) => current.max_by_key(|line| line.runs()).into_iter().collect(),
            None => current.collect(),
        }
    }

    /// The newest lines of a row that no longer count, because the judge or the content of the
    /// row has changed. Only lines with the same judge and content as the newest one are
    /// returned; for a simulated row, only the newest one.
    pub fn stale(&self, row: &Row) -> Vec<&Line> {
        let old = || self.lines.iter().filter(|line| line.row == row.id && !line.is_current(row));
        let Some(newest) = old().next_back() else { return Vec::new() };
        let same = |line: &&Line| line.judge == newest.judge && line.asked == newest.asked;
        match row.simulate {
            Some(_) => vec![newest],
            None => old().filter(same).collect(),
        }
    }

    /// The number of runs of a row, with any judge.
    pub fn runs_ever(&self, row: &Row) -> u32 {
        let lines = self.lines.iter().filter(|line| line.row == row.id);
        lines.fold(0, |sum, line| sum.saturating_add(line.runs()))
    }

    /// Appends a line. It is on disk when this returns.
    ///
    /// The file is opened each time, since git may replace it while rows run.
    ///
    /// # Errors
    /// If it cannot be written. Then no part of the line is in the file.
    pub fn add(&mut self, line: Line) -> Result<(), TruthError> {
        let problem = |source| TruthError::file(&self.path, source);
        line.check().map_err(|why| TruthError::Row(format!("row {}: {why}", line.row)))?;
        let text = serde_json::to_string(&line).map_err(|e| problem(e.into()))? + "\n";
        append(&self.path, &text).map_err(problem)?;
        self.lines.push(line);
        self.is_torn = false;
        Ok(())
    }
}

fn text(path: &Path) -> Result<String, TruthError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(TruthError::file(path, error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|e| TruthError::file(path, e))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(TruthError::file(path, std::io::ErrorKind::FileTooLarge.into()));
    }
    // Invalid UTF-8 becomes a character that no valid line has, so the error names the line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the last line is incomplete. A complete line that cannot be parsed does not count as
/// torn.
fn is_torn(line: &str) -> bool {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
    !line.ends_with('\n') && parsed.is_err_and(|error| error.is_eof())
}

fn parse(line: &str) -> Result<Line, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    line.check()?;
    Ok(line)
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    let whole = whole_lines(&mut file)?;
    let wrote = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
    if wrote.is_err() {
        // The disk may be full. The existing lines must stay readable.
        file.set_len(whole)?;
    }
    wrote
}

/// Removes an incomplete last line, or ends a complete one without a line feed. Returns the new
/// length of the file.
fn whole_lines(file: &mut File) -> std::io::Result<u64> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = String::from_utf8_lossy(&bytes[end..]);
    if !last.is_empty() && parse(&last).is_ok() {
        file.write_all(b"\n")?;
        return Ok(bytes.len() as u64 + 1);
    }
    file.set_len(end as u64)?;
    Ok(end as u64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::row::{parse as rows, tests::ROW};

    /// A line that counts.
    pub(crate) fn line(row: &Row, answer: Answer) -> Line {
        Line {
            row: row.id.clone(),
            asked: row.asked(),
            answers: BTreeMap::from([(answer, 1)]),
            again: Vec::new(),
            judge: judge::of(row).map(str::to_owned),
            build: Build { commit: Some("73bdb32e".to_owned()), changed: false },
            machine: Machine { kernel: "6.12.1".to_owned(), cpus: 2, cpu_model: None },
            day: "2026-11-25".to_owned(),
            seconds: Some(2.0),
            blocks: None,
        }
    }

    fn row() -> Row {
        rows(ROW).unwrap().remove(0)
    }

    fn simulated() -> Row {
        let command = r#"command = "run mmap-lock --procfile status --busy '0,10'""#;
        rows(&ROW.replace(command, "simulate = {}")).unwrap().remove(0)
    }

    #[test]
    fn lines_are_found_again_and_a_torn_one_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        let mut history = History::read(&path).unwrap();
        assert_eq!((history.lines().len(), history.is_torn()), (0, false));
        history.add(line(&row(), Answer::NotAffected)).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.clone() + "{\"row\": \"status-i").unwrap();
        let mut history = History::read(&path).unwrap();
        assert_eq!((history.lines().len(), history.is_torn()), (1, true));
        history.add(line(&row(), Answer::Inconclusive)).unwrap();
        let history = History::read(&path).unwrap();
        assert_eq!((history.counted(&row()).len(), history.is_torn()), (2, false));
        // An editor left out the last line feed; the line is complete anyway.
        std::fs::write(&path, whole.trim_end()).unwrap();
        let mut history = History::read(&path).unwrap();
        assert_eq!((history.lines().len(), history.is_torn()), (1, false));
        history.add(line(&row(), Answer::Inconclusive)).unwrap();
        assert_eq!(History::read(&path).unwrap().lines().len(), 2);
    }

    #[test]
    fn a_bad_line_is_named_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        let good = serde_json::to_string(&line(&row(), Answer::NotAffected)).unwrap();
        let why = |old: &str, new: &str| {
            assert!(good.contains(old), "{good}");
            std::fs::write(&path, format!("{good}\n{}\n{good}\n", good.replace(old, new))).unwrap();
            let error = History::read(&path).unwrap_err().to_string();
            assert!(error.contains("history.jsonl, line 2: "), "{error}");
            assert!(!error.contains('\n'), "{error}");
            error
        };
        assert!(why("not-affected", "healed").contains("healed"));
        assert!(why("\":1}", "\":0}").contains("never came"));
        assert!(why("\":1}", "\":4000000000}").contains("million"));
        assert!(why("73bdb32e", "no commit").contains("commit"));
        assert!(why("2026-11-25", "2026-13-25").contains("day"));
        assert!(why("6.12.1", "6.12\\u001b[2J").contains("plain ASCII"));
        assert!(why("\"seconds\":2.0", "\"seconds\":-2.0").contains("seconds"));
        assert!(why("\"cpus\":2", "\"cpus\":2,\"host\":\"x\"").contains("host"));
        assert!(why(judge::of(&row()).unwrap(), "x").contains("judge"));
        why(&good, "<<<<<<< HEAD");
    }

    #[test]
    fn what_another_judge_said_and_what_was_asked_otherwise_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = History::read(&folder.path().join("h")).unwrap();
        let new = line(&row(), Answer::NotAffected);
        let judge = Some("0123456789abcdef".to_owned());
        let old = Line { judge: judge.clone(), ..line(&row(), Answer::Affected) };
        let other = Line { asked: "tailback run x (idle host)".to_owned(), ..new.clone() };
        let before = Line { judge: None, ..new.clone() };
        for line in [&before, &old, &old, &new, &new, &new, &other, &old] {
            history.add(line.clone()).unwrap();
        }
        assert_eq!(history.counted(&row()), [&new, &new, &new]);
        assert_eq!(history.stale(&row()), [&old, &old, &old]);
        assert_eq!(history.runs_ever(&row()), 8);
    }

    #[test]
    fn a_simulated_row_is_counted_once_however_often_it_was_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = History::read(&folder.path().join("h")).unwrap();
        let of = |count| Line {
            answers: BTreeMap::from([(Answer::NotAffected, count)]),
            ..line(&simulated(), Answer::NotAffected)
        };
        for count in [200, 1000, 200] {
            history.add(of(count)).unwrap();
        }
        let counted: Vec<u32> = history.counted(&simulated()).iter().map(|l| l.runs()).collect();
        assert_eq!(counted, [1000]);
    }

    #[test]
    fn a_file_that_git_put_in_its_place_gets_the_next_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h");
        let mut history = History::read(&path).unwrap();
        history.add(line(&row(), Answer::NotAffected)).unwrap();
        std::fs::rename(&path, folder.path().join("old")).unwrap();
        std::fs::write(&path, "").unwrap();
        history.add(line(&row(), Answer::NotAffected)).unwrap();
        assert_eq!(History::read(&path).unwrap().lines().len(), 1);
    }
}
