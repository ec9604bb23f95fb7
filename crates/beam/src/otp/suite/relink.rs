//! Makes a program use its own loader and libraries.
//!
//! The kernel starts the loader at the full path in the program. The program also contains the
//! path of the libraries that the loader uses. This is DT_RPATH, not DT_RUNPATH, since DT_RPATH
//! also applies to the libraries of libraries, and to those that the VM opens later.

use debian::{DebianError, failed};
use object::build::elf::Builder;
use object::elf::PT_INTERP;
use object_rewrite::Rewriter;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The path from a program in `erlang/erts-VERSION/bin` to the libraries of its root.
const LIBRARIES: &[u8] = b"$ORIGIN/../../../lib";

/// Longest loader path that the kernel accepts.
const LONGEST: usize = 4095;

/// Makes a program use this loader and the libraries of its root. A file that is no program is
/// not changed.
pub(super) fn relink(program: &Path, loader: &Path) -> Result<(), DebianError> {
    let bytes = fs::read(program).map_err(|source| failed(program, source))?;
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(());
    }
    let torn = |why: String| DebianError::Torn { path: program.to_owned(), why };
    let loader = loader.as_os_str().as_bytes();
    if loader.len() > LONGEST {
        return Err(torn("the path of the cache is too long for the kernel".to_owned()));
    }
    let changed = changed(&bytes, loader).map_err(|error| torn(error.to_string()))?;
    if let Some(changed) = changed {
        let whole = name_all(&changed).map_err(|error| torn(error.to_string()))?;
        fs::write(program, whole).map_err(|source| failed(program, source))?;
    }
    Ok(())
}

/// The program with another loader; None if it has none.
fn changed(bytes: &[u8], loader: &[u8]) -> Result<Option<Vec<u8>>, object_rewrite::Error> {
    let mut rewriter = Rewriter::read(bytes)?;
    if rewriter.elf_interpreter().is_none() {
        return Ok(None);
    }
    rewriter.elf_set_interpreter(loader.to_vec())?;
    rewriter.elf_set_runpath(LIBRARIES.to_vec())?;
    rewriter.elf_use_rpath()?;
    let mut changed = Vec::new();
    rewriter.write(&mut changed)?;
    Ok(Some(changed))
}

/// The program with a header that contains the whole loader path. If a longer path fits into the
/// gap after the old one, the rewriter writes it there, but leaves the old length in the header.
fn name_all(bytes: &[u8]) -> object::build::Result<Vec<u8>> {
    let mut program = Builder::read(bytes)?;
    let interp = program.interp_section();
    let length = interp.map(|id| program.sections.get(id).sh_size);
    let named = program.segments.iter_mut().find(|segment| segment.p_type == PT_INTERP);
    if let (Some(segment), Some(length)) = (named, length) {
        (segment.p_filesz, segment.p_memsz) = (length, length);
    }
    let mut whole = Vec::new();
    program.write(&mut whole)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::Endianness;
    use object::elf::FileHeader64;
    use object::read::elf::{FileHeader, ProgramHeader};

    /// The loader path as the kernel reads it, from the program's header.
    fn loader_of(bytes: &[u8]) -> Vec<u8> {
        let header: &FileHeader64<Endianness> = FileHeader64::parse(bytes).unwrap();
        let endian = header.endian().unwrap();
        let mut headers = header.program_headers(endian, bytes).unwrap().iter();
        headers.find_map(|one| one.interpreter(endian, bytes).unwrap()).unwrap().to_vec()
    }

    #[test]
    fn a_program_names_the_loader_and_the_libraries_of_its_root() {
        let bytes = fs::read("/bin/sh").unwrap();
        if Rewriter::read(&bytes[..]).unwrap().elf_interpreter().is_none() {
            return testing::skipped("/bin/sh is linked statically");
        }
        // Some of these lengths fit into the gap after the old path, and some do not.
        for length in 20..200 {
            let loader = format!("/a/{}/ld.so", "l".repeat(length));
            let new = changed(&bytes, loader.as_bytes()).unwrap().unwrap();
            let new = name_all(&new).unwrap();
            assert_eq!(loader_of(&new), loader.as_bytes());
            assert_eq!(Rewriter::read(&new[..]).unwrap().elf_runpath().unwrap(), LIBRARIES);
        }
    }

    #[test]
    fn a_script_stays_as_it_is_and_a_torn_program_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        relink(&file, Path::new("/ld.so")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "#!/bin/sh\n");
        fs::write(&file, b"\x7fELF torn").unwrap();
        assert!(matches!(relink(&file, Path::new("/l")), Err(DebianError::Torn { .. })));
    }
}
