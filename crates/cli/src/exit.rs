//! Exit codes, and failures that end the program with one line.

use load::protocol::FailureKind;
use model::reported::{Reported, Trouble};
use model::{Meta, Problem};
use report::{ReportError, prose};
use runner::studies::StudyError;
use scenarios::ScenarioError;
use std::ffi::{OsStr, OsString};

/// Bad usage or bad input.
pub const USAGE: u8 = 2;
/// A need is missing: CPUs, a privilege, room on the disk.
pub const NEED: u8 = 3;
/// A trial broke.
pub const BROKEN: u8 = 4;
/// A defect of the program: a panic. The code that Rust uses.
const PANIC: u8 = 101;
/// The user interrupted.
pub const INTERRUPTED: u8 = 130;

/// For `git bisect run`: this commit cannot be tested.
const SKIP: u8 = 125;
/// For `git bisect run`: stop. This and all larger codes end a bisection.
const ABORT: u8 = 128;

/// The reader of the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// For people and scripts.
    Own,
    /// For `git bisect run`, which takes every code from 1 to 127 except 125 for a bad commit.
    Bisect,
    /// The same, for `tailback vm`. The guest sends the code of its command. Every failure here is
    /// one of the host: it says nothing about the commit, and would come back with each commit.
    BisectInGuest,
}

/// The command that runs another command in a guest.
const IN_GUEST: &str = "vm";

/// The flag of `tailback run` that selects the exit codes, and its value for `git bisect run`.
const FLAG: [&str; 2] = ["--exit-for", "bisect"];

impl Codes {
    /// The exit codes that these words of a command line ask for; the first word is the program.
    /// They are searched before any parsing, for two reasons: an invalid command line has to end a
    /// bisection too, and the command of a guest is after `--`.
    pub fn asked_for(words: &[OsString]) -> Self {
        let [flag, value] = FLAG.map(OsStr::new);
        let mut joined = flag.to_owned();
        joined.push("=");
        joined.push(value);
        let two = words.windows(2).any(|two| two[0] == flag && two[1] == value);
        match two || words.contains(&joined) {
            false => Codes::Own,
            true if words.get(1).is_some_and(|word| word == IN_GUEST) => Codes::BisectInGuest,
            true => Codes::Bisect,
        }
    }

    /// Makes a panic of any thread end the program at once, without a core file. Its helper
    /// process then restores what was changed on the machine. A bisection ends too: the usual exit
    /// code of a panic would count as a stall.
    pub fn end_on_panic(self) {
        let code = if self == Codes::Own { PANIC } else { ABORT };
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            usual(info);
            std::process::exit(i32::from(code));
        }));
    }

    /// Converts the exit code of a command. A code from a guest may be converted already.
    pub fn of_result(self, code: u8) -> u8 {
        match (self, code) {
            (Codes::Own, _) | (_, 0 | 1 | SKIP | ABORT..) => code,
            (_, BROKEN) => SKIP,
            _ => ABORT,
        }
    }

    /// Converts the exit code of a failure.
    pub fn of_failure(self, code: u8) -> u8 {
        match (self, code) {
            (Codes::Own, _) | (_, ABORT..) => code,
            (Codes::Bisect, NEED) => SKIP,
            _ => ABORT,
        }
    }
}

/// The reader of the exit code of `tailback run`.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitFor {
    Bisect,
}

/// The error that ends the program: one line and an exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What failed, where, and what to do next.
    pub line: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// Bad usage or input.
    pub fn usage(line: impl Into<String>) -> Self {
        Failure { line: line.into(), code: USAGE }
    }

    /// A missing need.
    pub fn need(line: impl Into<String>) -> Self {
        Failure { line: line.into(), code: NEED }
    }

    /// Something broke during the run.
    pub fn broken(line: impl Into<String>) -> Self {
        Failure { line: line.into(), code: BROKEN }
    }
}

impl From<ReportError> for Failure {
    /// The failure of a report that could not be made.
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::NoReproducer(_) | ReportError::NoMail(_) => {
                Failure::usage(error.to_string())
            }
            _ => Failure::broken(error.to_string()),
        }
    }
}

impl From<load::protocol::Failure> for Failure {
    /// The failure of a load that could not be set up, or that broke.
    fn from(load::protocol::Failure { kind, what }: load::protocol::Failure) -> Self {
        match kind {
            FailureKind::Unusable => Failure::usage(what),
            FailureKind::Permission | FailureKind::Limit => Failure::need(what),
            FailureKind::System => Failure::broken(what),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Failure::usage(error.to_string())
    }
}

impl Failure {
    /// The failure of a study that could not begin or continue, in the words of its scenario.
    pub fn of(error: ScenarioError, meta: Option<&Meta>) -> Self {
        match error {
            ScenarioError::Unusable(why) => Failure::usage(prose::problem(&why, meta)),
            ScenarioError::Missing(need) => Failure::need(prose::need(&need, meta)),
            ScenarioError::Broken(why) if is_full_disk(&why) => {
                let why = prose::problem(&why, meta);
                let grant = "free some disk space or use another folder (XDG_CACHE_HOME)";
                Failure::need(format!("{why}; {grant}"))
            }
            ScenarioError::Broken(why) => Failure::broken(prose::problem(&why, meta)),
            ScenarioError::Interrupted => {
                Failure { line: "interrupted".to_owned(), code: INTERRUPTED }
            }
        }
    }
}

fn is_full_disk(problem: &Problem) -> bool {
    matches!(problem, Problem::Reported(Reported { trouble: Trouble::Full, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reported::Part;

    #[test]
    fn a_full_disk_is_a_missing_need() {
        let failure = |trouble| {
            let problem = Problem::reported(Part::Otp, trouble, "/x: cannot write it");
            Failure::of(ScenarioError::Broken(problem), None)
        };
        let full = failure(Trouble::Full);
        assert_eq!(full.code, NEED);
        assert!(full.line.starts_with("/x: cannot write it; free some disk"), "{}", full.line);
        assert_eq!(failure(Trouble::Failed).code, BROKEN);
    }

    fn asked_for(line: &str) -> Codes {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Codes::asked_for(&words)
    }

    #[test]
    fn a_bisection_is_asked_for_by_the_words_alone() {
        for line in [
            "tailback run mmap-lock --exit-for bisect",
            "tailback run mmap-lock --exit-for=bisect --no-such-flag",
        ] {
            assert_eq!(asked_for(line), Codes::Bisect, "{line}");
        }
        let in_guest = "tailback vm --kernel . -- run mmap-lock --exit-for bisect";
        assert_eq!(asked_for(in_guest), Codes::BisectInGuest);
        for line in ["tailback run mmap-lock", "tailback run x --exit-for", "tailback vm -- run"] {
            assert_eq!(asked_for(line), Codes::Own, "{line}");
        }
    }

    /// Runs itself again with this variable set; that process panics.
    #[test]
    fn a_panic_of_any_thread_ends_the_program() {
        const CODES: &str = "TAILBACK_TEST_PANIC";
        let panics = |codes: Codes| -> ! {
            codes.end_on_panic();
            let _ = std::thread::spawn(|| panic!("a defect")).join();
            std::process::exit(0)
        };
        match std::env::var(CODES).as_deref() {
            Ok("own") => panics(Codes::Own),
            Ok(_) => panics(Codes::Bisect),
            Err(_) => {}
        }
        let code = |codes| {
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", "exit::tests::a_panic_of_any_thread_ends_the_program"]);
            again.env(CODES, codes).output().unwrap().status.code()
        };
        assert_eq!(code("own"), Some(i32::from(PANIC)));
        assert_eq!(code("bisect"), Some(i32::from(ABORT)));
    }

    #[test]
    fn a_bisection_hears_of_a_bad_commit_only_where_a_stall_showed() {
        let result = |code| Codes::Bisect.of_result(code);
        assert_eq!([0, 1, BROKEN].map(result), [0, 1, SKIP]);
        assert_eq!([USAGE, NEED, INTERRUPTED].map(result), [ABORT, ABORT, INTERRUPTED]);
        assert_eq!([SKIP, ABORT].map(result), [SKIP, ABORT], "a guest says so already");
        let failure = |code| Codes::Bisect.of_failure(code);
        assert_eq!([USAGE, NEED, BROKEN].map(failure), [ABORT, SKIP, ABORT]);
        assert_eq!(failure(INTERRUPTED), INTERRUPTED);
        let of_host = |code| Codes::BisectInGuest.of_failure(code);
        assert_eq!([NEED, BROKEN, INTERRUPTED].map(of_host), [ABORT, ABORT, INTERRUPTED]);
        let of_guest = |code| Codes::BisectInGuest.of_result(code);
        assert_eq!([0, 1, SKIP, BROKEN].map(of_guest), [0, 1, SKIP, SKIP]);
        assert_eq!((Codes::Own.of_result(BROKEN), Codes::Own.of_failure(NEED)), (BROKEN, NEED));
    }
}
