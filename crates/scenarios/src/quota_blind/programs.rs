//! The programs of a runtime. A program is refused if another user could have changed it, and it
//! is run as the user of the load. The workers that its compiler builds at first use are kept.

use super::params::Runtime;
use super::sentences::QuotaBlindFact;
use crate::ScenarioError;
use host::private::{self, PrivateError};
use host::{Bench, Roots, Temporary};
use model::{Name, Need, Problem};
use os::user::User;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The search path for a runtime's own scripts.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The sources of the workers.
const GO: &str = include_str!("workers/worker.go");
const JAVA: &str = include_str!("workers/Worker.java");

/// How long a compiler may take. Go's compiler builds its own library first.
const COMPILE_LIMIT: Duration = Duration::from_secs(300);

/// How long a query to a program may take.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// The largest file that a compiler may produce, in bytes. Go's file has two million.
const MOST: u64 = 64 << 20;

/// The longest message of a compiler that is shown, in characters.
const LONGEST: usize = 500;

/// The oldest Java that the worker is compiled for.
const JAVA_RELEASE: &str = "11";

/// The output of a compiler: a file, and the mode with which it is kept.
struct Made {
    bench: Bench,
    name: &'static str,
    mode: u32,
}

/// The worker in Go, compiled by this toolchain.
pub(super) fn go(program: &Path, user: Option<User>) -> Result<PathBuf, ScenarioError> {
    let asked = run(&bench(&[], user)?, program, &["env", "GOVERSION"], ASK_LIMIT)?;
    let version = asked.trim();
    let Some((number, language)) = number_and_language(version) else {
        let version: String = version.chars().take(100).collect();
        let (program, version) = (Name(shown(program)), Name(version));
        return Err(ScenarioError::unusable(QuotaBlindFact::StrangeVersion { program, version }));
    };
    // Settings that follow the version of the language must match the toolchain. One of them is
    // whether the program reads the quota.
    let module = format!("module worker\n\ngo {language}\n");
    // Toolchains with the same number may differ in the words after it, so these count too.
    entry(&format!("go-{number}"), &[GO, &module, version], user, || {
        let bench = bench(&[("worker.go", GO), ("go.mod", &module)], user)?;
        run(&bench, program, &["build", "-trimpath", "-o", "worker", "."], COMPILE_LIMIT)?;
        Ok(Made { bench, name: "worker", mode: 0o755 })
    })
    .map(|folder| folder.join("worker"))
}

/// Extracts `go1.24.9` and `1.24` from `go1.24.9`. Words after the number are left out, as in
/// `go1.21.13 (Red Hat 1.21.13-1.el9)` and `go1.24 X:rangefunc`.
fn number_and_language(version: &str) -> Option<(&str, String)> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let number = version.split_whitespace().next()?;
    let rest = number.strip_prefix("go").filter(|_| number.len() < 40)?;
    let mut parts = rest.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    let numbers = major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok();
    (numbers && number.chars().all(plain)).then(|| (number, format!("{major}.{minor}")))
}

/// The folder of the worker's class. It is compiled by the `javac` next to the `java`, or by the
/// `javac` on the PATH.
pub(super) fn java(program: &Path, user: Option<User>) -> Result<PathBuf, ScenarioError> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    entry(&format!("java-{JAVA_RELEASE}"), &[JAVA], user, || {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&search).filter(|folder| folder.is_absolute());
        let beside = real.parent().map(Path::to_owned);
        let mut all = beside.into_iter().chain(folders).map(|folder| folder.join("javac"));
        let javac = all.find(|file| is_program(file)).ok_or_else(|| {
            let what = QuotaBlindFact::NoJavac.into();
            let grant = QuotaBlindFact::Install { command: Runtime::Jvm.install().into() }.into();
            ScenarioError::Missing(Need::Scenario { what, grant })
        })?;
        check(&javac, user)?;
        let bench = bench(&[("Worker.java", JAVA)], user)?;
        run(&bench, &javac, &["--release", JAVA_RELEASE, "Worker.java"], COMPILE_LIMIT)?;
        Ok(Made { bench, name: "Worker.class", mode: 0o644 })
    })
}

/// The cache folder with the program that was compiled from these sources. It is compiled if it is
/// missing. A program that was compiled by one user is never run by another.
fn entry(
    name: &str,
    sources: &[&str],
    user: Option<User>,
    compile: impl FnOnce() -> Result<Made, ScenarioError>,
) -> Result<PathBuf, ScenarioError> {
    let cache = os::folders::cache().map(|base| base.join("tailback/workers"));
    let cache = cache.ok_or(ScenarioError::Missing(Need::CacheFolder))?;
    let cache = private::folder(&cache).map_err(|error| refused(&error))?;
    let whose = user.map(|user| format!("-user{}", user.uid())).unwrap_or_default();
    let entry = cache.join(format!("{name}-{}{whose}", hash(sources)));
    if !entry.exists() {
        let made = compile()?;
        let path = made.bench.path().join(made.name);
        keep(&cache, &entry, &made).map_err(|error| broken(&path, &error))?;
    }
    private::tree(&entry).map_err(|error| refused(&error))?;
    Ok(entry)
}

/// Copies the output of a compiler into a folder, and renames the folder to `entry`. Does nothing
/// more if another run was faster.
fn keep(cache: &Path, entry: &Path, made: &Made) -> io::Result<()> {
    let building = Temporary::folder(&Roots::real(), cache, ".building-")?;
    let path = building.path().join(made.name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    made.bench.take(Path::new(made.name), MOST, &mut file)?;
    file.set_permissions(Permissions::from_mode(made.mode))?;
    file.sync_all()?;
    // The runtime's user gets the folder as an open file and reads its content.
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

/// A folder with these sources in which `user` compiles. The compiler must reach it by name, as
/// Go's does for its cache. So it is among the temporary files.
fn bench(sources: &[(&str, &str)], user: Option<User>) -> Result<Bench, ScenarioError> {
    let parent = std::env::temp_dir();
    host::program::check_temporary(&parent).map_err(|error| refused(&error))?;
    let sources = sources.iter().map(|(name, text)| (*name, text.as_bytes()));
    Bench::new(&parent, "tailback-worker-", sources, user).map_err(|error| broken(&parent, &error))
}

/// Runs a program of the runtime in the folder, as the user of the folder. Returns its output.
fn run(
    bench: &Bench,
    program: &Path,
    words: &[&str],
    limit: Duration,
) -> Result<String, ScenarioError> {
    let folder = bench.path();
    let mut command = Command::new(program);
    command.args(words).env_clear().current_dir(&folder);
    for (name, value) in [("PATH", PATH), ("LANG", "C.UTF-8"), ("GOENV", "off")] {
        command.env(name, value);
    }
    for (name, value) in [("GOTOOLCHAIN", "local"), ("CGO_ENABLED", "0"), ("GOWORK", "off")] {
        command.env(name, value);
    }
    for (name, below) in [("HOME", "."), ("GOCACHE", "cache"), ("GOPATH", "path")] {
        command.env(name, folder.join(below));
    }
    let ran = beam::run(command, bench.user(), limit);
    let ran = ran.map_err(|error| not_started(program, &error))?;
    let why = match ran.status {
        Some(status) if status.success() => {
            return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
        }
        Some(_) => last_words(&ran),
        None => format!("did not end within {limit:?}"),
    };
    let error = Name(format!("{}: {why}", shown(program)));
    Err(ScenarioError::Broken(Problem::Scenario(QuotaBlindFact::OwnWords { error }.into())))
}

/// The last line of a program's output. It usually states the reason.
fn last_words(ran: &beam::Ran) -> String {
    let [out, err] = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let mut lines = out.lines().chain(err.lines()).filter(|line| !line.trim().is_empty());
    let last = lines.next_back().unwrap_or("it failed without a message");
    os::terminal::line(last).chars().take(LONGEST).collect()
}

/// Whether a file can be executed.
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Refuses a program that runs as the caller, if another user could have changed it.
pub(super) fn check(program: &Path, user: Option<User>) -> Result<(), ScenarioError> {
    let checked = user.map_or_else(|| host::program::check(program), |_| Ok(()));
    let need = |error: PrivateError| own_words(&error, QuotaBlindFact::NotAsRoot);
    checked.map_err(|error| ScenarioError::Missing(need(error)))
}

/// The error for a program that could not be started. Usually its user may not execute it.
pub(super) fn not_started(program: &Path, error: &io::Error) -> ScenarioError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            let words = format!("{}: {error}", shown(program));
            ScenarioError::Missing(own_words(&words, QuotaBlindFact::ForItsUser))
        }
        _ => broken(program, error),
    }
}

/// The error for a folder that does not belong to the caller alone.
pub(super) fn refused(error: &PrivateError) -> ScenarioError {
    ScenarioError::Missing(own_words(error, QuotaBlindFact::OwnFolders))
}

/// A need in the words of the original error, and what grants it.
fn own_words(error: &dyn std::fmt::Display, grant: QuotaBlindFact) -> Need {
    let what = QuotaBlindFact::OwnWords { error: error.into() };
    Need::Scenario { what: what.into(), grant: grant.into() }
}

pub(super) fn broken(path: &Path, error: &io::Error) -> ScenarioError {
    ScenarioError::Broken(Problem::of_kernel(shown(path), error))
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_toolchain_is_told_by_its_version() {
        for (version, number, language) in [
            ("go1.24.9", "go1.24.9", "1.24"),
            ("go1.26rc1", "go1.26rc1", "1.26"),
            ("go1.21.13 (Red Hat 1.21.13-1.el9)", "go1.21.13", "1.21"),
            ("go1.22.5 (Red Hat 1.22.5-2.module+el8.10.0+22154+0a1b2c3d)", "go1.22.5", "1.22"),
            ("go1.24 X:rangefunc", "go1.24", "1.24"),
            ("go1.24 ../../x", "go1.24", "1.24"),
        ] {
            assert_eq!(number_and_language(version), Some((number, language.to_owned())));
        }
        for strange in ["", "go", "go1", "devel go1.27", "go1.2/../x", "go1.x", "1.24", "go 1.24"] {
            assert_eq!(number_and_language(strange), None, "{strange}");
        }
    }

    #[test]
    fn words_of_a_compiler_come_back_and_so_does_why_it_failed() {
        let bench = bench(&[("source", "text")], None).unwrap();
        let shell = |script: &str, limit| run(&bench, Path::new("/bin/sh"), &["-c", script], limit);
        assert_eq!(shell("cat source", ASK_LIMIT).unwrap(), "text");
        let error = format!("{:?}", shell("echo a; echo 'b: no c' >&2; exit 1", ASK_LIMIT));
        assert!(error.contains("/bin/sh: b: no c"), "{error}");
        let error = format!("{:?}", shell("sleep 1000", Duration::from_millis(20)));
        assert!(error.contains("did not end within"), "{error}");
        let error = run(&bench, Path::new("/nonexistent/go"), &[], ASK_LIMIT).unwrap_err();
        assert!(matches!(error, ScenarioError::Missing(_)), "{error:?}");
    }

    #[test]
    fn a_compiler_that_leaves_something_running_is_not_waited_for() {
        let bench = bench(&[], None).unwrap();
        let began = std::time::Instant::now();
        let script = "setsid sleep 600 & echo done";
        assert_eq!(
            run(&bench, Path::new("/bin/sh"), &["-c", script], ASK_LIMIT).unwrap(),
            "done\n"
        );
        assert!(began.elapsed() < Duration::from_secs(300));
    }
}
