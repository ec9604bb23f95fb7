//! The Erlang application: compiled by the target's own compiler at first use, then cached.

mod nif;
mod sources;
pub(crate) mod trust;
mod write;

use crate::error::BeamError;
use crate::otp::{Otp, QUIET};
use crate::run;
use crate::text::first_line;
use host::{Bench, Roots, Temporary};
use sources::{BUILD_NAME, BUILDING, MOST, Sources};
use std::fs;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time limit of the Erlang compiler for the whole application.
const LIMIT: Duration = Duration::from_secs(300);

/// Age after which an incomplete folder belongs to a killed run without a journal.
const STALE: Duration = Duration::from_secs(3600);

/// Evaluates the build script in the folder that is the plain argument.
const EVAL: &str = r#"
    Tell = fun(Text) -> io:put_chars(standard_error, [Text, $\n]), erlang:halt(1) end,
    [Dir] = init:get_plain_arguments(),
    try file:script(filename:join(Dir, "build.script"), [{'Dir', Dir}]) of
        {ok, ok} -> erlang:halt(0);
        {ok, {error, Text}} when is_list(Text) -> Tell(Text);
        {ok, Other} -> Tell(io_lib:format("~0tP", [Other, 20]));
        {error, Error} -> Tell(file:format_error(Error))
    catch
        _:undef -> Tell("the compiler application is not installed");
        _:Reason -> Tell(io_lib:format("~0tP", [Reason, 20]))
    end."#;

/// The compiled application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The folder of the compiled modules and of `tailback.app`.
    pub ebin: PathBuf,
    /// The compiled NIF, or one line that says why there is none: what is missing, and which
    /// Debian package has it. The next [`App::prepare`] tries it again.
    pub nif: Result<PathBuf, String>,
}

impl App {
    /// The application for this OTP, from `cache` or compiled into it.
    ///
    /// The name of a cache entry contains a hash of the sources, the release and the version of
    /// the runtime system. An entry is made in a temporary folder and renamed. So two runs that
    /// start at once do not collide, and a kill leaves no incomplete entry.
    ///
    /// # Errors
    /// If another user could write to the cache, if it cannot be written, or if the application
    /// does not compile. A missing C compiler is no error: see [`App::nif`].
    pub fn prepare(otp: &Otp, cache: &Path) -> Result<Self, BeamError> {
        prepare(&Sources::embedded(), otp, cache)
    }
}

fn prepare(sources: &Sources, otp: &Otp, cache: &Path) -> Result<App, BeamError> {
    let cache = trust::folder(cache)?;
    // Code that one user compiled is not run by another user.
    let whose = otp.user().map(|user| format!("-user{}", user.uid())).unwrap_or_default();
    let name = format!("{}-otp{}-{}{whose}", sources.hash(), otp.release, otp.erts);
    let entry = cache.join(name);
    if !entry.exists() {
        sweep(&cache);
        make(sources, otp, &cache, &entry)?;
    }
    trust::check(&entry)?;
    // The VM finds priv by the name of the application's folder.
    let app = entry.join("tailback");
    Ok(App { ebin: app.join("ebin"), nif: nif::nif(sources, otp, &app, &cache) })
}

/// Makes an entry, unless another run has made it first.
fn make(sources: &Sources, otp: &Otp, cache: &Path, entry: &Path) -> Result<(), BeamError> {
    let failed = |what| move |source| BeamError::File { path: entry.to_owned(), what, source };
    let building = Temporary::folder(&Roots::real(), cache, BUILDING);
    let building = building.map_err(failed("make it"))?;
    let app = building.path().join("tailback");
    sources.write(&app)?;
    let bench = sources.bench(cache, otp.user()).map_err(failed("make it"))?;
    compile(otp, &bench)?;
    take_modules(sources, &bench, &app)?;
    drop(bench);
    // If this succeeds, it is done once per entry; otherwise each run tries again.
    let _ = nif::nif(sources, otp, &app, cache);
    if otp.user().is_some() {
        show(building.path()).map_err(failed("make it readable for other users"))?;
    }
    sync(&app).map_err(failed("write it"))?;
    match building.put(entry) {
        Ok(()) => Ok(()),
        Err(_) if entry.is_dir() => Ok(()),
        Err(source) => Err(failed("rename it to its final name")(source)),
    }
}

/// Copies the compiled files into the application's folder.
fn take_modules(sources: &Sources, bench: &Bench, app: &Path) -> Result<(), BeamError> {
    let modules = sources.modules().map(|module| format!("ebin/{module}.beam"));
    for name in modules.chain(["ebin/tailback.app".to_owned()]) {
        let path = app.join(&name);
        let take = || {
            fs::create_dir_all(app.join("ebin"))?;
            bench.take(Path::new(&name), MOST, &mut File::create_new(&path)?)
        };
        take().map_err(|source| BeamError::File {
            path: path.clone(),
            what: "write it",
            source,
        })?;
    }
    Ok(())
}

/// Compiles the sources.
fn compile(otp: &Otp, bench: &Bench) -> Result<(), BeamError> {
    let erl = otp.erl.clone();
    let mut command = otp.command();
    command.args(QUIET).args(["-eval", EVAL, "-extra", "."]);
    command.current_dir(bench.path());
    let ran = run::run(command, otp.user(), LIMIT)
        .map_err(|source| BeamError::NotExecutable { path: erl.clone(), source })?;
    match ran.status {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let words = first_line(&ran.stderr).or_else(|| first_line(&ran.stdout));
            Err(BeamError::Compile { erl, why: words.unwrap_or_else(|| status.to_string()) })
        }
        None => Err(BeamError::Late { path: erl, what: "compile the application", limit: LIMIT }),
    }
}

/// Lets every user read a folder and everything below it, whatever the caller's umask is.
fn show(path: &Path) -> std::io::Result<()> {
    let is_folder = path.symlink_metadata()?.is_dir();
    if is_folder {
        for entry in fs::read_dir(path)? {
            show(&entry?.path())?;
        }
    }
    fs::set_permissions(path, Permissions::from_mode(if is_folder { 0o755 } else { 0o644 }))
}

/// Writes all files to the disk (sync), so that even a power cut leaves no incomplete entry.
fn sync(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        } else {
            fs::File::open(entry.path())?.sync_all()?;
        }
    }
    fs::File::open(folder)?.sync_all()
}

/// Removes incomplete folders of killed runs; a folder that cannot be removed does no harm.
fn sweep(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(BUILDING);
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|then| SystemTime::now().duration_since(then).ok());
        if ours && age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
