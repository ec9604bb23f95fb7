//! Runs what is missing in the table.

use crate::history::{Build, History, Line, MOST_AGAIN, Machine};
use crate::real::{self, NoAnswer, Programs};
use crate::records::Records;
use crate::simulate::Simulation;
use crate::tally::Tally;
use crate::{Answer, Row, TruthError, judge, simulate};
use std::collections::BTreeMap;
use std::time::Instant;

/// The settings of a session.
pub struct TruthRun<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// The number of runs per row, instead of the number in the row.
    pub runs: Option<u32>,
    /// The programs.
    pub programs: &'a Programs,
    /// The build that runs them.
    pub build: &'a Build,
    /// The machine that it runs on.
    pub machine: &'a Machine,
    /// The folder for records.
    pub records: &'a Records,
    /// Whether the user has interrupted.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives one line of output per run.
    pub say: &'a dyn Fn(&str),
}

/// The result of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// Rows with a forbidden answer, or with an answer that occurs too often, one line each.
    pub wrong: Vec<String>,
    /// Runs without an answer, one line each.
    pub failed: Vec<String>,
    /// Whether the user interrupted it.
    pub interrupted: bool,
}

impl End {
    /// The exit code: 1 for a wrong answer, 130 for an interruption, 3 if a run has no answer.
    pub fn code(&self) -> u8 {
        match (self.wrong.is_empty(), self.interrupted, self.failed.is_empty()) {
            (false, ..) => 1,
            (_, true, _) => 130,
            (.., false) => 3,
            _ => 0,
        }
    }
}

/// A missing run of a command, or a missing simulated row with all its studies.
struct Missing<'a> {
    row: &'a Row,
    /// The number of the missing run, from 0.
    turn: u32,
}

impl TruthRun<'_> {
    /// Runs what is missing. Simulated rows take seconds and come first. Then it runs one run of
    /// each other row in turn, so that a stopped table has some runs of each row. The answer of a
    /// run is in the history before the next run begins.
    ///
    /// # Errors
    /// If an answer cannot be stored.
    pub fn run(&self, history: &mut History) -> Result<End, TruthError> {
        real::tidy();
        let mut end = End::default();
        let missing = self.missing(history);
        for (place, Missing { row, .. }) in missing.iter().enumerate() {
            if (self.stop)() {
                end.interrupted = true;
                break;
            }
            let place = format!("[{}/{}] {}", place + 1, missing.len(), row.id);
            let ran = match &row.simulate {
                Some(simulation) => self.simulated(row, simulation, history),
                None => self.real(row, history),
            };
            match ran {
                Ok((line, told)) => {
                    history.add(line)?;
                    (self.say)(&format!("{place}: {told}"));
                }
                Err(NoAnswer::Interrupted) => {
                    end.interrupted = true;
                    break;
                }
                Err(NoAnswer::Failed(why)) => {
                    (self.say)(&format!("{place}: no answer: {why}"));
                    end.failed.push(format!("{}: {why}", row.id));
                }
            }
        }
        end.wrong = self.rows.iter().filter_map(|row| wrong(row, history)).collect();
        Ok(end)
    }

    fn missing(&self, history: &History) -> Vec<Missing<'_>> {
        let mut missing = Vec::new();
        for row in self.rows {
            let wanted = self.runs.unwrap_or(row.runs);
            let there = Tally::of(row, &history.counted(row)).runs;
            let turns = match row.simulate {
                Some(_) => u32::from(there < wanted),
                None => wanted.saturating_sub(there),
            };
            missing.extend((0..turns).map(|turn| Missing { row, turn }));
        }
        missing.sort_by_key(|missing| (missing.row.simulate.is_none(), missing.turn));
        missing
    }

    /// Runs all studies of a simulated row. Returns its line for the history, and a line of
    /// output.
    fn simulated(
        &self,
        row: &Row,
        simulation: &Simulation,
        history: &History,
    ) -> Result<(Line, String), NoAnswer> {
        let mut answers = BTreeMap::new();
        let (mut again, mut blocks) = (Vec::new(), Vec::new());
        let ever = history.runs_ever(row);
        for run in 0..self.runs.unwrap_or(row.runs) {
            if (self.stop)() {
                return Err(NoAnswer::Interrupted);
            }
            let done = simulate::simulate(simulation, seed(row, run)).map_err(NoAnswer::Failed)?;
            named(row, done.answer)?;
            blocks.extend(done.blocks);
            *answers.entry(done.answer).or_insert(0) += 1;
            if row.forbidden.contains(&done.answer) && again.len() < MOST_AGAIN {
                again.push(run);
                let record = done.record.to_json();
                let kept = self.records.keep(&row.id, ever.saturating_add(run), &record);
                kept.map_err(failed)?;
            }
        }
        let line = Line { again, blocks: mean(&blocks), ..self.line(row, answers, None) };
        let told = Tally::of(row, &[&line]).words();
        Ok((line, told))
    }

    /// Runs a command once. Returns its line for the history, and a line of output.
    fn real(&self, row: &Row, history: &History) -> Result<(Line, String), NoAnswer> {
        let begun = Instant::now();
        let ran = real::run(row, self.programs, self.stop)?;
        let seconds = begun.elapsed().as_secs_f64();
        named(row, ran.answer)?;
        let number = history.runs_ever(row);
        let record = self.records.keep(&row.id, number, &ran.record).map_err(failed)?;
        let mut told = format!("{}, {seconds:.1} s", ran.answer);
        if row.forbidden.contains(&ran.answer) {
            told = format!("FORBIDDEN: {told}; record: {}", record.display());
        }
        // Only tenths of a second are shown.
        let seconds = (seconds * 10.0).round() / 10.0;
        let answers = BTreeMap::from([(ran.answer, 1)]);
        Ok((self.line(row, answers, Some(seconds)), told))
    }

    fn line(&self, row: &Row, answers: BTreeMap<Answer, u32>, seconds: Option<f64>) -> Line {
        Line {
            row: row.id.clone(),
            asked: row.asked(),
            answers,
            again: Vec::new(),
            judge: judge::of(row).map(str::to_owned),
            build: self.build.clone(),
            machine: self.machine.clone(),
            day: today(),
            seconds,
            blocks: None,
        }
    }
}

/// The mean, rounded to tenths. None for an empty list.
fn mean(all: &[f64]) -> Option<f64> {
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    mean.is_finite().then(|| (mean * 10.0).round() / 10.0)
}

fn failed(error: TruthError) -> NoAnswer {
    NoAnswer::Failed(error.to_string())
}

/// Rejects an answer that the row lists neither as allowed nor as forbidden.
fn named(row: &Row, answer: Answer) -> Result<(), NoAnswer> {
    if row.allowed.contains(&answer) || row.forbidden.contains(&answer) {
        return Ok(());
    }
    Err(NoAnswer::Failed(format!("it answered {answer}, which the row does not name")))
}

/// What is wrong with a row, and how to investigate it.
fn wrong(row: &Row, history: &History) -> Option<String> {
    let lines = history.counted(row);
    let tally = Tally::of(row, &lines);
    let again = lines.iter().flat_map(|line| &line.again);
    let again = again.map(|run| format!("; truth --again {}:{run}", row.id));
    (!tally.wrong.is_empty())
        .then(|| format!("{}: {}{}", row.id, tally.words(), again.collect::<String>()))
}

/// The seed of a run of a simulated row. It depends only on the name of the row and the number of
/// the run.
pub fn seed(row: &Row, run: u32) -> u64 {
    let digest = crate::row::digest(format!("{}:{run}", row.id).as_bytes());
    // Below 2^53, so that JSON readers of every language keep it exactly.
    u64::from_str_radix(&digest, 16).unwrap_or(u64::from(run)) >> 11
}

/// The current day in UTC, such as 2026-11-25.
pub fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::parse;
    use std::cell::{Cell, RefCell};

    const ROWS: &str = r#"
        [[row]]
        id = "none"
        why = "Nothing hits."
        simulate = { blips = 0.1 }
        allowed = ["not-affected", "inconclusive"]
        forbidden = ["affected"]
        runs = 3

        [[row]]
        id = "mistaken"
        why = "A row that is mistaken, to see that it is noticed."
        simulate = { stall = { rate = 1.0, least = 200.0, most = 300.0 } }
        allowed = ["not-affected"]
        forbidden = ["affected"]
        runs = 2
    "#;

    /// Opens a folder that this test has closed. A child process of another test also holds its
    /// lock between fork and exec, so this may need several tries.
    fn unused(folder: &std::path::Path) -> Records {
        let until = Instant::now() + std::time::Duration::from_secs(100);
        loop {
            match Records::open(folder) {
                Err(TruthError::Busy(_)) if Instant::now() < until => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                opened => return opened.unwrap(),
            }
        }
    }

    /// A session that is interrupted after `most` checks. Returns its result, its output, and the
    /// number of lines.
    fn session(rows: &[Row], folder: &std::path::Path, most: usize) -> (End, Vec<String>, usize) {
        let programs = Programs { tailback: "/no/such".into() };
        let said = RefCell::new(Vec::new());
        let looks = Cell::new(0);
        let session = TruthRun {
            rows,
            runs: None,
            programs: &programs,
            build: &Build::default(),
            machine: &Machine { kernel: "6.12.1".to_owned(), ..Machine::default() },
            records: &unused(folder),
            stop: &|| looks.replace(looks.get() + 1) >= most,
            say: &|line| said.borrow_mut().push(line.to_owned()),
        };
        let mut history = History::read(&folder.join("history.jsonl")).unwrap();
        let end = session.run(&mut history).unwrap();
        let lines = history.lines().len();
        (end, said.into_inner(), lines)
    }

    #[test]
    fn a_table_that_is_stopped_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let rows = parse(ROWS).unwrap();
        // One check before each row and one before each study: it is stopped within the second
        // row.
        let (end, _, lines) = session(&rows, folder.path(), 6);
        assert_eq!((end.code(), lines), (130, 1));
        let (end, said, lines) = session(&rows, folder.path(), 100);
        assert_eq!((end.code(), lines), (1, 2));
        assert_eq!(said, ["[1/1] mistaken: affected 2"]);
        let (_, said, lines) = session(&rows, folder.path(), 100);
        assert_eq!((said.len(), lines), (0, 2));
    }

    #[test]
    fn a_wrong_answer_is_named_and_fails_again_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let rows = parse(ROWS).unwrap();
        for _ in 0..2 {
            let (end, ..) = session(&rows, folder.path(), 100);
            let named = "mistaken: affected 2; truth --again mistaken:0; truth --again mistaken:1";
            assert_eq!((end.code(), end.wrong.as_slice()), (1, [named.to_owned()].as_slice()));
        }
        assert!(folder.path().join("records/mistaken/0001.json.gz").is_file());
    }

    #[test]
    fn a_command_that_gives_no_answer_leaves_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let simulate = "simulate = { blips = 0.1 }";
        let rows = parse(&ROWS.replace(simulate, "command = \"run mmap-lock\"")).unwrap();
        let (end, _, lines) = session(&rows[..1], folder.path(), 100);
        assert_eq!((end.code(), end.failed.len(), lines), (3, 3, 0));
    }

    #[test]
    fn seeds_are_those_of_the_name() {
        let rows = parse(ROWS).unwrap();
        assert_eq!(seed(&rows[0], 1), seed(&rows[0].clone(), 1));
        assert_ne!(seed(&rows[0], 1), seed(&rows[0], 2));
        assert_ne!(seed(&rows[0], 1), seed(&rows[1], 1));
        assert!(seed(&rows[0], 1) < 1 << 53);
    }
}
