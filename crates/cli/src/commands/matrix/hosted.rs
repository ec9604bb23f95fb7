//! The rows of OTPs. Each has its own study on this machine, and the studies take turns.

use super::names::Name;
use super::row::{Result as Came, Row};
use crate::command;
use crate::commands::run::{self, Begun, Done, RunContext, RunScenario, Running};
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Among;
use crate::session::Session;
use crate::settings::StudyOptions;
use model::{Judged, Machine};
use runner::End;
use scenarios::AnyScenario;

/// Runs OTPs in turns, one block each, so that other work on the machine affects all of them.
pub struct Hosted<'a> {
    scenario: &'static dyn AnyScenario,
    context: RunContext<'a>,
    interrupted: &'a dyn Fn() -> bool,
}

/// An OTP of the matrix.
enum Turn<'a> {
    /// Not begun.
    Waiting,
    /// Ready for its next turn.
    Running(Box<Running<'a>>),
    /// Ended, with this row.
    Over(Row),
}

impl<'a> Hosted<'a> {
    /// Prepares a scenario that runs Erlang. `words` are the words of `run` after the OTP.
    ///
    /// # Errors
    /// If the scenario runs no Erlang, or the words are no valid command line of it.
    pub fn new(
        session: &'a Session,
        scenario: &'static dyn AnyScenario,
        words: &[String],
        machine: &'a Machine,
        interrupted: &'a dyn Fn() -> bool,
    ) -> Result<Self, Failure> {
        let meta = scenario.meta();
        if meta.parameter("otp").is_none() {
            return Err(Failure::usage(format!(
                "--otps: {} runs no Erlang; give --kernels, or a scenario that runs Erlang (see \
                 tailback list)",
                meta.id
            )));
        }
        let context = RunContext::new(session, machine, interrupted);
        let hosted = Hosted { scenario, context, interrupted };
        hosted.options("auto", words)?;
        Ok(hosted)
    }

    /// The rows of these OTPs, each run with these words. If one fails, its row says so.
    ///
    /// # Errors
    /// If the user interrupts. Results so far are kept.
    pub fn rows(&self, otps: &[Name], words: &[String]) -> Result<Vec<Row>, Failure> {
        let mut turns: Vec<Turn> = otps.iter().map(|_| Turn::Waiting).collect();
        while turns.iter().any(|turn| !matches!(turn, Turn::Over(_))) {
            for (otp, turn) in otps.iter().zip(&mut turns) {
                if !(self.interrupted)() {
                    let now = std::mem::replace(turn, Turn::Waiting);
                    *turn = self.turn(otp, words, now);
                }
            }
            if (self.interrupted)() {
                return Err(self.left(turns));
            }
        }
        let over = |turn| if let Turn::Over(row) = turn { Some(row) } else { None };
        Ok(turns.into_iter().filter_map(over).collect())
    }

    /// Begins the study of an OTP, or lets it run a block.
    fn turn<'s>(&'s self, otp: &Name, words: &[String], turn: Turn<'s>) -> Turn<'s> {
        match turn {
            Turn::Over(row) => Turn::Over(row),
            Turn::Waiting => self.begin(otp, words).unwrap_or_else(|failure| {
                output::complain(&format!("{}: {}", otp.shown, failure.line));
                Turn::Over(Row::of_otp(&otp.shown, "", Came::Nothing(failure.line)))
            }),
            Turn::Running(mut running) => match running.turn() {
                None => Turn::Running(running),
                Some(end) => Turn::Over(row(&otp.shown, running.end(end))),
            },
        }
    }

    fn begin(&self, otp: &Name, words: &[String]) -> Result<Turn<'_>, Failure> {
        let options = self.options(&otp.asked, words)?;
        let among = Among::Versions(otp.shown.clone());
        Ok(match run::begin(self.scenario, &options, &self.context, None, among)? {
            Begun::NotRun(done) => Turn::Over(row(&otp.shown, *done)),
            Begun::Running(running) => Turn::Running(running),
        })
    }

    /// Ends all studies that have begun, after an interruption. Returns the failure that ends the
    /// program.
    fn left(&self, turns: Vec<Turn<'_>>) -> Failure {
        let running = |turn| if let Turn::Running(running) = turn { Some(running) } else { None };
        for running in turns.into_iter().filter_map(running) {
            running.end(End::Interrupted).print_path();
        }
        let line = "interrupted; the results so far were kept".to_owned();
        Failure { line, code: exit::INTERRUPTED }
    }

    fn options(&self, otp: &str, words: &[String]) -> Result<StudyOptions, Failure> {
        let id = self.scenario.meta().id;
        let line = [id, "--otp", otp].map(str::to_owned);
        let run = RunScenario::parse(line.into_iter().chain(words.iter().cloned()));
        run.map(|run| run.options()).map_err(|error| {
            Failure::usage(format!("the parameters after --: {}", command::first_line(&error)))
        })
    }
}

/// The row of an OTP whose study ended.
fn row(otp: &str, done: Done) -> Row {
    done.print_path();
    match done.code() {
        // A missing need is in the record too.
        Ok(_) | Err(Failure { code: exit::NEED, .. }) => {
            let release = release(&done.record);
            Row::of_otp(otp, &release, Came::Judged(Box::new(done.record)))
        }
        Err(failure) => Row::of_otp(otp, "", Came::Nothing(failure.line)),
    }
}

/// The OTP release of a record, as the VM reported it.
fn release(record: &Judged) -> String {
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    vm.map(|vm| vm.otp.clone()).unwrap_or_default()
}
