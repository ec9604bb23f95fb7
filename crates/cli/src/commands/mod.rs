//! The commands, one file or folder each. The fields of a command are its flags.

mod advise;
mod bisect;
pub mod census;
pub mod check;
mod compare;
mod erlang_app;
mod explain;
mod export;
pub mod first;
mod generate;
mod history;
mod host;
mod judge;
pub mod list;
mod load;
pub mod matrix;
mod probe;
mod report;
pub mod run;
pub mod sim;
pub mod study;
mod version;
pub mod vm;
pub mod watch;

use crate::command::{Failure, Session, commands};
use crate::{briefs, compat, sandbox};
use std::os::unix::fs::MetadataExt;

// In the order of the help. Its headings are GROUPS in command_line.rs.
commands! {
    /// All commands.
    Commands {
        Watch: watch::Watch,
        #[command(subcommand)]
        Probe: probe::Probe,
        Check: check::Check,
        Run: run::RunScenario,
        List: list::List,
        Study: study::StudyFile,
        Advise: advise::Advise,
        Judge: judge::Judge,
        Explain: explain::Explain,
        Report: report::Report,
        Compare: compare::Compare,
        History: history::History,
        Export: export::Export,
        Census: census::CensusFlags,
        Matrix: matrix::Matrix,
        Bisect: bisect::Bisect,
        Vm: vm::Vm,
        #[command(subcommand)]
        Sim: sim::Sim,
        Compat: compat::Compat,
        #[command(subcommand)]
        Host: host::Host,
        #[command(subcommand)]
        Generate: generate::Generate,
        Version: version::Version,
        // Old names of commands, and commands that only tailback itself starts.
        #[command(hide = true)]
        Identify: host::Identify,
        #[command(hide = true)]
        Restore: host::Restore,
        #[command(hide = true)]
        Completions: generate::Completions,
        #[command(hide = true)]
        Man: generate::Man,
        #[command(hide = true)]
        ErlangApp: erlang_app::ErlangApp,
        #[command(hide = true)]
        Load: load::Load,
        #[command(hide = true)]
        Reader: watch::ReaderFlags,
        #[command(hide = true)]
        Notifier: watch::NotifierFlags,
    }
}

impl Commands {
    /// Runs the chosen command and returns the exit code.
    ///
    /// # Errors
    /// The error line that ends the program.
    pub fn run(&self, session: &Session) -> Result<u8, Failure> {
        if is_in_guest() {
            // The guest has no other users, and its kernel may lack user accounts.
            os::user::enter_own_guest();
        }
        let command = self.command();
        command.prepare(session)?;
        if let Some(files) = command.writes() {
            sandbox::enter(&files);
        }
        if let Some(longest) = command.jitter() {
            briefs::wait(longest);
        }
        if let Some(name) = command.load()
            && let Err(failure) = session.guard.begin(&name)
        {
            return command.refused(session, failure);
        }
        command.run(session)
    }
}

/// Whether this is a guest that tailback made. The environment variable counts only if process 1
/// is this same program.
fn is_in_guest() -> bool {
    let program = |path: &str| std::fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let first = program("/proc/1/exe");
    guest::inside().is_some() && first.is_some() && first == program("/proc/self/exe")
}
