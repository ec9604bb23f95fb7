//! `tailback`: finds out why ready work stands still.

mod claim;
mod commands;
mod compat;
mod exit;
mod flags;
mod guard;
mod input;
mod keep;
mod machine;
mod output;
mod page;
mod past;
mod progress;
mod records;
mod settings;
mod signals;
mod undecided;

use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Process 1 of a guest that tailback made has an order instead of a command line.
    if guest::init::is_init() {
        guest::init::run();
    }
    let code = match flags::command().try_get_matches() {
        Ok(matches) => commands::dispatch(&matches).unwrap_or_else(|failure| tell(&failure)),
        Err(error) => {
            // clap's own words go to the right stream; a closed stream is nobody's loss.
            let _ = error.print();
            if error.kind() == clap::error::ErrorKind::InvalidSubcommand {
                output::note("Scenarios and what they need: tailback list");
            }
            u8::try_from(error.exit_code()).unwrap_or(exit::USAGE)
        }
    };
    guard::end();
    // A verdict that nobody could be told is no success.
    let unsaid = output::failed() && code < exit::USAGE;
    ExitCode::from(if unsaid { exit::NEED } else { code })
}

fn tell(failure: &Failure) -> u8 {
    output::complain(&failure.line);
    failure.code
}
