//! Verdicts for the test runners of kernel developers: `--format ktap`.

use crate::exit::{self, Failure};
use crate::output;
use crate::session::Session;
use clap::ValueEnum;
use report::export::ktap::{self, Test, Undecided};

/// How verdicts are printed for test runners.
#[derive(clap::Args, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KtapFlags {
    /// Print KTAP, with the exit codes of kselftest: 0 passed, 1 failed, 4 skipped. A stall is a
    /// failure
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,
    /// What a study without a verdict counts as in KTAP [default: fail]
    #[arg(long, value_name = "RESULT", requires = "format")]
    undecided: Option<WithoutVerdict>,
}

/// The formats besides text and JSON.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Ktap,
}

/// What a study without a verdict is: a test that failed, or one that was skipped.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutVerdict {
    Fail,
    Skip,
}

impl KtapFlags {
    /// What a study without a verdict is, where KTAP is wanted.
    pub fn wanted(self) -> Option<Undecided> {
        self.format.map(|Format::Ktap| of(self.undecided))
    }
}

/// What a study without a verdict is, as it was asked for.
pub fn of(asked: Option<WithoutVerdict>) -> Undecided {
    match asked {
        None | Some(WithoutVerdict::Fail) => Undecided::Fail,
        Some(WithoutVerdict::Skip) => Undecided::Skip,
    }
}

/// Prints tests; the exit code, where the program would end with `code` else.
pub fn print(session: &Session, tests: &[Test], undecided: Undecided, code: u8) -> u8 {
    session.out.print(&ktap::ktap(tests, undecided));
    if code == exit::INTERRUPTED { code } else { ktap::code(tests, undecided) }
}

impl KtapFlags {
    /// How a command ended, where nothing could be run: in KTAP too where that is wanted.
    ///
    /// # Errors
    /// As the command, where it is not.
    pub fn told(self, session: &Session, ended: Result<u8, Failure>) -> Result<u8, Failure> {
        match (ended, self.wanted()) {
            (Err(failure), Some(_)) if failure.code != exit::INTERRUPTED => {
                output::complain(&failure.line);
                let (text, code) = ktap::nothing(&failure.line, failure.code == exit::NEED);
                session.out.print(&text);
                Ok(code)
            }
            (ended, _) => ended,
        }
    }
}
