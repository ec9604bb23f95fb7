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
/// If the folder cannot be made or written.
pub fn path(asked: Option<&PathBuf>, scenario: &str) -> Result<PathBuf, Failure> {
    match asked {
        Some(path) => writable(path).map(|()| path.clone()),
        None => {
            let path = state_folder().join(file_name(scenario));
            writable(&path).map(|()| path)
        }
    }
}

/// Another place for a record that could not be kept where it should have been.
pub fn refuge(scenario: &str) -> [PathBuf; 2] {
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
fn writable(path: &Path) -> Result<(), Failure> {
    let refuse = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "record {}: {why}; name a file that can be written with --record",
            path.display()
        ))
    };
    if path.is_dir() {
        return Err(refuse(&"a folder stands there"));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(|error| refuse(&error))?;
    let flags = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, flags).map_err(|error| refuse(&std::io::Error::from(error)))
}
