//! Shared code of the scenarios that run an Erlang VM: finding an OTP and its compiled
//! application, starting a node, and the VM's facts about itself.

pub(crate) mod evidence;
mod otps;
mod refused;
pub(crate) mod strace;
pub(crate) mod threads;

pub use otps::Otps;
pub(crate) use otps::Vm;
use refused::refused_folder;
pub(crate) use refused::{Ended, failed, refused};

use crate::{Arms, ScenarioError};
use beam::term::{TermError, as_atom, as_text, as_tuple};
use beam::{Flags, Node, NodeOptions, Term};
use model::problem::ArmsProblem;
use model::reported::{Part, Reported, Trouble};
use model::{Need, Problem};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is missing to run a node, judged by the PATH alone.
pub(crate) fn missing() -> Option<Need> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("erl").is_file());
    (!found).then_some(Need::Erl)
}

/// Writes the application, compiled for an OTP, to a folder. Returns the `erl` of that OTP and the
/// folder of the beam files.
///
/// # Errors
/// If there is no such OTP, if the application does not compile, or if the folder cannot be written
/// or holds something else.
pub fn write_app(
    otps: &Otps,
    otp: Option<&str>,
    folder: &Path,
) -> Result<(String, PathBuf), ScenarioError> {
    let vm = otps.vm_of_caller(otp)?;
    let program = vm.otp.erl.display().to_string();
    let ebin = vm.app.write_to(folder).map_err(refused_folder)?;
    Ok((program, ebin))
}

/// A command that evaluates Erlang code in an OTP with these flags, with the application loaded.
///
/// # Errors
/// If there is no such OTP, if the OTP refuses the flags, or if the application does not compile.
pub fn evaluate(
    otps: &Otps,
    otp: Option<&str>,
    text: &str,
    expression: &str,
) -> Result<Command, ScenarioError> {
    let vm = otps.vm_of_caller(otp)?;
    let flags = flags(text)?;
    accepted(&vm, &flags)?;
    let mut command = Command::new(&vm.otp.erl);
    command.args(flags.words()).args(["-noshell", "-noinput", "-pa"]).arg(&vm.app.ebin);
    command.args(["-eval", expression]);
    host::program::strip(&mut command);
    Ok(command)
}

/// Splits emulator flags like a shell.
pub(crate) fn flags(text: &str) -> Result<Flags, ScenarioError> {
    Flags::parse(text).map_err(refused)
}

/// Checks that an OTP accepts the flags.
pub(crate) fn accepted(vm: &Vm, flags: &Flags) -> Result<(), ScenarioError> {
    vm.otp.accepts(flags).map_err(|why| {
        ScenarioError::Unusable(Problem::Flags(vm.refuses(flags.words().join(" "), why)))
    })
}

/// Turns flags into the name of an arm: `+sfwi 10` becomes `sfwi-10`.
pub(crate) fn slug(flags: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == ':' { c } else { '-' };
    let words: String = flags.trim_start_matches(['+', '-']).chars().map(word).collect();
    words.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Checks that no two arms have the same name. Two OTPs of the same release would cause this.
pub(crate) fn distinct<S>(found: &Arms<S>) -> Result<(), ScenarioError> {
    let mut names = BTreeSet::new();
    match found.arms.iter().find(|arm| !names.insert(&arm.id)) {
        None => Ok(()),
        Some(twice) => {
            Err(ScenarioError::Unusable(ArmsProblem::SameName { arm: twice.id.clone() }.into()))
        }
    }
}

/// The folder for the dump of a node that crashes.
fn dumps() -> Option<PathBuf> {
    otps::cache().ok().map(|cache| cache.join("crash-dumps"))
}

/// Starts a node.
pub(crate) fn start(
    vm: &Vm,
    options: NodeOptions,
    interrupted: &dyn Fn() -> bool,
) -> Result<Node, ScenarioError> {
    let options = NodeOptions { dumps: dumps(), ..options };
    Node::start(&vm.otp, &vm.app, options, interrupted).map_err(refused)
}

/// The VM's facts about itself, for the record.
pub(crate) fn facts(vm: &Vm, node: &Node, flags: &Flags) -> model::Vm {
    let hello = node.hello();
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    model::Vm {
        otp: hello.otp_release.clone(),
        erts: hello.erts.clone(),
        erl: vm.otp.erl.display().to_string(),
        origin: vm.otp.origin.as_ref().map(|origin| model::OtpOrigin {
            suite: origin.suite.clone(),
            version: origin.version.clone(),
        }),
        uid: Some(uid(vm)),
        flags: flags.words().to_vec(),
        schedulers: count(hello.schedulers),
        schedulers_online: count(hello.schedulers_online),
        dirty_cpu_online: count(hello.dirty_cpu_schedulers_online),
        dirty_io: count(hello.dirty_io_schedulers),
        processors_available: hello.logical_processors_available.map(count),
        cpu_quota: hello.cpu_quota.map(count),
    }
}

/// The user ID that the VM's nodes run as.
fn uid(vm: &Vm) -> u32 {
    vm.otp.user().map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid())
}

/// Reads the result of a function: `{ok, Result}`, or `{error, {Kind, Line}}` for a setting that
/// cannot be used.
pub(crate) fn answer(term: &Term) -> Result<&Term, ScenarioError> {
    let [tag, value] = read(as_tuple::<2>(term))?;
    match read(as_atom(tag))? {
        "ok" => Ok(value),
        _ => {
            let [_, line] = read(as_tuple::<2>(value))?;
            let line = read(as_text(line))?;
            Err(ScenarioError::Unusable(Problem::reported(Part::Node, Trouble::Refused, line)))
        }
    }
}

/// Reads a part of a function's result.
pub(crate) fn read<T>(value: Result<T, TermError>) -> Result<T, ScenarioError> {
    value.map_err(|error| {
        let reported = Reported {
            by: Part::Node,
            trouble: Trouble::Protocol,
            about: Some("answer".to_owned()),
            message: error.to_string(),
        };
        ScenarioError::Broken(Problem::Reported(reported))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_make_the_names_of_arms() {
        assert_eq!(slug("+sfwi 10"), "sfwi-10");
        assert_eq!(slug("+S 1:1 +sbwt none"), "S-1:1-sbwt-none");
    }
}
