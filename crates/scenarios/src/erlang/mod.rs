//! What the scenarios that run an Erlang VM have in common: finding an OTP, its compiled
//! application, starting a node, and what the VM says of itself.

pub(crate) mod evidence;
pub(crate) mod strace;
pub(crate) mod threads;

use crate::{Arms, ScenarioError};
use beam::term::{TermError, as_atom, as_text, as_tuple};
use beam::{
    App, BeamError, Cache, CallError, DebianError, Fetch, Flags, Node, NodeOptions, Otp, Term,
};
use model::problem::{ArmsProblem, RefusedFlags};
use model::reported::{Part, Reported, Trouble};
use model::{Need, Problem};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

/// An OTP and the application compiled for it.
#[derive(Debug, Clone)]
pub(crate) struct Vm {
    /// The word that leads to it: `debian:trixie`, else the path of its `erl`.
    pub word: String,
    /// The OTP.
    pub otp: Otp,
    /// The application.
    pub app: App,
}

impl Vm {
    /// The name of an arm of this OTP among several.
    pub fn named(&self, id: &str) -> String {
        format!("{id}@otp{}", self.otp.release)
    }

    /// Flags that it does not take, and why.
    pub fn refuses(&self, flags: impl ToString, why: String) -> RefusedFlags {
        RefusedFlags { otp: self.otp.release, flags: flags.to_string(), why }
    }
}

/// What was found out so far: asking an OTP takes a while, and every trial wants to know.
static KNOWN: Mutex<BTreeMap<Option<String>, Vm>> = Mutex::new(BTreeMap::new());

/// What is missing to run a node, from a look at the PATH alone.
pub(crate) fn missing() -> Option<Need> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("erl").is_file());
    (!found).then_some(Need::Erl)
}

/// Who is told what a fetch does, and who may interrupt it.
type Fetching = (fn(&str), Box<dyn Fn() -> bool + Send + Sync>);

/// One tool, one terminal.
static FETCHING: OnceLock<Fetching> = OnceLock::new();

/// Sets who gets a line where an OTP has to be fetched, and what ends a fetch; once, at the start.
pub fn fetch_with(note: fn(&str), interrupted: impl Fn() -> bool + Send + Sync + 'static) {
    let _ = FETCHING.set((note, Box::new(interrupted)));
}

/// What an OTP is, for a caller that chooses among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtpVersion {
    /// The word that leads to it: `debian:trixie`, else the path of its `erl`.
    pub word: String,
    /// The release, such as 27.
    pub release: u32,
    /// The version, such as `27.3.4.1`.
    pub version: String,
}

/// The suites of Debian whose OTPs can be asked for, as `debian:trixie`; oldest first.
pub fn otps() -> impl Iterator<Item = String> {
    beam::SUITES.iter().map(|suite| format!("debian:{suite}"))
}

/// The OTP that a word leads to, as `--otp` takes it; it is fetched where it is not there yet.
///
/// # Errors
/// If there is none, if it is too old, or if the application does not compile.
pub fn otp(word: Option<&str>) -> Result<OtpVersion, ScenarioError> {
    let vm = vm(word)?;
    Ok(OtpVersion { word: vm.word.clone(), release: vm.otp.release, version: vm.otp.version() })
}

/// The OTP of that word, with the application compiled for it.
pub(crate) fn vm(word: Option<&str>) -> Result<Vm, ScenarioError> {
    let key = word.map(str::to_owned);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(vm) = known().get(&key) {
        return Ok(vm.clone());
    }
    let vm = prepared(word, find(word)?)?;
    known().insert(key, vm.clone());
    // Its own word leads to it too, as it stands in the settings of an arm.
    known().insert(Some(vm.word.clone()), vm.clone());
    Ok(vm)
}

/// The OTP of that word, which runs as the caller, with an application that the caller has
/// compiled: what a user executes in a shell, no other is to have made.
fn vm_of_caller(word: Option<&str>) -> Result<Vm, ScenarioError> {
    prepared(word, find(word)?.of_caller().map_err(refused)?)
}

/// The OTP of that word; it is fetched where it is not there yet.
fn find(word: Option<&str>) -> Result<Otp, ScenarioError> {
    let note = |line: &str| FETCHING.get().into_iter().for_each(|(note, _)| note(line));
    let interrupted = || FETCHING.get().is_some_and(|(_, interrupted)| interrupted());
    let fetch = Fetch { note: &mut |line| note(line), interrupted: &interrupted };
    Otp::named(word, &Cache::of_user("otp"), fetch).map_err(refused)
}

/// An OTP with the application compiled for it, under the word that leads to it.
fn prepared(word: Option<&str>, otp: Otp) -> Result<Vm, ScenarioError> {
    let app = App::prepare(&otp, &cache()?).map_err(refused)?;
    let path = otp.erl.display().to_string();
    let word = word.filter(|_| otp.origin.is_some()).map_or(path, str::to_owned);
    Ok(Vm { word, otp, app })
}

/// Where compiled applications are kept.
fn cache() -> Result<PathBuf, ScenarioError> {
    let folder = os::folders::cache().map(|base| base.join("tailback/erlang"));
    folder.ok_or(ScenarioError::Missing(Need::CacheFolder))
}

/// Writes the application, compiled for an OTP, to a folder; the `erl` of that OTP, and the folder
/// of the beam files.
///
/// # Errors
/// If there is no such OTP, if the application does not compile, or if the folder is somebody
/// else's.
pub fn write_app(otp: Option<&str>, folder: &Path) -> Result<(String, PathBuf), ScenarioError> {
    let vm = vm_of_caller(otp)?;
    let program = vm.otp.erl.display().to_string();
    let ebin = vm.app.write_to(folder).map_err(refused)?;
    Ok((program, ebin))
}

/// A command that evaluates Erlang in an OTP where the application is loaded, with flags.
///
/// # Errors
/// If there is no such OTP, if it refuses the flags, or if the application does not compile.
pub fn evaluate(otp: Option<&str>, text: &str, expression: &str) -> Result<Command, ScenarioError> {
    let vm = vm_of_caller(otp)?;
    let flags = flags(text)?;
    accepted(&vm, &flags)?;
    let mut command = Command::new(&vm.otp.erl);
    command.args(flags.words()).args(["-noshell", "-noinput", "-pa"]).arg(&vm.app.ebin);
    command.args(["-eval", expression]);
    host::program::strip(&mut command);
    Ok(command)
}

/// Emulator flags, split as a shell does.
pub(crate) fn flags(text: &str) -> Result<Flags, ScenarioError> {
    Flags::parse(text).map_err(refused)
}

/// Makes sure that an OTP takes the flags.
pub(crate) fn accepted(vm: &Vm, flags: &Flags) -> Result<(), ScenarioError> {
    vm.otp.accepts(flags).map_err(|why| {
        ScenarioError::Unusable(Problem::Flags(vm.refuses(flags.words().join(" "), why)))
    })
}

/// Flags as the name of an arm: `+sfwi 10` is `sfwi-10`.
pub(crate) fn slug(flags: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == ':' { c } else { '-' };
    let words: String = flags.trim_start_matches(['+', '-']).chars().map(word).collect();
    words.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Makes sure that no two arms have one name, as two OTPs of one release would give.
pub(crate) fn distinct<S>(found: &Arms<S>) -> Result<(), ScenarioError> {
    let mut names = BTreeSet::new();
    match found.arms.iter().find(|arm| !names.insert(&arm.id)) {
        None => Ok(()),
        Some(twice) => {
            Err(ScenarioError::Unusable(ArmsProblem::SameName { arm: twice.id.clone() }.into()))
        }
    }
}

/// An error of the node's as a scenario's.
pub(crate) fn refused(error: BeamError) -> ScenarioError {
    let problem = |trouble| Problem::reported(Part::Otp, trouble, &error);
    match &error {
        BeamError::Flags { .. } | BeamError::NotErl { .. } | BeamError::Unknown { .. } => {
            ScenarioError::Unusable(problem(Trouble::Refused))
        }
        BeamError::NoErl { .. } => ScenarioError::Missing(Need::Otp(problem(Trouble::Absent))),
        BeamError::NotExecutable { .. } => {
            ScenarioError::Missing(Need::Otp(problem(Trouble::Failed)))
        }
        BeamError::UnsafeProgram { .. } => {
            ScenarioError::Missing(Need::Otp(problem(Trouble::Unsafe)))
        }
        BeamError::TooOld { .. } => ScenarioError::Missing(Need::Otp(problem(Trouble::TooOld))),
        BeamError::Debian { source: DebianError::Interrupted, .. } | BeamError::Interrupted => {
            ScenarioError::Interrupted
        }
        BeamError::Debian { source, .. } => {
            let full = source.is_full();
            let trouble = if full { Trouble::Full } else { Trouble::Failed };
            let problem = Problem::reported(Part::Debian, trouble, &error);
            ScenarioError::Missing(Need::Fetch { problem, full })
        }
        other => {
            let (part, trouble) = trouble(other);
            ScenarioError::Broken(Problem::reported(part, trouble, other))
        }
    }
}

/// Who reports an error that breaks a trial, and of what sort it is.
fn trouble(error: &BeamError) -> (Part, Trouble) {
    match error {
        BeamError::Died(_) => (Part::Node, Trouble::Died),
        BeamError::NoHello { .. } => (Part::Node, Trouble::Late),
        BeamError::Protocol { .. } => (Part::Node, Trouble::Protocol),
        BeamError::Late { .. } => (Part::Otp, Trouble::Late),
        BeamError::Unsafe { .. } | BeamError::NotOurs { .. } => (Part::Otp, Trouble::Unsafe),
        BeamError::Compile { .. } => (Part::Otp, Trouble::NotCompiled),
        _ => (Part::Otp, Trouble::Failed),
    }
}

/// Where a node that crashes leaves its dump.
fn dumps() -> Option<PathBuf> {
    cache().ok().map(|cache| cache.join("crash-dumps"))
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

/// What the VM says of itself, for the record.
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

/// The user that its nodes run as.
fn uid(vm: &Vm) -> u32 {
    vm.otp.user().map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid())
}

/// Why a call of a trial gave no observation.
pub(crate) enum Ended {
    /// It did not come back in time.
    Late,
    /// It failed.
    Broken(ScenarioError),
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Late { .. } => Ended::Late,
            error => Ended::Broken(failed(error)),
        }
    }
}

impl From<ScenarioError> for Ended {
    fn from(error: ScenarioError) -> Self {
        Ended::Broken(error)
    }
}

/// A failed call as a scenario's error.
pub(crate) fn failed(error: CallError) -> ScenarioError {
    let trouble = match &error {
        CallError::Interrupted { .. } => return ScenarioError::Interrupted,
        CallError::Died(_) => Trouble::Died,
        CallError::Late { .. } => Trouble::Late,
        CallError::Protocol { .. } => Trouble::Protocol,
        CallError::Failed { .. } | CallError::Unsendable { .. } | CallError::System { .. } => {
            Trouble::Failed
        }
    };
    ScenarioError::Broken(Problem::reported(Part::Node, trouble, error))
}

/// What a function returned as `{ok, Result}`; `{error, {Kind, Line}}` is a setting that cannot be
/// used.
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

/// Reads a part of what a function returned.
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
