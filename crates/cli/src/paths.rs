//! The files for records and pages.

use crate::exit::Failure;
use crate::session::Session;
use jiff::Timestamp;
use std::io::Error;
use std::iter::once_with;
use std::path::{Path, PathBuf};

/// The requested file for a record, or a new file in the state folder.
///
/// The state folder is `tailback` in `$XDG_STATE_HOME`, else in `~/.local/state`, else
/// `tailback-UID` in the folder for temporary files.
///
/// # Errors
/// If the requested file cannot be written, or would be lost.
pub fn record(
    session: &Session,
    asked: Option<&PathBuf>,
    scenario: &str,
) -> Result<PathBuf, Failure> {
    if let Some(path) = asked {
        writable(session, path).map_err(|why| {
            Failure::usage(format!(
                "--record {}: {why}; name a file that can be written",
                path.display()
            ))
        })?;
        return Ok(path.clone());
    }
    named_record(session, &file_name(scenario))
}

/// The file with this name in the state folder. If that cannot be written, the file in a folder of
/// this user in the folder for temporary files.
///
/// # Errors
/// If neither can be written.
pub fn named_record(session: &Session, name: &str) -> Result<PathBuf, Failure> {
    let mut places = folders().map(|folder| folder.join(name));
    places.find(|place| writable(session, place).is_ok()).ok_or_else(|| no_place(name))
}

fn no_place(name: &str) -> Failure {
    let temporary = temporary_folder();
    let Some(state) = os::folders::state() else {
        let why = make_private(&temporary).err().map_or_else(
            || format!("{} cannot be written; set XDG_STATE_HOME", temporary.display()),
            |error| error.to_string(),
        );
        return Failure::usage(format!("no place for the record: {why}"));
    };
    Failure::usage(format!(
        "no place for the record: neither {} nor {} can be written; set XDG_STATE_HOME or TMPDIR",
        state.join(STATE).join(name).display(),
        temporary.join(name).display()
    ))
}

/// The default files for a record. They are also used if the requested file fails.
pub fn fallback(scenario: &str) -> impl Iterator<Item = PathBuf> {
    let name = file_name(scenario);
    folders().map(move |folder| folder.join(&name))
}

fn file_name(scenario: &str) -> String {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    format!("{scenario}-{now}-{}.json", std::process::id())
}

/// The name of the state folder among those of other programs.
const STATE: &str = "tailback";

/// The default folder of records. It need not exist: [`make_state_folder`].
pub fn state_folder() -> PathBuf {
    os::folders::state().map_or_else(temporary_folder, |state| state.join(STATE))
}

/// Makes the state folder.
///
/// # Errors
/// If it cannot be made, or if it is in the folder for temporary files and another user could
/// change it.
pub fn make_state_folder() -> Result<(), Error> {
    match os::folders::state() {
        Some(state) => os::folders::make(&state.join(STATE)),
        None => make_private(&temporary_folder()),
    }
}

/// The default folders of records. Each one is made when the iterator reaches it; one that cannot
/// be made is left out.
fn folders() -> impl Iterator<Item = PathBuf> {
    let state = os::folders::state().map(|state| state.join(STATE));
    let state = state.into_iter().filter(|folder| os::folders::make(folder).is_ok());
    state.chain(once_with(temporary_folder).filter(|folder| make_private(folder).is_ok()))
}

/// The folder of this user's records in the folder for temporary files.
fn temporary_folder() -> PathBuf {
    std::env::temp_dir().join(format!("{STATE}-{}", rustix::process::geteuid().as_raw()))
}

/// Makes a folder in a place where any user could have made it before, with records or links in it.
fn make_private(folder: &Path) -> Result<(), Error> {
    let refused = |error| Error::other(format!("{error}; set XDG_STATE_HOME"));
    host::private::folder(folder).map(drop).map_err(refused)
}

/// Checks before anything is measured whether a record can be kept in this file.
fn writable(session: &Session, path: &Path) -> Result<(), String> {
    let target = runner::target(path).map_err(|error| error.to_string())?;
    refuse_other(&target).map_err(|error| error.to_string())?;
    place(session, &target)
}

/// Checks whether a file can be created at this path, and makes its folder.
fn place(session: &Session, path: &Path) -> Result<(), String> {
    let message = |error: Error| error.to_string();
    let target = runner::target(path).map_err(message)?;
    make_folder(&target).map_err(message)?;
    runner::sweep(&folder_of(&target));
    if let Some(unfinished) = runner::unfinished(path) {
        session.guard.may_leave(&unfinished);
    }
    Ok(())
}

/// Checks that a record would replace no other file.
///
/// # Errors
/// If there is a file that is no record.
pub fn refuse_other(target: &Path) -> Result<(), Error> {
    match target.exists() && !is_record(target) {
        true => Err(Error::other(
            "the existing file is not a record of tailback, and is not overwritten",
        )),
        false => Ok(()),
    }
}

/// Makes the folder of a file, and checks that files can be made in it. It stays open for the file.
///
/// # Errors
/// If the folder cannot be made, is behind a link that is not followed, or cannot be written.
pub fn make_folder(file: &Path) -> Result<(), Error> {
    let folder = folder_of(file);
    os::folders::make(&folder)?;
    runner::check_folder(&folder)
}

/// Whether a file is empty or begins like a record.
fn is_record(path: &Path) -> bool {
    start(path).is_some_and(|start| start.is_empty() || begins_as_record(&start))
}

/// Whether a file holds a record.
pub fn holds_record(path: &Path) -> bool {
    path.is_file() && start(path).is_some_and(|start| begins_as_record(&start))
}

fn begins_as_record(start: &[u8]) -> bool {
    String::from_utf8_lossy(start).contains("\"tailback/record/")
}

/// How far into a file its schema is searched, in bytes. A tool that sorts keys puts the schema
/// after the plan.
const START: u64 = 64 << 10;

/// The first bytes of a file.
fn start(path: &Path) -> Option<Vec<u8>> {
    // A pipe may be there instead of a file; it is no record.
    os::file::read_start(path, START).ok()
}

/// The requested file for a page.
///
/// # Errors
/// If it cannot be written, or holds a record. Records are never replaced.
pub fn for_page(session: &Session, flag: &str, path: &Path) -> Result<PathBuf, Failure> {
    let refuse = |why: String| {
        Failure::usage(format!("{flag} {}: {why}; name a file that can be written", path.display()))
    };
    if holds_record(path) {
        return Err(refuse(
            "the existing file is a record of tailback, and is not overwritten".to_owned(),
        ));
    }
    place(session, path).map(|()| path.to_owned()).map_err(refuse)
}

/// The default file of a page: in the state folder, beside the records.
pub fn page(session: &Session, name: &str) -> Option<PathBuf> {
    let mut pages = fallback(name).map(|path| path.with_extension("html"));
    pages.find(|path| writable(session, path).is_ok())
}

/// The file of brief records in the requested folder. The folder is made.
///
/// # Errors
/// If it cannot be written.
pub fn for_briefs(session: &Session, path: &Path) -> Result<PathBuf, Failure> {
    let refuse = |why| {
        let folder = path.parent().unwrap_or(path).display();
        Failure::usage(format!("--into {folder}: {why}; name a folder that can be written"))
    };
    place(session, path).map(|()| path.to_owned()).map_err(refuse)
}

/// The folder part of a path.
pub fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn a_folder_that_another_user_could_change_is_no_place_for_records() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("tailback-0");
        make_private(&folder).unwrap();
        make_private(&folder).unwrap();
        let mode = |mode| std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        let refused = |expected: &str| {
            let why = make_private(&folder).unwrap_err().to_string();
            assert!(why.contains(expected) && why.ends_with("; set XDG_STATE_HOME"), "{why}");
        };
        mode(0o777);
        refused("others can write to it");
        mode(0o755);
        if chown(&folder, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a folder away");
        }
        refused("owned by user 65534");
    }
}
