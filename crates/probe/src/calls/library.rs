//! Finding the file of a library that a process has mapped.

use crate::ProbeError;
use host::roots::{Roots, read_text_up_to};
use std::path::{Path, PathBuf};

/// The largest map of mappings that is read, in bytes.
const LIMIT: u64 = 64 << 20;

/// The file of a library, by the way of the process's own root: it may live in a container.
///
/// # Errors
/// If there is no such process, or it has no such library.
pub fn find(roots: &Roots, pid: u32, library: &str) -> Result<PathBuf, ProbeError> {
    let of_pid = roots.proc.join(pid.to_string());
    if !of_pid.exists() {
        return Err(ProbeError::NoProcess(pid));
    }
    let maps = read_text_up_to(&of_pid.join("maps"), LIMIT).map_err(|error| {
        ProbeError::NoSymbol { what: format!("maps of pid {pid}"), why: error.to_string() }
    })?;
    let path = mapped(&maps, library).ok_or_else(|| ProbeError::NoSymbol {
        what: format!("{library} in pid {pid}"),
        why: format!(
            "not mapped by this process (yet); see /proc/{pid}/maps, or wait until it has loaded it"
        ),
    })?;
    Ok(of_pid.join("root").join(path.strip_prefix("/").unwrap_or(&path)))
}

/// The mapped file whose name is the library's, or whose whole path is; a name may leave out what
/// stands behind it, as `libcrypto` for `libcrypto.so.3`.
fn mapped(maps: &str, library: &str) -> Option<PathBuf> {
    let paths = || maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let exact =
        |path: &&Path| *path == Path::new(library) || name(path).as_deref() == Some(library);
    let begins = |path: &&Path| {
        name(path).is_some_and(|name| {
            name.strip_prefix(library).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    paths().find(exact).or_else(|| paths().find(begins)).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &str = "7f00-7f10 r--p 00000000 fe:00 12 /usr/lib/libcrypto.so.3\n\
                        7f20-7f30 r-xp 00000000 00:00 0\n\
                        7f40-7f50 r-xp 00000000 fe:00 13 /opt/my app/libz.so.1.2\n";

    #[test]
    fn a_library_is_found_by_name_stem_or_path() {
        let found = |library| mapped(MAPS, library).map(|path| path.display().to_string());
        assert_eq!(found("libcrypto.so.3").as_deref(), Some("/usr/lib/libcrypto.so.3"));
        assert_eq!(found("libz").as_deref(), Some("/opt/my app/libz.so.1.2"));
        assert_eq!(found("/usr/lib/libcrypto.so.3").as_deref(), Some("/usr/lib/libcrypto.so.3"));
        assert_eq!(found("libcryp"), None);
        assert_eq!(found("libc.so.6"), None);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let root = tempfile::tempdir().unwrap();
        let found = find(&Roots::at(root.path()), 7, "libc.so.6");
        assert_eq!(found, Err(ProbeError::NoProcess(7)));
    }

    proptest! {
        #[test]
        fn any_maps_can_be_searched(maps in ".{0,200}", library in ".{0,20}") {
            mapped(&maps, &library);
        }
    }
}
