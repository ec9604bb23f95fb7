//! Finds the file of a library that a process has mapped.

use crate::ProbeError;
use host::roots::{Roots, read_text_up_to};
use host::{MappedFile, ProcessFiles};
use std::fs::File;

/// Most bytes of /proc/PID/maps that are read.
const LIMIT: u64 = 64 << 20;

/// The file of a library, opened through the kernel's own link to it. The process may live in a
/// container, and the path may name another file by now.
///
/// # Errors
/// If there is no such process, or it has no such library.
pub fn find(roots: &Roots, pid: u32, library: &str) -> Result<File, ProbeError> {
    let files = ProcessFiles::open(roots, pid).map_err(|_| ProbeError::NoProcess(pid))?;
    let maps = roots.proc.join(pid.to_string()).join("maps");
    let maps = read_text_up_to(&maps, LIMIT).map_err(|error| ProbeError::NoSymbol {
        what: format!("maps of pid {pid}"),
        why: error.to_string(),
    })?;
    let what = || format!("{library} in pid {pid}");
    let mapping = mapped(&maps, library).ok_or_else(|| ProbeError::NoSymbol {
        what: what(),
        why: format!(
            "this process has not mapped it (yet); see /proc/{pid}/maps, or wait until it is loaded"
        ),
    })?;
    files.mapped(&mapping).ok_or_else(|| ProbeError::NoSymbol {
        what: what(),
        why: "its file is gone, or you may not read it; run as root".to_owned(),
    })
}

/// The mapping whose file has the library's name, or whose path equals `library`. The name may
/// leave out its end from a dot on, for example `libcrypto` for `libcrypto.so.3`.
fn mapped(maps: &str, library: &str) -> Option<MappedFile> {
    let all = || maps.lines().filter_map(MappedFile::of_line);
    let exact = |file: &MappedFile| path(file) == library || name(file) == library;
    let begins = |file: &MappedFile| {
        name(file).strip_prefix(library).is_some_and(|rest| rest.starts_with('.'))
    };
    all().find(exact).or_else(|| all().find(begins))
}

/// The path of a mapped file. The kernel marks a file that was removed or replaced since.
fn path(file: &MappedFile) -> &str {
    file.path.strip_suffix(" (deleted)").unwrap_or(&file.path)
}

fn name(file: &MappedFile) -> &str {
    path(file).rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &str = "7f00-7f10 r--p 00000000 fe:00 12 /usr/lib/libcrypto.so.3\n\
                        7f20-7f30 r-xp 00000000 00:00 0\n\
                        7f40-7f50 r-xp 00000000 fe:00 13 /opt/my app/libz.so.1.2\n\
                        7f60-7f70 r-xp 00000000 fe:00 14 /usr/lib/libssl.so.3 (deleted)\n";

    #[test]
    fn a_library_is_found_by_name_stem_or_path() {
        let found = |library| mapped(MAPS, library).map(|file| file.path);
        assert_eq!(found("libcrypto.so.3").as_deref(), Some("/usr/lib/libcrypto.so.3"));
        assert_eq!(found("libz").as_deref(), Some("/opt/my app/libz.so.1.2"));
        assert_eq!(found("/usr/lib/libcrypto.so.3").as_deref(), Some("/usr/lib/libcrypto.so.3"));
        // A package was updated since the process started.
        for library in ["libssl.so.3", "libssl", "/usr/lib/libssl.so.3"] {
            assert_eq!(found(library).as_deref(), Some("/usr/lib/libssl.so.3 (deleted)"));
        }
        assert_eq!(found("libcryp"), None);
        assert_eq!(found("libc.so.6"), None);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let root = tempfile::tempdir().unwrap();
        let found = find(&Roots::at(root.path()), 7, "libc.so.6");
        assert_eq!(found.err(), Some(ProbeError::NoProcess(7)));
    }

    proptest! {
        #[test]
        fn any_maps_can_be_searched(maps in ".{0,200}", library in ".{0,20}") {
            mapped(&maps, &library);
        }
    }
}
