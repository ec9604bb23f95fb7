//! Starting an Erlang, and what it prints where it is none.

use crate::run::Ran;
use crate::text::{clean_line, first_line};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// No shell, nothing read, and no `~/.erlang`, whose code has no business in a measurement.
pub(crate) const QUIET: [&str; 4] = ["-noshell", "-noinput", "-boot", "no_dot_erlang"];

/// A command without `ERL_*` in its environment and without crash dumps.
pub(super) fn command(erl: &Path) -> Command {
    command_in(erl, std::env::vars_os().map(|(name, _)| name))
}

pub(super) fn command_in(erl: &Path, names: impl Iterator<Item = OsString>) -> Command {
    let mut command = Command::new(erl);
    for name in names {
        if name.as_encoded_bytes().starts_with(b"ERL_") {
            command.env_remove(name);
        }
    }
    if std::env::var_os("HOME").is_none() {
        command.env("HOME", "/");
    }
    command.env("ERL_CRASH_DUMP_SECONDS", "0");
    command
}

/// What a program printed that is no Erlang.
pub(super) fn printed(ran: &Ran) -> String {
    let words = first_line(&ran.stderr).or_else(|| first_line(&ran.stdout));
    words.map_or_else(
        || "it printed nothing".to_owned(),
        |words| clean_line(&format!("it printed `{words}`")),
    )
}
