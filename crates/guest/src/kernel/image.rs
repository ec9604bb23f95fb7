//! Determines what a file is, before QEMU is asked to boot it.
//!
//! The header of an x86 kernel is defined in Linux, Documentation/arch/x86/boot.rst.

use crate::error::GuestError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Number of bytes that are read from a file: the header and the release that it points to.
const START: u64 = 64 << 10;

const BOOT_FLAG: usize = 0x1fe;
const HEADER_MAGIC: usize = 0x202;
const VERSION_POINTER: usize = 0x20e;
const XLOADFLAGS: usize = 0x236;

/// Header flag: the kernel can be entered in 64-bit mode.
const ENTERS_IN_64_BITS: u8 = 1;

/// Checks that a file is a kernel that this machine can boot. Returns its release.
///
/// # Errors
/// If it is not such a kernel, with what it is instead; or if it cannot be read.
pub fn check(path: &Path) -> Result<String, GuestError> {
    let file = |source| GuestError::File { path: path.to_owned(), source };
    let mut start = Vec::new();
    File::open(path).and_then(|f| f.take(START).read_to_end(&mut start)).map_err(file)?;
    let sort = sort(&start);
    match sort {
        Sort::Kernel(release) => Ok(release),
        Sort::Foreign(arch) => Err(GuestError::WrongArch { path: path.to_owned(), arch }),
        Sort::Other(why) => {
            Err(GuestError::NotKernel { path: path.to_owned(), why: why.to_owned() })
        }
    }
}

/// The kind of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Kernel(String),
    Foreign(&'static str),
    Other(&'static str),
}

/// The kind of a file that starts with these bytes.
pub(crate) fn sort(start: &[u8]) -> Sort {
    let at = |offset: usize, bytes: &[u8]| start.get(offset..offset + bytes.len()) == Some(bytes);
    if at(HEADER_MAGIC, b"HdrS") && at(BOOT_FLAG, &[0x55, 0xaa]) {
        let flags = start.get(XLOADFLAGS).copied().unwrap_or(0);
        return match flags & ENTERS_IN_64_BITS {
            0 => Sort::Foreign("32-bit x86"),
            _ => Sort::Kernel(release(start).unwrap_or_else(|| "unknown".to_owned())),
        };
    }
    if at(56, b"ARM\x64") {
        return Sort::Foreign("arm64");
    }
    if at(48, b"RISCV") {
        return Sort::Foreign("riscv");
    }
    if at(0, b"\x7fELF") {
        return Sort::Other("an ELF file such as vmlinux, not a bzImage");
    }
    Sort::Other(match start.is_empty() {
        true => "an empty file",
        false => "not a kernel: it has no boot header",
    })
}

/// The first word of the version string that the header points to.
fn release(start: &[u8]) -> Option<String> {
    let pointer = start.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let at = usize::from(u16::from_le_bytes([pointer[0], pointer[1]])) + 0x200;
    let text: Vec<u8> = start
        .get(at..)?
        .iter()
        .copied()
        .take(200)
        .take_while(|byte| byte.is_ascii_graphic())
        .collect();
    String::from_utf8(text).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The start of a kernel with this release.
    pub(crate) fn bzimage(release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[BOOT_FLAG..BOOT_FLAG + 2].copy_from_slice(&[0x55, 0xaa]);
        bytes[HEADER_MAGIC..HEADER_MAGIC + 4].copy_from_slice(b"HdrS");
        bytes[VERSION_POINTER..VERSION_POINTER + 2].copy_from_slice(&0x100u16.to_le_bytes());
        bytes[XLOADFLAGS] = 0x3f;
        bytes.splice(0x300..0x300 + release.len(), release.bytes());
        bytes
    }

    #[test]
    fn a_kernel_tells_its_release() {
        assert_eq!(sort(&bzimage("6.1.0-56-cloud")), Sort::Kernel("6.1.0-56-cloud".into()));
    }

    #[test]
    fn other_files_are_told_apart() {
        let mut narrow = bzimage("6.1.0");
        narrow[XLOADFLAGS] = 0;
        assert_eq!(sort(&narrow), Sort::Foreign("32-bit x86"));
        let mut arm = vec![0; 64];
        arm[56..60].copy_from_slice(b"ARM\x64");
        assert_eq!(sort(&arm), Sort::Foreign("arm64"));
        for bytes in [&b""[..], b"\x7fELF\x02", b"#!/bin/sh\n", &[0; 4096]] {
            assert!(matches!(sort(bytes), Sort::Other(_)));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..700), cut in 0usize..0x400,
        ) {
            let _ = sort(&noise);
            let mut kernel = bzimage("6.1");
            kernel.truncate(cut);
            let _ = sort(&kernel);
            kernel.extend(noise);
            let _ = sort(&kernel);
        }
    }
}
