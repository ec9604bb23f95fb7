//! Getting a runtime ready: finding it, and compiling its worker at first use.

use super::load::ARTIFACT;
use super::params::QuotaBlindParams;
use super::runtime::{Runtime, is_program};
use super::sentences::say;
use crate::params::{Auto, Programs};
use crate::{ScenarioError, erlang};
use host::private::{self, PrivateError};
use host::tool::{Tool, ToolError};
use host::{Roots, Temporary};
use model::{Fact, Need, Problem};
use os::user::User;
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The sources of the workers.
const GO: &str = include_str!("workers/worker.go");
const JAVA: &str = include_str!("workers/Worker.java");
const NODE: &str = include_str!("workers/worker.js");

/// How long a compiler may take: Go's compiles its own library first.
const COMPILE_LIMIT: Duration = Duration::from_secs(300);

/// How long a question may take.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// The largest file that is taken from a compiler, in bytes; Go's has two million.
const MOST: u64 = 64 << 20;

/// The oldest Java that the worker is compiled for.
const JAVA_RELEASE: &str = "11";

/// A runtime that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    /// Which.
    pub runtime: Runtime,
    /// The word that leads to it: the path of its program, or `debian:trixie`.
    pub word: String,
    /// The command, but for the setting of its CPUs, which comes behind the program.
    pub command: Vec<String>,
    /// The compiled worker.
    pub artifact: Option<PathBuf>,
    /// Whom it runs as; the caller if absent.
    pub user: Option<User>,
}

/// What was found out so far.
static KNOWN: Mutex<BTreeMap<(Runtime, Option<String>), Prepared>> = Mutex::new(BTreeMap::new());

/// The runtime that the parameters name, or the first that is there.
pub(super) fn chosen(params: &QuotaBlindParams) -> Result<Runtime, Need> {
    match params.runtime.get() {
        Some(runtime) => Ok(runtime),
        None => first().ok_or_else(|| Need::Scenario {
            what: Fact::new(say::NO_RUNTIME),
            grant: Fact::new(say::INSTALL).with("command", Runtime::Beam.install()),
        }),
    }
}

/// The first runtime on the PATH, as auto takes it.
pub(super) fn first() -> Option<Runtime> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    [Runtime::Beam, Runtime::Jvm, Runtime::Go, Runtime::Node]
        .into_iter()
        .find(|runtime| runtime.on_path(&search).is_some())
}

/// Finds the runtime of the parameters and compiles its worker, where that is not done yet.
pub(super) fn prepared(params: &QuotaBlindParams) -> Result<Prepared, ScenarioError> {
    let runtime = chosen(params).map_err(ScenarioError::Missing)?;
    let (flag, programs) = match runtime {
        Runtime::Beam => ("--otp", &params.otp),
        _ => ("--program", &params.program),
    };
    let word = only(flag, programs)?;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (runtime, word.clone());
    if let Some(found) = known().get(&key) {
        return Ok(found.clone());
    }
    let found = match runtime {
        Runtime::Beam => beam(word.as_deref())?,
        _ => other(runtime, word.as_deref())?,
    };
    known().insert(key, found.clone());
    known().insert((runtime, Some(found.word.clone())), found.clone());
    Ok(found)
}

/// The one program that is named; none stands in it for that on the PATH.
fn only(flag: &str, programs: &Programs) -> Result<Option<String>, ScenarioError> {
    let [word] = <[Option<String>; 1]>::try_from(programs.words())
        .map_err(|_| ScenarioError::unusable(Fact::new(say::ONE_PROGRAM).with("flag", flag)))?;
    Ok(word)
}

/// The parameters with the runtime and the program that they come to here.
pub(super) fn resolved(params: &QuotaBlindParams, found: &Prepared) -> QuotaBlindParams {
    let (runtime, word) = (Auto::Is(found.runtime), Programs::one(&found.word));
    match found.runtime {
        Runtime::Beam => QuotaBlindParams { runtime, otp: word, ..params.clone() },
        _ => QuotaBlindParams { runtime, program: word, ..params.clone() },
    }
}

/// An OTP with the application, in which the worker is.
fn beam(word: Option<&str>) -> Result<Prepared, ScenarioError> {
    let vm = erlang::vm(word)?;
    let words = ["-noshell", "-noinput", "-boot", "no_dot_erlang", "-pa", ARTIFACT, "-s"];
    let start = ["tailback_worker", "start"];
    let erl = vm.otp.erl.display().to_string();
    let command = std::iter::once(erl.as_str()).chain(words).chain(start);
    Ok(Prepared {
        runtime: Runtime::Beam,
        word: vm.word.clone(),
        command: command.map(str::to_owned).collect(),
        artifact: Some(vm.app.ebin.clone()),
        user: vm.otp.user(),
    })
}

fn other(runtime: Runtime, named: Option<&str>) -> Result<Prepared, ScenarioError> {
    let program = find(runtime, named)?;
    let user = os::user::unprivileged().map(|account| account.user);
    let word = shown(&program);
    let words = |words: &[&str]| -> Vec<String> {
        std::iter::once(word.as_str()).chain(words.iter().copied()).map(str::to_owned).collect()
    };
    let (command, artifact) = match runtime {
        Runtime::Go => (vec![ARTIFACT.to_owned()], Some(go(&program, user)?)),
        Runtime::Jvm => {
            // Without this it leaves a file in /tmp where it is killed.
            let start = ["-XX:-UsePerfData", "-cp", ARTIFACT, "Worker"];
            (words(&start), Some(java(&program, user)?))
        }
        Runtime::Node | Runtime::Beam => (words(&["-e", NODE]), None),
    };
    Ok(Prepared { runtime, word, command, artifact, user })
}

/// The program of a runtime that is there.
fn find(runtime: Runtime, word: Option<&str>) -> Result<PathBuf, ScenarioError> {
    let missing = |what: Fact| {
        let grant = Fact::new(say::INSTALL_OR_NAME).with("command", runtime.install());
        ScenarioError::Missing(Need::Scenario { what, grant })
    };
    match word {
        Some(word) => {
            let path = runtime.named(Path::new(word));
            let path = std::path::absolute(&path).unwrap_or(path);
            let none = || missing(Fact::new(say::NO_PROGRAM).with("path", shown(&path)));
            is_program(&path).then(|| path.clone()).ok_or_else(none)
        }
        None => {
            let search = std::env::var_os("PATH").unwrap_or_default();
            let none = || missing(Fact::new(say::NOT_ON_PATH).with("program", runtime.program()));
            runtime.on_path(&search).ok_or_else(none)
        }
    }
}

/// The worker in Go, compiled by this toolchain.
fn go(program: &Path, user: Option<User>) -> Result<PathBuf, ScenarioError> {
    let ask = |bench: &Bench| bench.run(program, &["env", "GOVERSION"], ASK_LIMIT);
    let bench = Bench::new(user)?;
    let version = ask(&bench)?.trim().to_owned();
    let Some(language) = language_of(&version) else {
        let version: String = version.chars().take(100).collect();
        let fact = Fact::new(say::STRANGE_VERSION).with("program", shown(program));
        return Err(ScenarioError::unusable(fact.with("version", version)));
    };
    // Settings that follow the language's version, as whether it reads the quota, are those of the
    // toolchain.
    let module = format!("module worker\n\ngo {language}\n");
    entry(&format!("go-{version}"), &[GO, &module], user, || {
        bench.write("worker.go", GO)?;
        bench.write("go.mod", &module)?;
        bench.run(program, &["build", "-trimpath", "-o", "worker", "."], COMPILE_LIMIT)?;
        Ok(vec![("worker", bench.take("worker")?, 0o755)])
    })
    .map(|folder| folder.join("worker"))
}

/// `1.24` of `go1.24.9`.
fn language_of(version: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let rest = version.strip_prefix("go").filter(|_| version.len() < 40)?;
    let mut parts = rest.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    let numbers = major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok();
    (numbers && version.chars().all(plain)).then(|| format!("{major}.{minor}"))
}

/// The folder of the worker's class, compiled by the `javac` beside the `java`, or by that on the
/// PATH.
fn java(program: &Path, user: Option<User>) -> Result<PathBuf, ScenarioError> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let compile = || {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&search).filter(|folder| folder.is_absolute());
        let beside = real.parent().map(Path::to_owned);
        let mut all = beside.into_iter().chain(folders).map(|folder| folder.join("javac"));
        let javac = all.find(|file| is_program(file)).ok_or_else(|| {
            let grant = Fact::new(say::INSTALL).with("command", Runtime::Jvm.install());
            ScenarioError::Missing(Need::Scenario { what: Fact::new(say::NO_JAVAC), grant })
        })?;
        let bench = Bench::new(user)?;
        bench.write("Worker.java", JAVA)?;
        bench.run(&javac, &["--release", JAVA_RELEASE, "Worker.java"], COMPILE_LIMIT)?;
        Ok(vec![("Worker.class", bench.take("Worker.class")?, 0o644)])
    };
    entry(&format!("java-{JAVA_RELEASE}"), &[JAVA], user, compile)
}

/// Files by name, with their modes.
type Files = Vec<(&'static str, Vec<u8>, u32)>;

/// The folder of the cache in which what was compiled of these sources is; compiled where it is not
/// there yet. What one user compiled, no other runs.
fn entry(
    name: &str,
    sources: &[&str],
    user: Option<User>,
    compile: impl FnOnce() -> Result<Files, ScenarioError>,
) -> Result<PathBuf, ScenarioError> {
    let cache = os::folders::cache().map(|base| base.join("tailback/workers"));
    let cache = cache.ok_or(ScenarioError::Missing(Need::CacheFolder))?;
    let cache = private::folder(&cache).map_err(refused)?;
    let whose = user.map(|user| format!("-user{}", user.uid())).unwrap_or_default();
    let entry = cache.join(format!("{name}-{}{whose}", hash(sources)));
    if !entry.exists() {
        keep(&cache, &entry, &compile()?).map_err(|error| broken(&entry, &error))?;
    }
    private::tree(&entry).map_err(refused)?;
    Ok(entry)
}

/// Writes files into a folder and gives it its name, unless another run was quicker.
fn keep(cache: &Path, entry: &Path, files: &Files) -> io::Result<()> {
    let building = Temporary::folder(&Roots::real(), cache, ".building-")?;
    for (name, bytes, mode) in files {
        let path = building.path().join(name);
        fs::write(&path, bytes)?;
        fs::set_permissions(&path, Permissions::from_mode(*mode))?;
        File::open(&path)?.sync_all()?;
    }
    // The runtime's user finds it open, and reads what is in it.
    fs::set_permissions(building.path(), Permissions::from_mode(0o755))?;
    match building.put(entry) {
        Err(_) if entry.is_dir() => Ok(()),
        put => put,
    }
}

fn hash(sources: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in sources {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A folder in which the runtime's user compiles; it goes when this is dropped.
struct Bench {
    place: Temporary,
    user: Option<User>,
}

impl Bench {
    fn new(user: Option<User>) -> Result<Self, ScenarioError> {
        let parent = std::env::temp_dir();
        host::program::check_temporary(&parent).map_err(refused)?;
        let place = Temporary::folder(&Roots::real(), &parent, "tailback-worker-")
            .map_err(|error| broken(&parent, &error))?;
        if let Some(user) = user {
            lchown(place.path(), Some(user.uid()), Some(user.gid()))
                .map_err(|error| broken(place.path(), &error))?;
        }
        Ok(Bench { place, user })
    }

    /// Writes a source, before anything has run in the folder.
    fn write(&self, name: &str, text: &str) -> Result<(), ScenarioError> {
        let path = self.place.path().join(name);
        let write = || -> io::Result<()> {
            // The user may have put something there already: nothing of it is followed.
            let mut file = File::create_new(&path)?;
            io::Write::write_all(&mut file, text.as_bytes())?;
            file.set_permissions(Permissions::from_mode(0o644))
        };
        write().map_err(|error| broken(&path, &error))
    }

    /// Runs a program of the runtime there, as its user; what it printed.
    fn run(
        &self,
        program: &Path,
        words: &[&str],
        limit: Duration,
    ) -> Result<String, ScenarioError> {
        let path = program.display().to_string();
        let mut tool = Tool::new(path, "install it");
        for word in words {
            tool.arg(word);
        }
        let folder = self.place.path();
        let command = tool.command();
        command.env_clear().current_dir(folder);
        for (name, value) in [("PATH", PATH), ("LANG", "C.UTF-8"), ("GOENV", "off")] {
            command.env(name, value);
        }
        for (name, value) in [("GOTOOLCHAIN", "local"), ("CGO_ENABLED", "0"), ("GOWORK", "off")] {
            command.env(name, value);
        }
        for (name, below) in [("HOME", "."), ("GOCACHE", "cache"), ("GOPATH", "path")] {
            command.env(name, folder.join(below));
        }
        if let Some(user) = self.user {
            tool.become_user(user);
        }
        tool.run(limit, &|| false).map_err(|error| match error {
            ToolError::Interrupted => ScenarioError::Interrupted,
            ToolError::NotStarted { .. } => {
                ScenarioError::Missing(own_words(&error, say::FOR_ITS_USER))
            }
            error => {
                let fact = Fact::new(say::OWN_WORDS).with("error", error.to_string());
                ScenarioError::Broken(Problem::Scenario(fact))
            }
        })
    }

    /// Reads a file that the compiler made: a link could lead to what the caller alone may read.
    fn take(&self, name: &str) -> Result<Vec<u8>, ScenarioError> {
        let path = self.place.path().join(name);
        let take = || -> io::Result<Vec<u8>> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(openat(CWD, &path, flags, Mode::empty())?);
            let metadata = file.metadata()?;
            let ours = self.user.is_none_or(|user| metadata.uid() == user.uid());
            if !metadata.is_file() || !ours || metadata.len() > MOST {
                return Err(io::Error::other("the compiler left something else in its place"));
            }
            let mut bytes = Vec::new();
            file.take(MOST).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        take().map_err(|error| broken(&path, &error))
    }
}

/// Where a runtime's own scripts find the system's programs.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn refused(error: PrivateError) -> ScenarioError {
    ScenarioError::Missing(own_words(&error, say::OWN_FOLDERS))
}

/// A need in the words of what met it, and what grants it.
fn own_words(error: &dyn std::error::Error, grant: &str) -> Need {
    let what = Fact::new(say::OWN_WORDS).with("error", error.to_string());
    Need::Scenario { what, grant: Fact::new(grant) }
}

fn broken(path: &Path, error: &io::Error) -> ScenarioError {
    ScenarioError::Broken(Problem::of_kernel(shown(path), error))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::told;

    #[test]
    fn the_language_of_a_toolchain_is_told_by_its_version() {
        let of = |version: &str| language_of(version);
        assert_eq!(of("go1.24.9").as_deref(), Some("1.24"));
        assert_eq!(of("go1.26rc1").as_deref(), Some("1.26"));
        for strange in ["", "go", "go1", "devel go1.27", "go1.2/../x", "go1.x", "1.24"] {
            assert_eq!(of(strange), None, "{strange}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_missing_with_what_installs_it() {
        let params = QuotaBlindParams {
            runtime: Auto::Is(Runtime::Node),
            program: Programs::one("/nonexistent/node"),
            ..QuotaBlindParams::default()
        };
        let error = prepared(&params).unwrap_err();
        let ScenarioError::Missing(Need::Scenario { what, grant }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(told(&META, &what), "/nonexistent/node: no program");
        assert!(told(&META, &grant).contains("apt-get install nodejs"), "{grant:?}");
        let params = QuotaBlindParams { program: "a,b".parse().unwrap(), ..params };
        assert!(matches!(prepared(&params), Err(ScenarioError::Unusable(_))));
    }

    #[test]
    fn what_the_compiler_did_not_make_is_not_taken() {
        let bench = Bench::new(None).unwrap();
        bench.write("a", "text").unwrap();
        assert_eq!(bench.take("a").unwrap(), b"text");
        std::os::unix::fs::symlink("a", bench.place.path().join("link")).unwrap();
        assert!(bench.take("link").is_err() && bench.take("none").is_err());
        assert!(bench.write("link", "x").is_err());
    }
}
