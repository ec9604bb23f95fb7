//! Rows of OTPs: a study of its own for each, on this machine, which take turns.

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

/// What runs OTPs, which take turns: a block of each, so that what the machine does meanwhile meets
/// all of them.
pub struct Hosted<'a> {
    scenario: &'static dyn AnyScenario,
    context: RunContext<'a>,
    interrupted: &'a dyn Fn() -> bool,
}

/// An OTP of the matrix.
enum Turn<'a> {
    /// It has not begun.
    Waiting,
    /// It is to have another turn.
    Running(Box<Running<'a>>),
    /// What came of it.
    Over(Row),
}

impl<'a> Hosted<'a> {
    /// For a scenario that runs Erlang, with these words of `run` behind the OTP.
    ///
    /// # Errors
    /// If it runs none, or the words are no command line of it.
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
                "--otps: {} runs no Erlang; give --kernels, or a scenario that does (see tailback \
                 list)",
                meta.id
            )));
        }
        let context = RunContext::new(session, machine, interrupted);
        let hosted = Hosted { scenario, context, interrupted };
        hosted.options("auto", words)?;
        Ok(hosted)
    }

    /// The rows of these OTPs, each run with these words. Whatever goes wrong with one is said in
    /// its row.
    ///
    /// # Errors
    /// If the user interrupts; what was measured until then is kept.
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

    /// Begins an OTP, or lets it run a block.
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

    /// Ends all that have begun, since the user interrupted; the failure that ends the program.
    fn left(&self, turns: Vec<Turn<'_>>) -> Failure {
        let running = |turn| if let Turn::Running(running) = turn { Some(running) } else { None };
        for running in turns.into_iter().filter_map(running) {
            running.end(End::Interrupted).tell_where();
        }
        let line = "interrupted; what was measured until then was kept".to_owned();
        Failure { line, code: exit::INTERRUPTED }
    }

    fn options(&self, otp: &str, words: &[String]) -> Result<StudyOptions, Failure> {
        let id = self.scenario.meta().id;
        let line = [id, "--otp", otp].map(str::to_owned);
        let run = RunScenario::parse(line.into_iter().chain(words.iter().cloned()));
        run.map(|run| run.options()).map_err(|error| {
            Failure::usage(format!("the parameters behind --: {}", command::first_line(&error)))
        })
    }
}

/// The row of an OTP whose study ended.
fn row(otp: &str, done: Done) -> Row {
    done.tell_where();
    match done.code() {
        // A missing need is a record that says so.
        Ok(_) | Err(Failure { code: exit::NEED, .. }) => {
            let release = release(&done.record);
            Row::of_otp(otp, &release, Came::Judged(Box::new(done.record)))
        }
        Err(failure) => Row::of_otp(otp, "", Came::Nothing(failure.line)),
    }
}

/// The OTP release of a record, as its VM told it.
fn release(record: &Judged) -> String {
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    vm.map(|vm| vm.otp.clone()).unwrap_or_default()
}
