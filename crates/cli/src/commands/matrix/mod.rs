//! `tailback matrix`: one scenario in several kernels.

pub mod flags;
mod row;

use super::vm::inner::Inner;
use super::vm::session::{Host, Machine, Pause, Session};
use super::vm::{console, keep_partial, show_kept, taken_over};
use crate::exit::{self, Failure};
use crate::progress::Step;
use crate::signals::Interruption;
use crate::{output, paths};
use clap::ArgMatches;
use guest::Outcome;
use row::Result as Came;
pub use row::Row;
use scenarios::AnyScenario;
use std::path::{Path, PathBuf};

/// Runs one scenario in several kernels; the exit code of the worst verdict, or of `--expect`.
pub fn matrix(matches: &ArgMatches) -> Result<u8, Failure> {
    let scenario = matches.get_one::<String>("scenario").map_or("", String::as_str);
    let scenario = scenarios::find(scenario)
        .ok_or_else(|| Failure::usage(format!("no scenario {scenario}; see tailback list")))?;
    let seed = matches.get_one("seed").copied().unwrap_or_else(|| os::random::number() >> 11);
    let inner = Inner::parse(&words(scenario, matches, seed))?;
    let names = kernels(matches)?;
    let interruption = Interruption::watch();
    let interrupted = || interruption.noticed();
    let host = Host::look(Machine::of(matches), names.len())?;
    let guests = prepare(&host, scenario, &names, &inner, &interrupted)?;
    output::note(&format!(
        "matrix {}: {} kernels, block by block; seed {seed}",
        scenario.meta().id,
        names.len()
    ));
    let rows = run_all(guests, &interrupted)?;
    let rows: Vec<Row> = rows.into_iter().map(|row| row.expecting(scenario.meta())).collect();
    show(scenario, &rows, matches.get_flag("json"));
    Ok(row::code(&rows, matches.get_flag("expect")))
}

/// The command that every guest runs.
fn words(scenario: &dyn AnyScenario, matches: &ArgMatches, seed: u64) -> Vec<String> {
    let mut words = ["run", scenario.meta().id, "--seed"].map(str::to_owned).to_vec();
    words.push(seed.to_string());
    if matches.get_flag("quick") {
        words.push("--quick".to_owned());
    }
    words.extend(matches.get_many::<String>("words").into_iter().flatten().cloned());
    words
}

fn kernels(matches: &ArgMatches) -> Result<Vec<String>, Failure> {
    let names: Vec<String> =
        matches.get_many::<String>("kernels").into_iter().flatten().cloned().collect();
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    match twice {
        _ if names.iter().any(String::is_empty) => {
            Err(Failure::usage("--kernels: a name is empty; separate names by single commas"))
        }
        Some((_, name)) => Err(Failure::usage(format!("--kernels: {name} is there twice"))),
        None => Ok(names),
    }
}

/// A guest of the matrix: started at its first turn.
pub struct Member<'a> {
    host: &'a Host,
    kernel: guest::Kernel,
    args: Vec<String>,
    record: PathBuf,
    session: Option<Session>,
    /// Whether a record was kept that is not whole.
    kept: bool,
}

/// Finds every kernel before the first is booted.
fn prepare<'a>(
    host: &'a Host,
    scenario: &dyn AnyScenario,
    names: &[String],
    inner: &Inner,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Member<'a>>, Failure> {
    let member = |name: &String| {
        let kernel = host.kernel(name, interrupted)?;
        Member::new(host, kernel, inner.args.clone(), scenario.meta().id)
    };
    names.iter().map(member).collect()
}

/// Lets the guests take turns, a block each, until all have ended; their rows in the order asked.
///
/// # Errors
/// If the host fails, or the user interrupts; what was measured until then is kept.
pub fn run_all(
    mut guests: Vec<Member<'_>>,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Option<Row>> = guests.iter().map(|_| None).collect();
    while rows.iter().any(Option::is_none) {
        for (guest, row) in guests.iter_mut().zip(&mut rows) {
            if interrupted() {
                break;
            }
            if row.is_none() {
                *row = guest.turn(interrupted)?;
            }
        }
        if interrupted() {
            return Err(left(&mut guests));
        }
    }
    Ok(rows.into_iter().flatten().collect())
}

/// Has every guest send what it has, since the user interrupted; the failure that ends the program.
fn left(guests: &mut [Member<'_>]) -> Failure {
    let kept = guests.iter_mut().filter_map(Member::leave).count();
    let line = match kept {
        0 => "interrupted; nothing of the studies came back".to_owned(),
        _ => format!("interrupted; {kept} records of what was measured until then were kept"),
    };
    Failure { line, code: exit::INTERRUPTED }
}

impl<'a> Member<'a> {
    /// A guest that will run this command line, with its record in the state folder.
    ///
    /// # Errors
    /// If there is no state folder.
    pub fn new(
        host: &'a Host,
        kernel: guest::Kernel,
        args: Vec<String>,
        scenario: &str,
    ) -> Result<Self, Failure> {
        let plain = kernel.name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
        let record = paths::record(None, &format!("{scenario}-{plain}"))?;
        Ok(Member { host, kernel, args, record, session: None, kept: false })
    }

    /// Runs until the end of a block; the row, if that was the last.
    fn turn(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Option<Row>, Failure> {
        let session = match &mut self.session {
            Some(session) => {
                session.resume()?;
                session
            }
            empty => {
                let session = self.host.start(&self.kernel, &self.args, interrupted)?;
                session.announce();
                empty.insert(session)
            }
        };
        match session.run_until(&Step::ends_block, interrupted)? {
            Pause::Step => session.pause().map(|()| None),
            Pause::End(outcome) => {
                let came = came(session, outcome, &self.record)?;
                self.session = None;
                self.save(&came);
                Ok(Some(Row::new(&self.kernel, came)))
            }
            Pause::Interrupted(partial) => {
                self.keep(partial);
                Ok(None)
            }
        }
    }

    /// Has it send what it has, where it was started and has not ended; the record, if one was
    /// kept.
    fn leave(&mut self) -> Option<&Path> {
        // It is paused; one that cannot be resumed cannot send anything either.
        let partial = self.session.as_mut().and_then(|session| {
            session.resume().ok()?;
            session.partial_outcome()
        });
        self.keep(partial);
        self.kept.then_some(self.record.as_path())
    }

    /// Keeps the partial outcome of an interrupted guest, and drops the guest.
    fn keep(&mut self, partial: Option<Outcome>) {
        let Some(session) = self.session.take() else { return };
        let record = match partial {
            Some(Outcome::Done { record, .. } | Outcome::Failed { record, .. }) => record,
            None => None,
        };
        let kept = record.and_then(|text| keep_partial(&session, &text, &self.record));
        self.kept = kept.is_some();
        show_kept(&session, kept.as_deref());
    }

    fn save(&self, came: &Came) {
        let Came::Record(record) = came else { return };
        match runner::save(record, &self.record) {
            Ok(()) => output::note(&format!("record: {}", self.record.display())),
            Err(error) => output::complain(&format!("record {error}; it is lost")),
        }
    }
}

/// What came of a guest.
fn came(session: &Session, outcome: Outcome, path: &Path) -> Result<Came, Failure> {
    Ok(match outcome {
        Outcome::Done { record: Some(text), .. } => {
            Came::Record(Box::new(taken_over(session, &text)?))
        }
        Outcome::Done { code, .. } => {
            Came::Nothing(format!("it ended with exit code {code} and without a record"))
        }
        Outcome::Failed { ending, record } => {
            console(session, &ending);
            let kept = record.and_then(|text| keep_partial(session, &text, path));
            show_kept(session, kept.as_deref());
            Came::Ending(ending)
        }
    })
}

fn show(scenario: &dyn AnyScenario, rows: &[Row], json: bool) {
    if json {
        let rows: Vec<serde_json::Value> =
            rows.iter().map(|row| row.json(scenario.meta())).collect();
        let table = serde_json::json!({
            "schema": "tailback/matrix/1",
            "scenario": scenario.meta().id,
            "rows": rows,
        });
        output::json(&format!("{table:#}\n"));
    } else {
        let shown = rows.iter().map(|row| row.shown(scenario.meta()));
        output::print(&report::matrix(shown, output::look()));
    }
    for row in rows.iter().filter(|row| row.met() == Some(false)) {
        output::complain(&row.complaint());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> ArgMatches {
        flags::command().try_get_matches_from(line.split_whitespace()).unwrap()
    }

    #[test]
    fn every_guest_runs_the_same_words() {
        let matches = parse("matrix mmap-lock --kernels a,b --quick -- --procfile maps");
        let scenario = scenarios::find("mmap-lock").unwrap();
        let words = words(scenario, &matches, 7);
        assert_eq!(
            words,
            ["run", "mmap-lock", "--seed", "7", "--quick", "--procfile", "maps"].map(String::from)
        );
        assert!(Inner::parse(&words).is_ok());
    }

    #[test]
    fn a_kernel_that_stands_twice_is_refused() {
        assert_eq!(kernels(&parse("matrix mmap-lock --kernels a,b")).unwrap(), ["a", "b"]);
        let error = kernels(&parse("matrix mmap-lock --kernels a,b --kernels a")).unwrap_err();
        assert_eq!(error.code, crate::exit::USAGE);
        assert!(kernels(&parse("matrix mmap-lock --kernels a,")).is_err(), "an empty name");
    }
}
