//! Where records are kept.

use crate::exit::Failure;
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// The file that a record was asked to be kept in, or a new one in the state folder.
///
/// The state folder is `tailback` in `$XDG_STATE_HOME`, else in `~/.local/state`, else in the
/// folder for temporary files.
///
/// # Errors
/// If the file that was asked for cannot be written, or would be lost.
pub fn path(asked: Option<&PathBuf>, scenario: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = asked {
        writable(path).map_err(|why| {
            Failure::usage(format!(
                "--record {}: {why}; name a file that can be written",
                path.display()
            ))
        })?;
        return Ok(path.clone());
    }
    first_free(&refuge(scenario))
}

/// The file of that name in the state folder, or where that cannot be written, in the folder for
/// temporary files.
///
/// # Errors
/// If neither can be written.
pub fn named(name: &str) -> Result<PathBuf, Failure> {
    // Where it cannot be made, the next place is taken.
    let _ = std::fs::create_dir_all(state_folder());
    first_free(&[state_folder(), std::env::temp_dir()].map(|folder| folder.join(name)))
}

fn first_free(places: &[PathBuf; 2]) -> Result<PathBuf, Failure> {
    let free = places.iter().find(|place| writable(place).is_ok());
    free.cloned().ok_or_else(|| {
        Failure::usage(format!(
            "no place for the record: neither {} nor {} can be written; set XDG_STATE_HOME or TMPDIR",
            places[0].display(),
            places[1].display()
        ))
    })
}

/// The places for a record where nobody names one, or where the one named fails.
pub fn refuge(scenario: &str) -> [PathBuf; 2] {
    // Where it cannot be made, saving there fails and the next place is tried.
    let _ = std::fs::create_dir_all(state_folder());
    [state_folder().join(file_name(scenario)), std::env::temp_dir().join(file_name(scenario))]
}

fn file_name(scenario: &str) -> String {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    format!("{scenario}-{now}-{}.json", std::process::id())
}

fn state_folder() -> PathBuf {
    let from =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    from("XDG_STATE_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(std::env::temp_dir)
        .join("tailback")
}

/// Finds out before anything is measured whether a record can be kept there.
fn writable(path: &Path) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    let target = runner::target(path).map_err(words)?;
    if target.exists() && !is_record(&target) {
        return Err("there is a file that is no record of tailback, and it stays".to_owned());
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(words)?;
    let flags = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, flags).map_err(|error| words(error.into()))?;
    runner::sweep(folder);
    Ok(())
}

/// Whether a file is empty or begins as a record does.
fn is_record(path: &Path) -> bool {
    use std::io::Read;
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(200).read_to_end(&mut start));
    read.is_ok()
        && (start.is_empty() || String::from_utf8_lossy(&start).contains("\"tailback/record/"))
}
