//! Other people's programs that root runs with its own rights. They are found and started so that
//! a user of sudo cannot decide what root runs.
//!
//! With `sudo -E`, or with a sudo that keeps PATH, root has the search path and the environment
//! of the calling user. A program that another user could have put there is skipped, or refused
//! if it was given by path. Variables that make programs load code or read other settings are
//! removed. So are another user's home, and folders of the PATH in which others may put programs,
//! since a program may start others by name. A caller who is not root may run any program.
//!
//! [`check`] is the check for all of them, also for runtimes and compilers, which another user
//! runs if root may become one.

use crate::private::{self, PrivateError};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders in which only root installs programs, used if no folder of the caller's PATH is safe.
const USUAL_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The home of a program that root runs, if the caller's home belongs to another user. Programs
/// read their settings there, and `erl` runs its `.erlang`.
const NO_HOME: &str = "/";

/// The variables of root's environment that are kept: locations, the language, and network
/// settings.
const KEPT: [&str; 12] = [
    "PATH",
    "HOME",
    "LANG",
    "TZ",
    "TMPDIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "ftp_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// A command that runs the program with this name, or at this path.
///
/// # Errors
/// If the caller is root and another user could have put each program of that name there. A
/// missing program is no error here; starting it fails.
pub fn command(program: &str) -> Result<Command, PrivateError> {
    if !os::user::is_exposed() {
        return Ok(Command::new(program));
    }
    let path = match program.contains('/') {
        true => {
            let path = PathBuf::from(program);
            if path.exists() {
                check(&path)?;
            }
            path
        }
        false => safe(program, &std::env::var_os("PATH").unwrap_or_default())?,
    };
    let mut command = Command::new(path);
    strip(&mut command);
    Ok(command)
}

/// The path of a program that root installs, such as `mkfs.ext4`: on the search path, or in the
/// folders in which such programs usually are. None if there is none.
///
/// # Errors
/// If the caller is root and another user could have put each program of that name there.
pub fn path_of(name: &str) -> Result<Option<PathBuf>, PrivateError> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&search).chain(std::env::split_paths(USUAL_PATH));
    first(name, folders)
}

/// Refuses a program that the caller must not run with its own rights: the caller is root, and
/// another user could have put the program there, or could redirect the path.
///
/// # Errors
/// Which user could, and through which part of the path.
pub fn check(program: &Path) -> Result<(), PrivateError> {
    if !os::user::is_exposed() {
        return Ok(());
    }
    private::reached(program).map(|_| ()).map_err(|error| match error {
        PrivateError::Unsafe { path, why } if path != program => {
            let why = format!("{}: {why}", path.display());
            PrivateError::Unsafe { path: program.to_owned(), why }
        }
        error => error,
    })
}

/// Reduces the environment of a program that root runs with its own rights to the safe part.
/// Variables that were set for the command are kept. For other callers nothing changes.
pub fn strip(command: &mut Command) {
    if !os::user::is_exposed() {
        return;
    }
    let set: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| is_kept(name)));
    command.env("PATH", safe_path(&std::env::var_os("PATH").unwrap_or_default()));
    let is_theirs = |home: OsString| private::reached(Path::new(&home)).is_err();
    if std::env::var_os("HOME").is_none_or(is_theirs) {
        command.env("HOME", NO_HOME);
    }
    command.envs(set);
}

/// The folders of a search path in which no other user can put a program.
fn safe_path(search: &OsStr) -> OsString {
    let folders = std::env::split_paths(search).filter(|folder| folder.is_absolute());
    let safe = folders.filter(|folder| private::reached(folder).is_ok());
    match std::env::join_paths(safe) {
        Ok(path) if !path.is_empty() => path,
        _ => USUAL_PATH.into(),
    }
}

/// Checks that nobody else can remove or replace the caller's files in the folder for temporary
/// files.
///
/// # Errors
/// Which user could.
pub fn check_temporary(folder: &Path) -> Result<(), PrivateError> {
    private::reached_shared(folder).map(|_| ())
}

fn is_kept(name: &OsStr) -> bool {
    KEPT.iter().any(|kept| name == *kept) || name.as_encoded_bytes().starts_with(b"LC_")
}

/// The first program with that name on the search path that no other user could have put there.
fn safe(name: &str, search: &OsString) -> Result<PathBuf, PrivateError> {
    let found = first(name, std::env::split_paths(search))?;
    Ok(found.unwrap_or_else(|| PathBuf::from("/nonexistent").join(name)))
}

/// The first program with that name in these folders that [`check`] does not refuse.
fn first(
    name: &str,
    folders: impl Iterator<Item = PathBuf>,
) -> Result<Option<PathBuf>, PrivateError> {
    let mut refused = None;
    for folder in folders.filter(|folder| folder.is_absolute()) {
        let path = folder.join(name);
        let is_program =
            |file: std::fs::Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
        if !path.metadata().is_ok_and(is_program) {
            continue;
        }
        match check(&path) {
            Ok(()) => return Ok(Some(path)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    refused.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    fn fake(folder: &Path, owner: u32) {
        let file = folder.join("tool");
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        for path in [&file, folder] {
            chown(path, Some(owner), None).unwrap();
        }
    }

    #[test]
    fn root_passes_over_a_program_that_another_user_could_have_put_there() {
        if !os::user::is_exposed() {
            return testing::skipped("only root has something to lose");
        }
        let place = tempfile::tempdir().unwrap();
        let (theirs, ours) = (place.path().join("theirs"), place.path().join("ours"));
        fake(&theirs, 65_534);
        let alone = safe("tool", &theirs.clone().into_os_string()).unwrap_err();
        assert!(alone.to_string().contains("owned by user 65534"), "{alone}");
        fake(&ours, 0);
        let both = std::env::join_paths([&theirs, &ours]).unwrap();
        assert_eq!(safe("tool", &both).unwrap(), ours.join("tool"));
        // A link of root's to another user's program, and a link of another user to root's
        // program.
        std::os::unix::fs::symlink(theirs.join("tool"), ours.join("other")).unwrap();
        assert!(safe("other", &ours.clone().into_os_string()).is_err());
        std::os::unix::fs::symlink(ours.join("tool"), theirs.join("own")).unwrap();
        assert!(safe("own", &theirs.clone().into_os_string()).is_err());
        assert!(safe("none", &both).unwrap().starts_with("/nonexistent"));
        // By path it is refused too, and its folder is not searched for other programs.
        for path in [theirs.join("tool"), theirs.join("own"), ours.join("other")] {
            assert!(check(&path).is_err() && command(path.to_str().unwrap()).is_err(), "{path:?}");
        }
        check(&ours.join("tool")).unwrap();
        assert_eq!(safe_path(&both), *ours.as_os_str());
        assert_eq!(safe_path(theirs.as_os_str()), USUAL_PATH);
        assert!(safe("tool", &"relative:".into()).unwrap().starts_with("/nonexistent"));
    }

    #[test]
    fn a_program_is_found_by_its_name_wherever_root_installs_it() {
        assert!(path_of("sh").unwrap().is_some_and(|path| path.ends_with("sh")));
        assert_eq!(path_of("no-such-program").unwrap(), None);
    }

    #[test]
    fn variables_that_steer_programs_stay_behind() {
        for name in ["LD_PRELOAD", "APT_CONFIG", "QEMU_MODULE_DIR", "ERL_FLAGS", "BASH_ENV"] {
            assert!(!is_kept(OsStr::new(name)), "{name}");
        }
        assert!(is_kept(OsStr::new("PATH")) && is_kept(OsStr::new("LC_ALL")));
    }

    #[test]
    fn temporary_files_go_where_nobody_replaces_them() {
        let place = tempfile::tempdir().unwrap();
        check_temporary(place.path()).unwrap();
        let open = std::fs::Permissions::from_mode;
        std::fs::set_permissions(place.path(), open(0o1777)).unwrap();
        check_temporary(place.path()).unwrap();
        std::fs::set_permissions(place.path(), open(0o777)).unwrap();
        assert!(check_temporary(place.path()).is_err());
        assert!(check_temporary(&place.path().join("none")).is_err());
    }
}
