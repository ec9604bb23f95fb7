//! `tailback`: finds out why work that is ready to run makes no progress.

mod ansible;
mod briefs;
mod claim;
mod command;
mod command_line;
mod commands;
mod compat;
mod exit;
mod guard;
mod identity;
mod input;
mod ktap;
mod machine;
mod output;
mod page;
mod paths;
mod progress;
mod records;
mod sandbox;
mod session;
mod settings;
mod signals;
#[cfg(test)]
mod testing;
mod undecided;

use exit::Codes;
use session::Session;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Process 1 of a guest that tailback made has a job file instead of a command line.
    if guest::init::is_init() {
        guest::init::run();
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let codes = Codes::asked_for(&words);
    codes.end_on_panic();
    forget_hostile_temporary_folder();
    let session = Session::new(command_line::command);
    if let Some(arguments) = ansible::called() {
        return ExitCode::from(ansible::module(&arguments, &session));
    }
    let code = match command_line::parse(words) {
        Ok(None) => {
            session.out.print(&commands::first::text(&session));
            0
        }
        Ok(Some(command)) => match command.run(&session) {
            Ok(code) => codes.of_result(code),
            Err(failure) => {
                output::complain(&failure.line);
                codes.of_failure(failure.code)
            }
        },
        // A help text or the version, on standard output.
        Err(error) if error.exit_code() == 0 => {
            session.out.check(error.print());
            0
        }
        Err(error) => {
            // This goes to standard error. A closed stream does not matter.
            let _ = error.print();
            if error.kind() == clap::error::ErrorKind::InvalidSubcommand {
                output::note("Scenarios and what they need: tailback list");
            }
            codes.of_failure(exit::USAGE)
        }
    };
    session.guard.end();
    // An answer that could not be printed is no success.
    let unprinted = session.out.failed() && code < exit::USAGE;
    ExitCode::from(if unprinted { codes.of_result(exit::NEED) } else { code })
}

/// Makes root use /tmp if another user could replace files in its TMPDIR, as with `sudo -E`.
fn forget_hostile_temporary_folder() {
    let Some(folder) = std::env::var_os("TMPDIR").filter(|_| rustix::process::geteuid().is_root())
    else {
        return;
    };
    if let Err(why) = host::program::check_temporary(std::path::Path::new(&folder)) {
        output::note(&format!("TMPDIR={why}; temporary files go to /tmp"));
        // SAFETY: no other thread has been started yet.
        unsafe { std::env::remove_var("TMPDIR") };
    }
}
