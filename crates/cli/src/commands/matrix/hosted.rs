//! Rows of OTPs: a study of its own for each, on this machine.

use super::row::{Result as Came, Row};
use crate::commands::run::study;
use crate::exit::{self, Failure};
use crate::settings::StudyOptions;
use crate::signals::Interruption;
use model::{Machine, Record};
use scenarios::AnyScenario;

/// What runs OTPs, one after another.
pub struct Hosted<'a> {
    scenario: &'static dyn AnyScenario,
    /// The words of `run` behind the OTP.
    words: &'a [String],
    machine: Machine,
    interruption: &'a Interruption,
}

impl<'a> Hosted<'a> {
    /// For a scenario that runs Erlang.
    ///
    /// # Errors
    /// If it runs none, or the words are no command line of it.
    pub fn new(
        scenario: &'static dyn AnyScenario,
        words: &'a [String],
        interruption: &'a Interruption,
    ) -> Result<Self, Failure> {
        let meta = scenario.meta();
        if meta.parameter("otp").is_none() {
            return Err(Failure::usage(format!(
                "--otps: {} runs no Erlang; give --kernels, or a scenario that does (see tailback \
                 list)",
                meta.id
            )));
        }
        let hosted = Hosted { scenario, words, machine: crate::machine::here(), interruption };
        hosted.options("auto")?;
        Ok(hosted)
    }

    /// The row of an OTP. Whatever goes wrong with it is said in its row.
    ///
    /// # Errors
    /// If the user interrupts.
    pub fn row(&self, otp: &str) -> Result<Row, Failure> {
        crate::output::note(&format!("matrix: {otp}"));
        let nothing = |failure: Failure| match failure.code {
            exit::INTERRUPTED => Err(failure),
            _ => Ok(Row::of_otp(otp, "", Came::Nothing(failure.line))),
        };
        let options = match self.options(otp) {
            Ok(options) => options,
            Err(failure) => return nothing(failure),
        };
        match study(self.scenario, &options, &self.machine, None, self.interruption, None) {
            Err(failure) => nothing(failure),
            Ok(done) => {
                done.tell_where();
                match done.code() {
                    Ok(exit::INTERRUPTED) => Err(Failure {
                        line: "interrupted; what was measured until then was kept".to_owned(),
                        code: exit::INTERRUPTED,
                    }),
                    // A missing need is a record that says so.
                    Ok(_) | Err(Failure { code: exit::NEED, .. }) => {
                        let release = release(&done.record);
                        Ok(Row::of_otp(otp, &release, Came::Record(Box::new(done.record))))
                    }
                    Err(failure) => nothing(failure),
                }
            }
        }
    }

    fn options(&self, otp: &str) -> Result<StudyOptions, Failure> {
        let id = self.scenario.meta().id;
        let line = ["tailback", "run", id, "--otp", otp].map(str::to_owned);
        let line = line.into_iter().chain(self.words.iter().cloned());
        let matches = crate::flags::command().try_get_matches_from(line).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Failure::usage(format!("the parameters behind --: {first}"))
        })?;
        let run = matches.subcommand().and_then(|(_, run)| run.subcommand());
        let (_, leaf) = run.ok_or_else(|| Failure::usage("no scenario"))?;
        StudyOptions::of_run(self.scenario, leaf)
    }
}

/// The OTP release of a record, as its VM told it.
fn release(record: &Record) -> String {
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    vm.map(|vm| vm.otp.clone()).unwrap_or_default()
}
