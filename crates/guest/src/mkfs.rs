//! The host's mkfs.ext4, for guests that have no other programs.

use crate::error::GuestError;
use crate::libraries;
use os::arch::Arch;
use std::path::{Path, PathBuf};

/// Its name. It makes the kind of file system that it is called by.
const NAME: &str = "mkfs.ext4";

/// The folders of the host in which it is looked for. The first is its folder in a guest.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Its defaults, which fit its version.
const DEFAULTS: &str = "/etc/mke2fs.conf";

/// A file of the host for a guest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HostFile {
    /// Its path on the host.
    pub from: PathBuf,
    /// Its path in the guest.
    pub to: PathBuf,
    /// Whether it is a program or a library.
    pub is_program: bool,
}

/// The program with its libraries and its defaults. None of them if the host has no such program
/// for this architecture.
pub(crate) fn files(arch: Arch) -> Result<Vec<HostFile>, GuestError> {
    match find(&FOLDERS.map(Path::new), arch) {
        Some(program) => with_libraries(program, Path::new(DEFAULTS)),
        None => Ok(Vec::new()),
    }
}

/// The program in the first of these folders that has it for this architecture. For root, one that
/// another user could have put there does not count.
fn find(folders: &[&Path], arch: Arch) -> Option<PathBuf> {
    let mut found = folders.iter().map(|folder| folder.join(NAME));
    found.find(|path| {
        host::program::check(path).is_ok() && libraries::arch_of(path).is_ok_and(|of| of == arch)
    })
}

fn with_libraries(program: PathBuf, defaults: &Path) -> Result<Vec<HostFile>, GuestError> {
    let libraries = libraries::needed_by(&program, "install e2fsprogs again")?;
    let same_path = |from: PathBuf, is_program| HostFile { to: from.clone(), from, is_program };
    let to = Path::new(FOLDERS[0]).join(NAME);
    let mut files = vec![HostFile { from: program, to, is_program: true }];
    files.extend(libraries.into_iter().map(|library| same_path(library, true)));
    files.extend(defaults.is_file().then(|| same_path(defaults.to_owned(), false)));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_name_is_found_for_its_architecture_alone() {
        let place = tempfile::tempdir().unwrap();
        let folders = ["none", "text", "program"].map(|name| place.path().join(name));
        let [_, text, program] = &folders;
        for folder in [text, program] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(text.join(NAME), "#!/bin/sh\n").unwrap();
        let mut header = vec![0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        header[18] = 183;
        std::fs::write(program.join(NAME), header).unwrap();
        let found = |arch| find(&folders.each_ref().map(PathBuf::as_path), arch);
        assert_eq!(found(Arch::Aarch64), Some(program.join(NAME)));
        assert_eq!(found(Arch::X86_64), None);
        assert!(find(&[], Arch::Aarch64).is_none());
    }

    #[test]
    fn it_comes_under_its_name_with_its_libraries_and_its_defaults() {
        let place = tempfile::tempdir().unwrap();
        let defaults = place.path().join("mke2fs.conf");
        let own = std::env::current_exe().unwrap();
        let without = with_libraries(own.clone(), &defaults).unwrap();
        assert_eq!((&without[0].from, without[0].to.to_str()), (&own, Some("/usr/sbin/mkfs.ext4")));
        assert!(without.iter().all(|file| file.is_program && file.from.is_file()));
        assert!(without[1..].iter().all(|file| file.from == file.to));
        std::fs::write(&defaults, "[defaults]\n").unwrap();
        let with = with_libraries(own, &defaults).unwrap();
        assert_eq!(with.len(), without.len() + 1);
        let last = HostFile { from: defaults.clone(), to: defaults, is_program: false };
        assert_eq!(with.last(), Some(&last));
    }
}
