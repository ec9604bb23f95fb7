//! Compiles the NIFs, which are written in C.

use super::sources::{MOST, Sources};
use crate::otp::{Otp, strip};
use crate::run;
use crate::text::clean_line;
use host::{Bench, Roots, Temporary};
use os::user::Account;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit of a compiler.
const LIMIT: Duration = Duration::from_secs(180);

/// The compilers to try, in this order.
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];

/// The prefix of a file or folder in which a NIF is being compiled.
const COMPILING: &str = ".compiling-";

/// The NIF that the application loads by itself; [`nif`] returns this one.
const MAIN: &str = "tailback_nif";

/// Compiles the NIFs that are missing in this application folder; returns the main NIF.
///
/// # Errors
/// Why there is none: what is missing, and the Debian package that has it.
pub(super) fn nif(
    sources: &Sources,
    otp: &Otp,
    app: &Path,
    cache: &Path,
) -> Result<PathBuf, String> {
    if !sources.nifs().any(|name| name == MAIN) {
        return Err("this build of tailback contains no NIF".to_owned());
    }
    let objects = app.join("priv");
    for name in sources.nifs() {
        let object = objects.join(format!("{name}.so"));
        if !object.is_file() {
            let include = include_folder(otp)?;
            let made = sources.bench(cache, otp.user());
            let bench = made.map_err(|error| format!("{}: {error}", cache.display()))?;
            compile(&bench, name, &include, otp.account.as_ref(), &object)?;
        }
    }
    Ok(objects.join(format!("{MAIN}.so")))
}

/// The folder that contains `erl_nif.h`.
fn include_folder(otp: &Otp) -> Result<PathBuf, String> {
    let folders = ["usr/include".to_owned(), format!("erts-{}/include", otp.erts)];
    let mut candidates = folders.iter().map(|folder| otp.root.join(folder));
    let missing = || {
        let root = otp.root.display();
        format!("no erl_nif.h in {root}/usr/include; install erlang-dev (Debian, Ubuntu)")
    };
    candidates.find(|folder| folder.join("erl_nif.h").is_file()).ok_or_else(missing)
}

/// Compiles as the OTP's user, or as the caller, and copies the result. A complete file gets its
/// final name.
fn compile(
    bench: &Bench,
    name: &str,
    include: &Path,
    account: Option<&Account>,
    object: &Path,
) -> Result<(), String> {
    let folder = object.parent().unwrap_or(object);
    let message = |error: io::Error| format!("{}: {error}", folder.display());
    run_compiler(bench, name, include, account)?;
    fs::create_dir_all(folder).map_err(message)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(message)?;
    let (whole, mut file) = Temporary::file(&Roots::real(), folder, COMPILING).map_err(message)?;
    bench.take(&compiled(name), MOST, &mut file).map_err(message)?;
    let shown = file.set_permissions(fs::Permissions::from_mode(0o644));
    shown.and_then(|()| file.sync_all()).map_err(message)?;
    whole.put(object).map_err(message)
}

/// The compiler's output file, in the folder with the sources.
fn compiled(name: &str) -> PathBuf {
    PathBuf::from(format!("{name}.so"))
}

/// Runs the first available compiler in the folder with the sources; its temporary files go there
/// too.
fn run_compiler(
    bench: &Bench,
    name: &str,
    include: &Path,
    account: Option<&Account>,
) -> Result<(), String> {
    for compiler in COMPILERS {
        let mut command = match account {
            Some(_) => Command::new(compiler),
            // If this is root: no compiler that another user could have put there.
            None => host::program::command(compiler).map_err(|error| error.to_string())?,
        };
        if let Some(account) = account {
            strip(&mut command, account);
        }
        command.current_dir(bench.path()).env("TMPDIR", ".");
        command.args(["-O2", "-fPIC", "-shared", "-o"]).arg(compiled(name));
        command.arg("-I").arg(include).arg(format!("c_src/{name}.c"));
        match run::run(command, account.map(|account| account.user), LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{compiler}: {error}")),
            Ok(ran) if ran.status.is_some_and(|status| status.success()) => return Ok(()),
            Ok(ran) => return Err(refusal(compiler, name, &ran)),
        }
    }
    Err("no C compiler (cc, gcc, clang) on the PATH; install gcc and libc6-dev (Debian, Ubuntu)"
        .to_owned())
}

/// The compiler's first error message.
fn refusal(compiler: &str, name: &str, ran: &os::child::Ran) -> String {
    if ran.status.is_none() {
        return format!("{compiler}: c_src/{name}.c: not compiled within {LIMIT:?}");
    }
    let text = String::from_utf8_lossy(&ran.stderr);
    let line = text.lines().find(|line| line.contains("error")).or_else(|| text.lines().next());
    let words = clean_line(line.unwrap_or("failed without a message"));
    // Without libc6-dev, gcc finds no standard header; this is by far the likeliest reason.
    let missing = text.contains("No such file or directory");
    let hint = if missing { "; is libc6-dev installed?" } else { "" };
    format!("{compiler}: {words}{hint}")
}
