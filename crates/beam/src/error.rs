//! The errors that callers of this crate can get.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a suitable node could not be started.
#[derive(Debug, thiserror::Error)]
pub enum BeamError {
    /// No Erlang was found.
    #[error(
        "erl: not found {place}; fetch Erlang with --otp debian:trixie, install erlang-base \
         (Debian, Ubuntu), or name an erl with --otp PATH"
    )]
    NoErl {
        /// Where it was searched, in words.
        place: String,
    },
    /// There is no OTP with that name.
    #[error("--otp {word}: {why}; or give the path of an erl or of an installation")]
    Unknown {
        /// The word that the user gave.
        word: String,
        /// Why there is none, and which names exist.
        why: String,
    },
    /// The OTP of a Debian suite is not available.
    #[error("debian:{suite}: {source}")]
    Debian {
        /// The suite.
        suite: String,
        /// The reason.
        source: debian::DebianError,
    },
    /// The file cannot be executed.
    #[error("{}: cannot be executed: {source}; name another erl with --otp PATH", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The program is no Erlang.
    #[error("{}: not an Erlang VM: {printed}; name an erl with --otp PATH", path.display())]
    NotErl {
        /// The program.
        path: PathBuf,
        /// What it printed instead of an answer.
        printed: String,
    },
    /// The program did not end in time.
    #[error("{}: did not {what} within {limit:?}; is the machine overloaded?", path.display())]
    Late {
        /// The program.
        path: PathBuf,
        /// The event that was waited for.
        what: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// Root would run a program that another user may change.
    #[error(
        "{}: {why}; as root, tailback runs no program that other users could have put there: name \
         another erl with --otp PATH",
        path.display()
    )]
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
        /// The oldest supported release.
        least: u32,
    },
    /// Emulator flags that are not accepted here.
    #[error("emulator flags `{text}`: {why}")]
    Flags {
        /// The flags as the user gave them.
        text: String,
        /// What is wrong with them.
        why: String,
    },
    /// A file or folder could not be read, written or made.
    #[error("{}: cannot {what}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Another user could have put code into this folder.
    #[error(
        "{}: {why}; code from there would run with your rights, so name another cache folder",
        path.display()
    )]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Who may write there.
        why: String,
    },
    /// A folder is not empty, and its content is not tailback's.
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
        /// The step that failed.
        step: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A node ended before it sent its hello message.
    #[error("{0} before it was ready")]
    Died(Death),
    /// A node did not send its hello message in time.
    #[error("erl (pid {pid}) was not ready within {limit:?}{}", last_output(last))]
    NoHello {
        /// The pid of its process.
        pid: u32,
        /// The time limit.
        limit: Duration,
        /// The last lines that the node wrote.
        last: Vec<String>,
    },
    /// A node violated the protocol.
    #[error("erl (pid {pid}) violates the protocol: {what}")]
    Protocol {
        /// The pid of its process.
        pid: u32,
        /// How the node violated it.
        what: String,
    },
    /// The user interrupted.
    #[error("interrupted while a node was starting")]
    Interrupted,
    /// A thread of tailback's own could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Why a call did not return a term.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The node has ended.
    #[error("{0}")]
    Died(Death),
    /// No answer came in time; the node was asked to end the call.
    #[error("{call} did not return within {limit:?}")]
    Late {
        /// `module:function/arity`.
        call: String,
        /// The time limit.
        limit: Duration,
    },
    /// The user interrupted; the node was asked to end the call.
    #[error("interrupted in {call}")]
    Interrupted {
        /// `module:function/arity`.
        call: String,
    },
    /// The function raised an exception, or its process was killed.
    #[error("{call} failed: {why}")]
    Failed {
        /// `module:function/arity`.
        call: String,
        /// The node's reason.
        why: String,
    },
    /// The request is too large, or is no valid term.
    #[error("{call} cannot be sent: {why}")]
    Unsendable {
        /// `module:function/arity`.
        call: String,
        /// What is wrong with it.
        why: String,
    },
    /// The node violated the protocol.
    #[error("erl (pid {pid}) violates the protocol: {what}")]
    Protocol {
        /// The pid of its process.
        pid: u32,
        /// How the node violated it.
        what: String,
    },
    /// A pipe failed.
    #[error("erl (pid {pid}): {source}")]
    System {
        /// The pid of its process.
        pid: u32,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// The unrequested end of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// The pid of its process.
    pub pid: u32,
    /// Exit code or signal, in words.
    pub how: String,
    /// The last lines that it wrote to standard output and error, cleaned, oldest first. If it
    /// did not even start, the first line.
    pub last: Vec<String>,
    /// Its crash dump, if it wrote one.
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

/// The last few lines, joined for the end of a one-line message.
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
