//! Starts an Erlang, and shows what a program prints that is no Erlang.

use crate::text::{clean_line, first_line};
use os::child::Ran;
use os::user::Account;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// No shell, no input, and no `~/.erlang`, whose code must not run in a measurement.
pub(crate) const QUIET: [&str; 4] = ["-noshell", "-noinput", "-boot", "no_dot_erlang"];

/// The variables that another user's process keeps; the others are private to the caller.
const KEPT: [&str; 4] = ["PATH", "LANG", "LANGUAGE", "TZ"];

/// A command without `ERL_*` in its environment and without crash dumps. `erl` is a script that
/// starts programs by name, so for root the PATH contains no folder of another user.
pub(super) fn command(erl: &Path, account: Option<&Account>) -> Command {
    let mut command = command_in(erl, std::env::vars_os().map(|(name, _)| name));
    match account {
        Some(account) => strip(&mut command, account),
        None => host::program::strip(&mut command),
    }
    command
}

/// Reduces the environment of a program that runs as this user to what it needs, and sets its
/// working folder to the root folder.
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
    // That user may have no access to the caller's folder, and the caller's folder is private.
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

/// The output of a program that is no Erlang.
pub(super) fn printed(ran: &Ran) -> String {
    let words = first_line(&ran.stderr).or_else(|| first_line(&ran.stdout));
    words.map_or_else(
        || "it printed nothing".to_owned(),
        |words| clean_line(&format!("it printed `{words}`")),
    )
}
