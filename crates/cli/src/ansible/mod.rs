//! The tailback binary as a module of Ansible.
//!
//! Ansible copies a binary module into a folder of its own on the host. It names the copy
//! `AnsiballZ_` plus the name of the module. Then it runs the copy with one argument: the file of
//! the module's arguments, as JSON. The answer is one JSON object on standard output. So nothing
//! has to be installed on the host: no Python, and no tailback.

mod answer;
mod carried;
mod folders;
mod wanted;

use crate::exit::{self, Failure};
use crate::session::Session;
use crate::signals::Interruption;
use crate::{command, command_line};
use answer::Answer;
use carried::{ChildRun, End};
use folders::ModuleFolders;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wanted::Wanted;

/// Prefix of the file name that Ansible gives a module.
const NAME: &str = "AnsiballZ_";

/// How much longer than its budget a run may take, for set-up and for trials that are under way.
/// In an emulated guest, everything takes several times as long.
const SLACK: Duration = Duration::from_secs(120);

/// The file of arguments, if Ansible runs this program as its module.
pub fn called() -> Option<PathBuf> {
    arguments(std::env::args_os().collect())
}

fn arguments(words: Vec<OsString>) -> Option<PathBuf> {
    let [program, file] = words.try_into().ok()?;
    let name = Path::new(&program).file_name()?.to_str()?;
    name.starts_with(NAME).then(|| PathBuf::from(file))
}

/// Does what the arguments say, prints the answer, and returns the exit code.
pub fn module(file: &Path, session: &Session) -> u8 {
    let interruption = Interruption::default();
    interruption.watch_to_the_end();
    let folders = ModuleFolders::begin(file, session);
    let answer = carry_out(folders.arguments(file), &folders, &interruption);
    folders.end();
    match answer {
        Ok(Some(answer)) => answer.print(session),
        // Ansible has gone, so nobody reads an answer.
        Ok(None) => exit::INTERRUPTED,
        Err(failure) => Answer::failed(&failure.line).print(session),
    }
}

fn carry_out(
    arguments: io::Result<File>,
    folders: &ModuleFolders,
    interruption: &Interruption,
) -> Result<Option<Answer>, Failure> {
    let wanted = Wanted::read(arguments)?;
    let mut words = wanted.words();
    // Wrong options are reported before anything runs, also in check mode.
    let line = std::iter::once("tailback").chain(words.iter().map(String::as_str));
    command_line::parse(line).map_err(|error| Failure::usage(command::first_line(&error)))?;
    if wanted.check_mode {
        return Ok(Some(Answer::would_run(&words)));
    }
    if let Some(salt) = wanted.salt.as_deref() {
        words.extend(["--hash-host-name".to_owned(), folders.secret(salt)?]);
    }
    let began = Instant::now();
    let limit = wanted.jitter + wanted.budget * 2 + SLACK;
    let mut carried = ChildRun::start(&words, folders, wanted.keep.as_deref())?;
    let end = carried.wait(interruption, began + limit);
    let heard = carried.heard();
    Ok(match end {
        End::Gone => None,
        End::Exit(code) => Some(Answer::of(code, &heard, began.elapsed())),
        End::Overdue => Some(Answer::overdue(limit)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called_as(words: &[&str]) -> Option<PathBuf> {
        arguments(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn only_a_module_of_ansible_is_one() {
        assert_eq!(called_as(&["/t/AnsiballZ_tailback", "/t/args"]), Some("/t/args".into()));
        assert_eq!(called_as(&["/usr/bin/tailback", "/t/args"]), None);
        assert_eq!(called_as(&["/t/AnsiballZ_tailback"]), None);
        assert_eq!(called_as(&["/t/AnsiballZ_tailback", "run", "mmap-lock"]), None);
    }
}
