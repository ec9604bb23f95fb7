//! An available Erlang, and what it reports about itself.

use super::command;
use super::flags::Flags;
use super::probe::{self, Answer};
use crate::error::BeamError;
use crate::run;
use crate::text::first_line;
use host::private::PrivateError;
use os::user::{Account, User};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The oldest supported OTP release.
pub const OLDEST: u32 = 25;

/// How long an Erlang may take to start and answer a question. Usually it takes half a second,
/// but half a minute in an emulated guest on a busy host.
const LIMIT: Duration = Duration::from_secs(120);

/// An Erlang/OTP that has answered.
///
/// None of its programs sees the variables `ERL_*` of the tool's environment (`ERL_FLAGS`,
/// `ERL_AFLAGS`, `ERL_ZFLAGS`, `ERL_LIBS`, `ERL_OTP25_FLAGS`, ...): they would change the
/// measurement without a trace in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otp {
    /// The absolute path of the program `erl`.
    pub erl: PathBuf,
    /// The release, such as 25.
    pub release: u32,
    /// The version of the runtime system, such as `13.1.5`.
    pub erts: String,
    /// The root of the installation.
    pub root: PathBuf,
    /// The account that all its programs run as; None for the caller.
    pub account: Option<Account>,
    /// Where it was fetched from; None if it was installed on this machine.
    pub origin: Option<Origin>,
}

/// The package from which an OTP was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The Debian suite, such as `trixie`.
    pub suite: String,
    /// The version of `erlang-base`.
    pub version: String,
}

/// Parses a line as an answer, for the fuzzer.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(text: &str) {
    let answers = text.lines().filter_map(probe::answer);
    assert!(answers.into_iter().all(|answer| !answer.erts.contains('/')));
}

/// Longest version text, in bytes.
const LONGEST_VERSION: u64 = 64;

impl Otp {
    /// Finds `erl` on the PATH, or at the path `erl`, which is the program or the root of an
    /// installation. Asks the program which Erlang it is.
    ///
    /// # Errors
    /// If there is none, if it cannot be executed, if it is no Erlang or never answers, or if it
    /// is older than OTP 25.
    pub fn find(erl: Option<&Path>) -> Result<Self, BeamError> {
        Self::find_within(erl, LIMIT)
    }

    /// Like [`Otp::find`], with another limit on the time that the program may take.
    ///
    /// # Errors
    /// As [`Otp::find`].
    pub fn find_within(erl: Option<&Path>, limit: Duration) -> Result<Self, BeamError> {
        let program = match erl {
            Some(path) => named(path)?,
            None => on_the_path(std::env::var_os("PATH"))?,
        };
        let account = os::user::unprivileged().filter(|account| may_execute(account, &program));
        if account.is_none() {
            check_own(&program)?;
        }
        let Answer { release, erts, root } = probe::ask(&program, account, limit)?;
        if release < OLDEST {
            return Err(BeamError::TooOld { path: program, found: release, least: OLDEST });
        }
        let account = account.cloned();
        Ok(Otp { erl: program, release, erts, root, account, origin: None })
    }

    /// The same OTP, run as the caller. Root runs it only if no other user could have put it
    /// there.
    ///
    /// # Errors
    /// If another user could have put it there.
    pub fn of_caller(self) -> Result<Self, BeamError> {
        check_own(&self.erl)?;
        Ok(Otp { account: None, ..self })
    }

    /// Its version, such as `27.3.4.1`; its release if the version is not known.
    pub fn version(&self) -> String {
        let file = self.root.join(format!("releases/{}/OTP_VERSION", self.release));
        // The program itself reports this root, so anybody may have written the files there.
        let text = os::file::read_start(&file, LONGEST_VERSION).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let version = text.as_deref().map(str::trim).filter(|text| probe::is_version(text));
        version.map_or_else(|| self.release.to_string(), str::to_owned)
    }

    /// Checks that this OTP accepts these emulator flags.
    ///
    /// # Errors
    /// The VM's own message, in one line of at most 200 characters; or that it could not be
    /// started, ended without a message, or did not start in time.
    pub fn accepts(&self, flags: &Flags) -> Result<(), String> {
        let mut command = self.command();
        command.args(flags.words()).args(command::QUIET);
        command.args(["-eval", "io:put_chars(\"tailback:ok\\n\"), erlang:halt(0)."]);
        let ran = run::run(command, self.user(), LIMIT)
            .map_err(|error| format!("{}: {error}", self.erl.display()))?;
        if ran.stdout.split(|byte| *byte == b'\n').any(|line| line == b"tailback:ok") {
            return Ok(());
        }
        let words = first_line(&ran.stderr).or_else(|| first_line(&ran.stdout));
        Err(words.unwrap_or_else(|| match ran.status {
            Some(status) => format!("the VM ended without a message, {status}"),
            None => format!("the VM did not start within {LIMIT:?}"),
        }))
    }

    /// A command that starts this Erlang in an environment without `ERL_*`.
    pub(crate) fn command(&self) -> Command {
        command::command(&self.erl, self.account.as_ref())
    }

    /// The user that its processes become; None for the caller.
    pub fn user(&self) -> Option<User> {
        self.account.as_ref().map(|account| account.user)
    }
}

/// Refuses a program that another user could have put there and that root would run.
fn check_own(program: &Path) -> Result<(), BeamError> {
    host::program::check(program).map_err(|error| match error {
        PrivateError::Unsafe { path, why } => BeamError::UnsafeProgram { path, why },
        PrivateError::File { path, source, .. } => BeamError::NotExecutable { path, source },
    })
}

/// Whether this user may execute a program. If not, it is a program of root's, which root
/// executes.
///
/// Root never executes a program that others could have put there.
fn may_execute(account: &Account, program: &Path) -> bool {
    let reaches = |path: &Path, bits: u32| {
        path.metadata().is_ok_and(|metadata| {
            let shift = match () {
                () if metadata.uid() == account.user.uid() => 6,
                () if metadata.gid() == account.user.gid() => 3,
                () => 0,
            };
            metadata.mode() >> shift & bits == bits
        })
    };
    let Ok(real) = program.canonicalize() else { return true };
    let named = program.ancestors().skip(1).chain(real.ancestors().skip(1));
    let reached = reaches(&real, 0o5) && named.into_iter().all(|folder| reaches(folder, 0o1));
    reached || host::program::check(program).is_err()
}

/// The program at the path that a user gave.
fn named(path: &Path) -> Result<PathBuf, BeamError> {
    let path = if path.is_dir() { path.join("bin/erl") } else { path.to_owned() };
    if !path.exists() {
        return Err(BeamError::NoErl { place: format!("at {}", path.display()) });
    }
    match is_program(&path) {
        true => Ok(std::path::absolute(&path).unwrap_or(path)),
        false => Err(not_executable(path)),
    }
}

fn not_executable(path: PathBuf) -> BeamError {
    BeamError::NotExecutable { path, source: io::ErrorKind::PermissionDenied.into() }
}

/// The first `erl` in a list of folders, such as PATH.
fn on_the_path(path: Option<OsString>) -> Result<PathBuf, BeamError> {
    let path = path.unwrap_or_default();
    let mut files = std::env::split_paths(&path)
        // An empty or relative folder would depend on the tool's working folder.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("erl"))
        .filter(|file| file.is_file());
    let first = files.next();
    match first.iter().cloned().chain(files).find(|file| is_program(file)) {
        Some(file) => Ok(file),
        None => Err(first
            .map_or_else(|| BeamError::NoErl { place: "on the PATH".to_owned() }, not_executable)),
    }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests;
