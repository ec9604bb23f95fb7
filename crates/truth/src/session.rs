//! Running what is missing.

use crate::real::{self, NoAnswer, Programs};
use crate::results::{Line, Results};
use crate::tally::Tally;
use crate::{Answer, Row, TruthError, simulate};
use std::time::Instant;

/// Records of wrong answers that are kept of a simulated row.
const MOST_SIMULATED: usize = 3;

/// How rows are run.
pub struct Session<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// Another number of runs than in the rows.
    pub runs: Option<u32>,
    /// The programs.
    pub programs: &'a Programs,
    /// Whether results of other builds count.
    pub any_build: bool,
    /// What git calls this version.
    pub version: &'a str,
    /// Whether the user has interrupted.
    pub stop: &'a dyn Fn() -> bool,
    /// Hears a line a run.
    pub say: &'a dyn Fn(&str),
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// Rows with an answer that they may not have, or not so often, a line each with the records.
    pub wrong: Vec<String>,
    /// Runs without an answer, a line each.
    pub failed: Vec<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
}

impl End {
    /// The exit code: 1 for a wrong answer, 130 for an interruption, 3 where a run has no answer.
    pub fn code(&self) -> u8 {
        match (self.wrong.is_empty(), self.interrupted, self.failed.is_empty()) {
            (false, ..) => 1,
            (_, true, _) => 130,
            (.., false) => 3,
            _ => 0,
        }
    }
}

/// A run that is still to be made.
struct Missing<'a> {
    row: &'a Row,
    run: u32,
}

/// Digests of what is run: results of other builds do not count.
struct Builds {
    simulator: String,
    tailback: String,
}

impl Builds {
    fn of(rows: &[Row], programs: &Programs) -> Result<Self, TruthError> {
        let own = std::env::current_exe().unwrap_or_default();
        let real = rows.iter().any(|row| row.simulate.is_none());
        let tailback = if real { real::build_of(&programs.tailback)? } else { String::new() };
        Ok(Builds { simulator: real::build_of(&own)?, tailback })
    }

    fn of_row(&self, row: &Row) -> &str {
        if row.simulate.is_some() { &self.simulator } else { &self.tailback }
    }
}

impl Session<'_> {
    /// Runs what is missing, one run of each row in turns, so that a table that is stopped has some
    /// of everything.
    ///
    /// # Errors
    /// If a program cannot be read or a result cannot be kept.
    pub fn run(&self, results: &mut Results) -> Result<End, TruthError> {
        let builds = Builds::of(self.rows, self.programs)?;
        real::tidy();
        let mut end = End::default();
        let missing = self.missing(results, &builds);
        for (place, Missing { row, run }) in missing.iter().enumerate() {
            if (self.stop)() {
                end.interrupted = true;
                break;
            }
            let place = format!("[{}/{}] {} {}", place + 1, missing.len(), row.id, run + 1);
            let begun = Instant::now();
            match self.one(row, *run, results) {
                Ok((answer, record)) => {
                    let seconds = begun.elapsed().as_secs_f64();
                    let line = self.line(row, *run, builds.of_row(row), (answer, seconds));
                    self.keep(row, line, record, results, &place)?;
                }
                Err(NoAnswer::Interrupted) => end.interrupted = true,
                Err(NoAnswer::Failed(why)) => {
                    (self.say)(&format!("{place}: no answer: {why}"));
                    end.failed.push(format!("{}: {why}", row.id));
                }
            }
            if end.interrupted {
                break;
            }
        }
        self.tell_simulated(&missing, results, &builds);
        let wrong = self.rows.iter().filter_map(|row| self.wrong(row, results, builds.of_row(row)));
        end.wrong = wrong.collect();
        Ok(end)
    }

    /// A line a simulated row, since a line a study would be thousands.
    fn tell_simulated(&self, ran: &[Missing], results: &Results, builds: &Builds) {
        let some = |row: &&Row| ran.iter().any(|missing| missing.row.id == row.id);
        for row in self.rows.iter().filter(|row| row.simulate.is_some()).filter(some) {
            let tally = Tally::of(row, &self.counted(row, results, builds.of_row(row)));
            (self.say)(&format!("{}: {}", row.id, tally.words()));
        }
    }

    fn missing(&self, results: &Results, builds: &Builds) -> Vec<Missing<'_>> {
        let mut missing = Vec::new();
        for row in self.rows {
            let wanted = self.runs.unwrap_or(row.runs);
            let there = self.counted(row, results, builds.of_row(row));
            let runs = (0..wanted).filter(|run| !there.iter().any(|line| line.run == *run));
            missing.extend(runs.map(|run| Missing { row, run }));
        }
        // Simulated ones first, since they take next to no time.
        missing.sort_by_key(|missing| match missing.row.simulate {
            Some(_) => (0, 0),
            None => (1, missing.run),
        });
        missing
    }

    fn counted<'a>(&self, row: &Row, results: &'a Results, build: &str) -> Vec<&'a Line> {
        results.of(row, (!self.any_build).then_some(build))
    }

    fn one(
        &self,
        row: &Row,
        run: u32,
        results: &Results,
    ) -> Result<(Answer, Option<std::path::PathBuf>), NoAnswer> {
        let failed = |error: TruthError| NoAnswer::Failed(error.to_string());
        let (answer, record) = match &row.simulate {
            Some(simulation) => {
                let done =
                    simulate::simulate(simulation, seed(row, run)).map_err(NoAnswer::Failed)?;
                // Its seed repeats it, so only some of the wrong records are kept, for a closer
                // look.
                let wrong = row.forbidden.contains(&done.answer);
                let kept = results.lines().iter().filter(|l| l.row == row.id && l.record.is_some());
                let keep = wrong && kept.count() < MOST_SIMULATED;
                (done.answer, keep.then(|| done.record.to_json()))
            }
            None => {
                let ran = real::run(row, self.programs, self.stop)?;
                (ran.answer, Some(ran.record))
            }
        };
        if !row.allowed.contains(&answer) && !row.forbidden.contains(&answer) {
            return Err(NoAnswer::Failed(format!(
                "it answered {answer}, which the row does not name"
            )));
        }
        let kept = record.map(|record| results.keep(&row.id, run, &record)).transpose();
        Ok((answer, kept.map_err(failed)?))
    }

    fn line(&self, row: &Row, run: u32, build: &str, (answer, seconds): (Answer, f64)) -> Line {
        Line {
            row: row.id.clone(),
            key: row.key(),
            run,
            build: build.to_owned(),
            version: self.version.to_owned(),
            at: now(),
            answer,
            seconds,
            record: None,
        }
    }

    fn keep(
        &self,
        row: &Row,
        line: Line,
        record: Option<std::path::PathBuf>,
        results: &mut Results,
        place: &str,
    ) -> Result<(), TruthError> {
        let forbidden = row.forbidden.contains(&line.answer);
        let mark = if forbidden { "FORBIDDEN: " } else { "" };
        let at = record.as_ref().map(|record| results.folder().join(record).display().to_string());
        let behind = at.filter(|_| forbidden).map_or(String::new(), |at| format!("; record: {at}"));
        if row.simulate.is_none() {
            (self.say)(&format!("{place}: {mark}{}, {:.1} s{behind}", line.answer, line.seconds));
        }
        results.add(Line { record, ..line }, row.simulate.is_none())
    }

    /// What is wrong with a row, with its records.
    fn wrong(&self, row: &Row, results: &Results, build: &str) -> Option<String> {
        let lines = self.counted(row, results, build);
        let tally = Tally::of(row, &lines);
        (!tally.wrong.is_empty()).then(|| {
            let of_wrong = lines.iter().filter(|line| tally.wrong.contains(&line.answer));
            let records = of_wrong.filter_map(|line| line.record.as_ref());
            let records: Vec<String> = records
                .take(5)
                .map(|record| results.folder().join(record).display().to_string())
                .collect();
            format!("{}: {}; {}", row.id, tally.words(), records.join(" "))
        })
    }
}

/// The seed of a run of a simulated row: the same for each run of the same name.
pub fn seed(row: &Row, run: u32) -> u64 {
    let digest = crate::row::digest(format!("{}:{run}", row.id).as_bytes());
    // Below 2^53, which JSON readers of every language keep whole.
    u64::from_str_radix(&digest, 16).unwrap_or(u64::from(run)) >> 11
}

/// Now, in seconds, in UTC.
pub fn now() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string()
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

    fn session(rows: &[Row], folder: &std::path::Path, most: usize) -> (End, usize) {
        let programs = Programs { tailback: "/no/such".into() };
        let said = RefCell::new(Vec::new());
        let looks = Cell::new(0);
        let session = Session {
            rows,
            runs: None,
            programs: &programs,
            any_build: false,
            version: "v",
            stop: &|| looks.replace(looks.get() + 1) >= most,
            say: &|line| said.borrow_mut().push(line.to_owned()),
        };
        let mut results = Results::open(folder).unwrap();
        let end = session.run(&mut results).unwrap();
        (end, results.lines().len())
    }

    #[test]
    fn a_table_that_is_stopped_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let rows = parse(ROWS).unwrap();
        let (end, lines) = session(&rows[..1], folder.path(), 2);
        assert_eq!((end.code(), lines), (130, 2));
        let (end, lines) = session(&rows[..1], folder.path(), 100);
        assert_eq!((end.code(), lines), (0, 3));
        let (end, lines) = session(&rows[..1], folder.path(), 100);
        assert_eq!((end.code(), lines), (0, 3));
    }

    #[test]
    fn a_wrong_answer_is_named_with_its_record_and_fails_again_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let rows = parse(ROWS).unwrap();
        for _ in 0..2 {
            let (end, _) = session(&rows, folder.path(), 100);
            assert_eq!((end.code(), end.wrong.len()), (1, 1));
            assert!(end.wrong[0].starts_with("mistaken: affected 2; "), "{:?}", end.wrong);
            let record = end.wrong[0].rsplit(' ').next().unwrap();
            assert!(std::path::Path::new(record).is_file(), "{record}");
        }
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
