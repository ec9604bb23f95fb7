//! The files for records and pages.

use crate::exit::Failure;
use crate::session::Session;
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// The requested file for a record, or a new file in the state folder.
///
/// The state folder is `tailback` in `$XDG_STATE_HOME`, else in `~/.local/state`, else in the
/// folder for temporary files.
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
    first_free(session, &fallback(scenario))
}

/// The file with this name in the state folder. If that cannot be written, the file in the folder
/// for temporary files.
///
/// # Errors
/// If neither can be written.
pub fn named_record(session: &Session, name: &str) -> Result<PathBuf, Failure> {
    // If the folder cannot be made, the next place is used.
    let _ = os::folders::make(&state_folder());
    first_free(session, &[state_folder(), std::env::temp_dir()].map(|folder| folder.join(name)))
}

fn first_free(session: &Session, places: &[PathBuf; 2]) -> Result<PathBuf, Failure> {
    let free = places.iter().find(|place| writable(session, place).is_ok());
    free.cloned().ok_or_else(|| {
        Failure::usage(format!(
            "no place for the record: neither {} nor {} can be written; set XDG_STATE_HOME or TMPDIR",
            places[0].display(),
            places[1].display()
        ))
    })
}

/// The default files for a record. They are also used if the requested file fails.
pub fn fallback(scenario: &str) -> [PathBuf; 2] {
    // If the folder cannot be made, saving there fails and the next place is tried.
    let _ = os::folders::make(&state_folder());
    [state_folder().join(file_name(scenario)), std::env::temp_dir().join(file_name(scenario))]
}

fn file_name(scenario: &str) -> String {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    format!("{scenario}-{now}-{}.json", std::process::id())
}

/// The default folder of records.
pub fn state_folder() -> PathBuf {
    os::folders::state().unwrap_or_else(std::env::temp_dir).join("tailback")
}

/// Checks before anything is measured whether a record can be kept in this file.
fn writable(session: &Session, path: &Path) -> Result<(), String> {
    let message = |error: std::io::Error| error.to_string();
    let target = runner::target(path).map_err(message)?;
    if target.exists() && !is_record(&target) {
        return Err(
            "the existing file is not a record of tailback, and is not overwritten".to_owned()
        );
    }
    place(session, &target)
}

/// Checks whether a file can be created at this path, and makes its folder.
fn place(session: &Session, path: &Path) -> Result<(), String> {
    let message = |error: std::io::Error| error.to_string();
    let target = runner::target(path).map_err(message)?;
    let folder = folder_of(&target);
    os::folders::make(&folder).map_err(message)?;
    let flags = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(&folder, flags).map_err(|error| message(error.into()))?;
    if is_of_the_kernel(&folder).map_err(message)? {
        return Err("the folder is on a file system of the kernel".to_owned());
    }
    runner::sweep(&folder);
    if let Some(unfinished) = runner::unfinished(path) {
        session.guard.may_leave(&unfinished);
    }
    Ok(())
}

/// The kernel's file systems in which nobody can create files, although root may write to their
/// folders: proc, sysfs, control groups of version 1 and 2, debugfs, tracefs (linux/magic.h).
const OF_THE_KERNEL: [u64; 6] =
    [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163];

/// Whether a folder is on one of these file systems.
fn is_of_the_kernel(folder: &Path) -> std::io::Result<bool> {
    // The type of this number differs between architectures; its value has 32 bits.
    #[allow(clippy::unnecessary_cast, reason = "it is necessary on some architectures")]
    let number = rustix::fs::statfs(folder)?.f_type as u64 & 0xffff_ffff;
    Ok(OF_THE_KERNEL.contains(&number))
}

/// Whether a file is empty or begins like a record.
pub fn is_record(path: &Path) -> bool {
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
    let stem = fallback(name).map(|path| path.with_extension("html"));
    stem.into_iter().find(|path| writable(session, path).is_ok())
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
