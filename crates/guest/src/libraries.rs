//! The shared libraries of a dynamically linked program.

use crate::error::GuestError;
use host::tool::Tool;
use os::arch::Arch;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Type of the program header with the interpreter's path.
const PT_INTERP: u32 = 3;

/// Number of bytes that are read from a program: its headers and the interpreter's path.
const START: u64 = 64 << 10;

/// The architecture of a program that is to run in a guest.
///
/// # Errors
/// If the file cannot be read, or is no program for an architecture that tailback is built for.
pub fn arch_of(program: &Path) -> Result<Arch, GuestError> {
    let start = os::file::read_start(program, START)
        .map_err(|source| GuestError::File { path: program.to_owned(), source })?;
    Arch::of_program(&start).ok_or_else(|| GuestError::NotProgram { path: program.to_owned() })
}

/// The interpreter and the libraries of a program. Empty for a static program. `help` says what to
/// do if there is no such interpreter.
pub(crate) fn needed_by(program: &Path, help: &'static str) -> Result<Vec<PathBuf>, GuestError> {
    let failed = |source| GuestError::File { path: program.to_owned(), source };
    let mut start = Vec::new();
    File::open(program).and_then(|f| f.take(START).read_to_end(&mut start)).map_err(failed)?;
    let Some(interpreter) = interpreter(&start) else { return Ok(Vec::new()) };
    let mut loader = Tool::new(interpreter.display().to_string(), help);
    // The real path: /proc/self/exe would mean the loader itself when the loader opens it.
    let program = std::fs::canonicalize(program).map_err(failed)?;
    let listed = loader.arg("--list").arg(&program).run(Duration::from_secs(20), &|| false)?;
    let mut found: Vec<PathBuf> = listed.lines().filter_map(library).collect();
    found.push(interpreter);
    Ok(found)
}

/// The library in a line such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)`.
pub(crate) fn library(line: &str) -> Option<PathBuf> {
    let (_, to) = line.split_once("=> ")?;
    let path = to.split(" (").next()?.trim();
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// The interpreter path of a program.
pub(crate) fn interpreter(start: &[u8]) -> Option<PathBuf> {
    let word = |at: usize, bytes: usize| -> Option<u64> {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(start.get(at..at.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(word))
    };
    if start.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let table = usize::try_from(word(0x20, 8)?).ok()?;
    let size = word(0x36, 2)? as usize;
    let count = word(0x38, 2)? as usize;
    let headers = (0..count).map(|i| table.saturating_add(i * size));
    let header = headers.into_iter().find(|at| word(*at, 4) == Some(u64::from(PT_INTERP)))?;
    let from = usize::try_from(word(header.checked_add(8)?, 8)?).ok()?;
    let length = usize::try_from(word(header.checked_add(0x20)?, 8)?).ok()?;
    let path = start.get(from..from.checked_add(length)?)?;
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    Some(PathBuf::from(String::from_utf8(path.to_vec()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_test_has_what_it_was_linked_with() {
        let own = std::env::current_exe().unwrap();
        let found = needed_by(&own, "link it statically").unwrap();
        // A static test has none; a dynamic one has at least the C library and its loader.
        assert!(found.is_empty() || found.len() >= 2, "{found:?}");
        assert!(found.iter().all(|path| path.is_file()), "{found:?}");
    }

    #[test]
    fn a_line_of_the_loader_is_read() {
        assert_eq!(library("\tlibc.so.6 => /lib/libc.so.6 (0x7f)"), Some("/lib/libc.so.6".into()));
        assert_eq!(library("\tlinux-vdso.so.1 (0x7ffc)"), None);
        assert_eq!(library("\tx.so => not found"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = interpreter(&bytes);
            bytes.splice(0..bytes.len().min(5), *b"\x7fELF\x02");
            let _ = interpreter(&bytes);
        }
    }
}
