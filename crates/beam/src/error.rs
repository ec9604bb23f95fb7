//! What can go wrong for a caller of this crate.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why no node, or none that is fit, could be had.
#[derive(Debug, thiserror::Error)]
pub enum BeamError {
    /// There is no Erlang where it was looked for.
    #[error(
        "erl: not found {place}; fetch one with --otp debian:trixie, install erlang-base (Debian, \
         Ubuntu), or name one with --otp PATH"
    )]
    NoErl {
        /// Where it was looked for, in words.
        place: String,
    },
    /// There is no OTP by that name.
    #[error("--otp {word}: {why}; or name an erl, or the root of an installation")]
    Unknown {
        /// What was asked for.
        word: String,
        /// Why not, and what there is.
        why: String,
    },
    /// The OTP of a suite of Debian could not be had.
    #[error("debian:{suite}: {source}")]
    Debian {
        /// The suite.
        suite: String,
        /// Why.
        source: debian::DebianError,
    },
    /// The file cannot be executed.
    #[error("{}: cannot be executed: {source}; name another with --otp PATH", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The program is something else than an Erlang.
    #[error("{}: not an Erlang: {printed}; name one with --otp PATH", path.display())]
    NotErl {
        /// The program.
        path: PathBuf,
        /// What it printed instead of answering.
        printed: String,
    },
    /// The program did not end in time.
    #[error("{}: did not {what} within {limit:?}; is the machine overloaded?", path.display())]
    Late {
        /// The program.
        path: PathBuf,
        /// What it was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// Root would run a program of another user's.
    #[error("{}: {why}; root runs no program that others could have put there: name another with --otp PATH", path.display())]
    UnsafeProgram {
        /// The program, or a folder above it.
        path: PathBuf,
        /// Who may change it.
        why: String,
    },
    /// The OTP release is older than what is supported.
    #[error("{}: OTP {found} is too old; tailback needs OTP {least} or newer", path.display())]
    TooOld {
        /// The program.
        path: PathBuf,
        /// Its release.
        found: u32,
        /// The oldest that will do.
        least: u32,
    },
    /// Emulator flags that are not accepted here.
    #[error("emulator flags `{text}`: {why}")]
    Flags {
        /// The flags as they were given.
        text: String,
        /// What is wrong with them.
        why: String,
    },
    /// A file or folder could not be read, written or made.
    #[error("{}: cannot {what}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was to be done.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Code from this folder could have come from another user.
    #[error("{}: {why}; code from there would run with your rights, so name another cache folder", path.display())]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Who may write there.
        why: String,
    },
    /// A folder is not empty, and what is in it is not ours.
    #[error("{}: not empty and not written by tailback; name a new folder", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The application did not compile.
    #[error("{}: the Erlang application does not compile: {why}", erl.display())]
    Compile {
        /// The Erlang that compiled it.
        erl: PathBuf,
        /// The compiler's first message.
        why: String,
    },
    /// A node could not be started.
    #[error("{}: cannot start a node: {step}: {source}", erl.display())]
    Start {
        /// The Erlang.
        erl: PathBuf,
        /// What failed.
        step: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A node ended before it sent its hello.
    #[error("{0} before it was ready")]
    Died(Death),
    /// A node did not send its hello in time.
    #[error("erl (pid {pid}) was not ready within {limit:?}{}", last_output(last))]
    NoHello {
        /// Its process.
        pid: u32,
        /// How long it was waited for.
        limit: Duration,
        /// The last lines that it wrote.
        last: Vec<String>,
    },
    /// A node did not keep to the protocol.
    #[error("erl (pid {pid}) does not keep to the protocol: {what}")]
    Protocol {
        /// Its process.
        pid: u32,
        /// What it did.
        what: String,
    },
    /// The user interrupted.
    #[error("interrupted while a node was starting")]
    Interrupted,
    /// A thread of the tool's own could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Why a call did not return a term.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The node is gone.
    #[error("{0}")]
    Died(Death),
    /// No answer came in time; the call was asked to end.
    #[error("{call} did not return within {limit:?}")]
    Late {
        /// `module:function/arity`.
        call: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The user interrupted; the call was asked to end.
    #[error("interrupted in {call}")]
    Interrupted {
        /// `module:function/arity`.
        call: String,
    },
    /// The function raised, or its process was killed.
    #[error("{call} failed: {why}")]
    Failed {
        /// `module:function/arity`.
        call: String,
        /// The node's reason.
        why: String,
    },
    /// What was to be sent is too large, or no term.
    #[error("{call} cannot be sent: {why}")]
    Unsendable {
        /// `module:function/arity`.
        call: String,
        /// What is wrong with it.
        why: String,
    },
    /// The node did not keep to the protocol.
    #[error("erl (pid {pid}) does not keep to the protocol: {what}")]
    Protocol {
        /// Its process.
        pid: u32,
        /// What it did.
        what: String,
    },
    /// A pipe failed.
    #[error("erl (pid {pid}): {source}")]
    System {
        /// Its process.
        pid: u32,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// How a node ended that was not asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Its process.
    pub pid: u32,
    /// Exit code or signal, in words.
    pub how: String,
    /// The last lines that it wrote to standard output and error, cleaned, oldest first; of one
    /// that did not even start the first line.
    pub last: Vec<String>,
    /// Its crash dump, where it wrote one.
    pub dump: Option<PathBuf>,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "erl (pid {}) {}{}", self.pid, self.how, last_output(&self.last))?;
        match &self.dump {
            Some(dump) => write!(f, "; crash dump in {}", dump.display()),
            None => Ok(()),
        }
    }
}

/// The last few lines, as the end of a message of one line.
fn last_output(last: &[String]) -> String {
    let kept = &last[last.len().saturating_sub(3)..];
    if kept.is_empty() { String::new() } else { format!("; it wrote: {}", kept.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unexpected_end_is_one_line_with_the_last_output_and_the_dump() {
        let last = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let death = Death { pid: 7, how: "was killed by signal 9".into(), last, dump: None };
        let message = "erl (pid 7) was killed by signal 9; it wrote: b | c | d";
        assert_eq!(death.to_string(), message);
        let death = Death { dump: Some("/x/d".into()), ..death };
        assert_eq!(death.to_string(), format!("{message}; crash dump in /x/d"));
        let death = Death { last: vec![], dump: None, ..death };
        assert_eq!(
            BeamError::Died(death).to_string(),
            "erl (pid 7) was killed by signal 9 before it was ready"
        );
    }
}
