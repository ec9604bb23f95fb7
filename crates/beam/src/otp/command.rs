//! Starting an Erlang, and what it prints where it is none.

use crate::text::{clean_line, first_line};
use os::child::Ran;
use os::user::Account;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// No shell, nothing read, and no `~/.erlang`, whose code has no business in a measurement.
pub(crate) const QUIET: [&str; 4] = ["-noshell", "-noinput", "-boot", "no_dot_erlang"];

/// What another user's process is left of the environment; the rest is the caller's own affair.
const KEPT: [&str; 4] = ["PATH", "LANG", "LANGUAGE", "TZ"];

/// A command without `ERL_*` in its environment and without crash dumps. `erl` is a script that
/// starts programs by name, so root's has none of another user's folders on its PATH.
pub(super) fn command(erl: &Path, account: Option<&Account>) -> Command {
    let mut command = command_in(erl, std::env::vars_os().map(|(name, _)| name));
    match account {
        Some(account) => strip(&mut command, account),
        None => host::program::strip(&mut command),
    }
    command
}

/// Leaves a program that runs as this user no more of the environment than it needs, and puts it
/// into the root folder.
pub(crate) fn strip(command: &mut Command, account: &Account) {
    let set: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let is_kept = |name: &OsString| {
        KEPT.iter().any(|kept| name == kept) || name.as_encoded_bytes().starts_with(b"LC_")
    };
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| is_kept(name)));
    command.envs(set).env("HOME", &account.home);
    // The caller's own may be closed to that user by the folders above it, and is no business of
    // its.
    command.current_dir("/");
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
