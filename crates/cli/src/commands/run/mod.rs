//! `tailback run SCENARIO`.

mod done;
mod running;

use crate::briefs::{self, Briefs};
use crate::exit::Failure;
use crate::output;
use crate::progress::Among;
use crate::settings::StudyOptions;
use crate::signals::Interruption;
use clap::ArgMatches;
pub use done::Done;
use model::Machine;
pub use running::{Begun, Place, Running, begin};
use scenarios::AnyScenario;
use std::path::PathBuf;

/// Runs one scenario; the exit code of its verdict.
pub fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    let (id, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no scenario"))?;
    let scenario = scenarios::find(id)
        .ok_or_else(|| Failure::usage(format!("no scenario {id}; see tailback list")))?;
    let machine = crate::machine::here();
    let options = StudyOptions::of_run(scenario, matches)?;
    let asked = matches.get_one::<PathBuf>("record");
    let wanted = Briefs::asked(matches)?;
    let done = study(scenario, &options, &machine, asked, &Interruption::watch(), Among::None)?;
    if let Some(briefs) = &wanted {
        briefs.give(std::iter::once(&done.record))?;
    } else if matches.get_flag("json") {
        output::json(&done.record.to_json());
    } else {
        done.show(scenario.meta(), output::look_of(matches));
    }
    done.tell_where();
    done.code().map(|code| briefs::code(wanted.as_ref(), code))
}

/// Runs one study and keeps its record.
///
/// # Errors
/// As [`begin`].
pub fn study(
    scenario: &'static dyn AnyScenario,
    options: &StudyOptions,
    machine: &Machine,
    asked: Option<&PathBuf>,
    interruption: &Interruption,
    among: Among,
) -> Result<Done, Failure> {
    let interrupted = || interruption.noticed();
    let place = Place::new(machine, &interrupted);
    let mut running = match begin(scenario, options, &place, asked, among)? {
        Begun::NotRun(done) => return Ok(*done),
        Begun::Running(running) => running,
    };
    loop {
        if let Some(end) = running.turn() {
            return Ok(running.end(end));
        }
    }
}
