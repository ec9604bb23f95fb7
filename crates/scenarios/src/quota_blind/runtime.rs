//! Prepares a runtime: finds its program and compiles its worker.

use super::params::{QuotaBlindParams, Runtime};
use super::programs::{check, go, is_program, java, shown};
use super::sentences::QuotaBlindFact;
use super::worker::ARTIFACT;
use crate::ScenarioError;
use crate::erlang::{Otps, Vm};
use crate::params::{Auto, Programs};
use model::{Name, Need};
use os::user::User;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The worker of Node.
const NODE: &str = include_str!("workers/worker.js");

/// A runtime that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The kind of runtime.
    pub runtime: Runtime,
    /// The word that selects it: the path of its program, or `debian:trixie`.
    pub word: String,
    /// The command without the setting for the CPUs, which is inserted after the program.
    pub command: Vec<String>,
    /// The compiled worker.
    pub artifact: Option<PathBuf>,
    /// The user that it runs as. None: the caller.
    pub user: Option<User>,
}

/// The runtime in the parameters, or the first one that is installed.
pub(super) fn chosen(params: &QuotaBlindParams) -> Result<Runtime, Need> {
    match params.runtime.get() {
        Some(runtime) => Ok(runtime),
        None => first().ok_or_else(|| Need::Scenario {
            what: QuotaBlindFact::NoRuntime.into(),
            grant: QuotaBlindFact::Install { command: Runtime::Beam.install().into() }.into(),
        }),
    }
}

/// The first runtime on the PATH, as `auto` selects it.
pub(super) fn first() -> Option<Runtime> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    [Runtime::Beam, Runtime::Jvm, Runtime::Go, Runtime::Node]
        .into_iter()
        .find(|runtime| on_path(*runtime, &search).is_some())
}

/// Finds the runtime of the parameters, and compiles its worker if that is not done yet.
pub(super) fn prepared(params: &QuotaBlindParams, otps: &Otps) -> Result<Prepared, ScenarioError> {
    let runtime = chosen(params).map_err(ScenarioError::Missing)?;
    let (flag, programs) = match runtime {
        Runtime::Beam => ("--otp", &params.otp),
        _ => ("--program", &params.program),
    };
    let word = only(flag, programs)?;
    match runtime {
        Runtime::Beam => otps.vm(word.as_deref()).map(beam),
        _ => other(runtime, word.as_deref()),
    }
}

/// The only program in the parameters, where None means the program on the PATH.
fn only(flag: &str, programs: &Programs) -> Result<Option<String>, ScenarioError> {
    let [word] = <[Option<String>; 1]>::try_from(programs.words())
        .map_err(|_| ScenarioError::unusable(QuotaBlindFact::OneProgram { flag: flag.into() }))?;
    Ok(word)
}

/// The parameters with the runtime and the program that were found.
pub(super) fn resolved(params: &QuotaBlindParams, found: &Prepared) -> QuotaBlindParams {
    let (runtime, word) = (Auto::Is(found.runtime), Programs::one(&found.word));
    match found.runtime {
        Runtime::Beam => QuotaBlindParams { runtime, otp: word, ..params.clone() },
        _ => QuotaBlindParams { runtime, program: word, ..params.clone() },
    }
}

/// An OTP with the application that contains the worker.
fn beam(vm: Vm) -> Prepared {
    let words = ["-noshell", "-noinput", "-boot", "no_dot_erlang", "-pa", ARTIFACT, "-s"];
    let start = ["tailback_worker", "start"];
    let erl = vm.otp.erl.display().to_string();
    let command = std::iter::once(erl.as_str()).chain(words).chain(start);
    Prepared {
        runtime: Runtime::Beam,
        word: vm.word,
        command: command.map(str::to_owned).collect(),
        artifact: Some(vm.app.ebin),
        user: vm.otp.user(),
    }
}

fn other(runtime: Runtime, named: Option<&str>) -> Result<Prepared, ScenarioError> {
    let program = find(runtime, named)?;
    let user = os::user::unprivileged().map(|account| account.user);
    check(&program, user)?;
    let word = shown(&program);
    let words = |words: &[&str]| -> Vec<String> {
        std::iter::once(word.as_str()).chain(words.iter().copied()).map(str::to_owned).collect()
    };
    let (command, artifact) = match runtime {
        Runtime::Go => (vec![ARTIFACT.to_owned()], Some(go(&program, user)?)),
        Runtime::Jvm => {
            // Without this option, it leaves a file in /tmp when it is killed.
            let start = ["-XX:-UsePerfData", "-cp", ARTIFACT, "Worker"];
            (words(&start), Some(java(&program, user)?))
        }
        Runtime::Node | Runtime::Beam => (words(&["-e", NODE]), None),
    };
    Ok(Prepared { runtime, word, command, artifact, user })
}

/// The program of an installed runtime.
fn find(runtime: Runtime, word: Option<&str>) -> Result<PathBuf, ScenarioError> {
    let missing = |what: QuotaBlindFact| {
        let grant = QuotaBlindFact::InstallOrName { command: runtime.install().into() }.into();
        ScenarioError::Missing(Need::Scenario { what: what.into(), grant })
    };
    match word {
        Some(word) => {
            let path = named(runtime, Path::new(word));
            let path = std::path::absolute(&path).unwrap_or(path);
            let none = || missing(QuotaBlindFact::NoProgram { path: Name(shown(&path)) });
            is_program(&path).then(|| path.clone()).ok_or_else(none)
        }
        None => {
            let search = std::env::var_os("PATH").unwrap_or_default();
            let none = || missing(QuotaBlindFact::NotOnPath { program: runtime.program().into() });
            on_path(runtime, &search).ok_or_else(none)
        }
    }
}

/// The program of a runtime on a search path, if there is one. Relative folders are skipped.
fn on_path(runtime: Runtime, search: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(search).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(runtime.program())).find(|file| is_program(file))
}

/// The program that a user named, directly or by the folder of its installation.
fn named(runtime: Runtime, path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("bin").join(runtime.program()),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::told;

    #[test]
    fn a_program_that_is_not_there_is_missing_with_what_installs_it() {
        let params = QuotaBlindParams {
            runtime: Auto::Is(Runtime::Node),
            program: Programs::one("/nonexistent/node"),
            ..QuotaBlindParams::default()
        };
        let error = prepared(&params, &Otps::default()).unwrap_err();
        let ScenarioError::Missing(Need::Scenario { what, grant }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(told(&META, &what), "/nonexistent/node: not a program that can be run");
        assert!(told(&META, &grant).contains("apt-get install nodejs"), "{grant:?}");
        let params = QuotaBlindParams { program: "a,b".parse().unwrap(), ..params };
        assert!(matches!(prepared(&params, &Otps::default()), Err(ScenarioError::Unusable(_))));
    }
    #[test]
    fn a_program_is_found_on_absolute_folders_alone() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/sh", place.path().join("node")).unwrap();
        let search = std::env::join_paths([Path::new("bin"), place.path()]).unwrap();
        assert_eq!(on_path(Runtime::Node, &search), Some(place.path().join("node")));
        assert_eq!(on_path(Runtime::Go, &search), None);
        assert_eq!(named(Runtime::Go, Path::new("/x/go")), Path::new("/x/go"));
        let root = place.path().join("bin/go");
        assert_eq!(named(Runtime::Go, place.path()), root);
    }
}
