//! Verdicts for the test runners of kernel developers: `--format ktap`.

use crate::exit::{self, Failure};
use crate::output;
use crate::session::Session;
use clap::ValueEnum;
use report::export::ktap::{self, Test, Undecided};

/// The flags of output for test runners.
#[derive(clap::Args, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KtapFlags {
    /// Print KTAP, with the exit codes of kselftest: 0 passed, 1 failed, 4 skipped. A stall is a
    /// failure
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,
    /// How KTAP counts a study without a verdict [default: fail]
    #[arg(long, value_name = "RESULT", requires = "format")]
    undecided: Option<WithoutVerdict>,
}

/// The formats besides text and JSON.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Ktap,
}

/// The KTAP result of a study without a verdict: a failed test or a skipped one.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutVerdict {
    Fail,
    Skip,
}

impl KtapFlags {
    /// The result of a study without a verdict; None if no KTAP is wanted.
    pub fn wanted(self) -> Option<Undecided> {
        self.format.map(|Format::Ktap| of(self.undecided))
    }
}

/// The result of a study without a verdict, for this value of the flag.
pub fn of(asked: Option<WithoutVerdict>) -> Undecided {
    match asked {
        None | Some(WithoutVerdict::Fail) => Undecided::Fail,
        Some(WithoutVerdict::Skip) => Undecided::Skip,
    }
}

/// Prints tests. Returns their exit code, or `code` if that is an interruption.
pub fn print(session: &Session, tests: &[Test], undecided: Undecided, code: u8) -> u8 {
    session.out.print(&ktap::ktap(tests, undecided));
    if code == exit::INTERRUPTED { code } else { ktap::code(tests, undecided) }
}

impl KtapFlags {
    /// The same as [`print_failure`], for a command with these flags.
    ///
    /// # Errors
    /// The failure of the command, if no KTAP is wanted.
    pub fn print_failure(
        self,
        session: &Session,
        ended: Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        print_failure(session, self.wanted(), ended)
    }
}

/// The result of a command that could run nothing. If KTAP is wanted, it is printed as KTAP.
///
/// # Errors
/// The failure of the command, if no KTAP is wanted.
pub fn print_failure(
    session: &Session,
    wanted: Option<Undecided>,
    ended: Result<u8, Failure>,
) -> Result<u8, Failure> {
    match (ended, wanted) {
        (Err(failure), Some(_)) if failure.code != exit::INTERRUPTED => {
            output::complain(&failure.line);
            let (text, code) = ktap::nothing(&failure.line, failure.code == exit::NEED);
            session.out.print(&text);
            Ok(code)
        }
        (ended, _) => ended,
    }
}

/// The exit code of the tests that a command has printed, if it has, after its other work. A
/// failure of that work is only reported, since a second KTAP would hide the tests.
///
/// # Errors
/// The failure, if no tests were printed or if it is an interruption.
pub fn after_tests(printed: Option<u8>, rest: Result<(), Failure>) -> Result<Option<u8>, Failure> {
    match (printed, rest) {
        (Some(code), Err(failure)) if failure.code != exit::INTERRUPTED => {
            output::complain(&failure.line);
            Ok(Some(code))
        }
        (printed, rest) => rest.map(|()| printed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_after_the_tests_does_not_hide_them() {
        let failed = || Failure::need("page.html: no space");
        assert_eq!(after_tests(Some(1), Err(failed())), Ok(Some(1)));
        assert_eq!(after_tests(Some(1), Ok(())), Ok(Some(1)));
        assert_eq!(after_tests(None, Err(failed())), Err(failed()));
        let interrupted = || Failure { line: String::new(), code: exit::INTERRUPTED };
        assert_eq!(after_tests(Some(1), Err(interrupted())), Err(interrupted()));
    }
}
