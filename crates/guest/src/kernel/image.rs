//! Determines what a file is, before QEMU is asked to boot it, and unpacks it for QEMU.
//!
//! The header of an x86 kernel is defined in Linux, Documentation/arch/x86/boot.rst, and that of
//! an arm64 kernel in Documentation/arch/arm64/booting.rst. An arm64 kernel may be compressed
//! with gzip, or be an EFI program with a compressed kernel in it
//! (drivers/firmware/efi/libstub/zboot-header.S).

use crate::error::GuestError;
use flate2::read::GzDecoder;
use os::arch::Arch;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Number of bytes that are read from a file: the header and, on x86, the release that it points
/// to.
const START: u64 = 64 << 10;

/// The largest kernel image, in bytes, as a file and unpacked.
pub(crate) const MOST: u64 = 256 << 20;

const BOOT_FLAG: usize = 0x1fe;
const HEADER_MAGIC: usize = 0x202;
const VERSION_POINTER: usize = 0x20e;
const XLOADFLAGS: usize = 0x236;

/// Header flag: the kernel can be entered in 64-bit mode.
const ENTERS_IN_64_BITS: u8 = 1;

/// The header of a gzip stream.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// An EFI program with a compressed kernel: where its mark, the place and the length of that
/// kernel, and the name of the compression are.
const ZBOOT_MARK: usize = 4;
const ZBOOT_PLACE: usize = 8;
const ZBOOT_LENGTH: usize = 12;
const ZBOOT_COMPRESSION: usize = 24;

/// The text before the release in an unpacked kernel.
const BANNER: &[u8] = b"Linux version ";

/// Checks that a file is a kernel for this architecture. Returns its release.
///
/// # Errors
/// If it is not such a kernel, with what it is instead; or if it cannot be read.
pub fn check(path: &Path, arch: Arch) -> Result<String, GuestError> {
    let not = |why: String| GuestError::NotKernel { path: path.to_owned(), why };
    let found = match sort(&read(path, START)?) {
        // Its release is somewhere in the unpacked kernel.
        Sort::Packed | Sort::Kernel(Arch::Aarch64, _) => {
            sort(&unpacked(read(path, MOST)?).map_err(not)?)
        }
        found => found,
    };
    let foreign = |arch: &'static str| GuestError::WrongArch { path: path.to_owned(), arch };
    match found {
        Sort::Kernel(of, release) if of == arch => {
            Ok(release.unwrap_or_else(|| "unknown".to_owned()))
        }
        Sort::Kernel(of, _) => Err(foreign(of.debian())),
        Sort::Foreign(of) => Err(foreign(of)),
        Sort::Packed => Err(not("a packed kernel in a packed kernel".to_owned())),
        Sort::Other(why) => Err(not(why.to_owned())),
    }
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, GuestError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|source| GuestError::File { path: path.to_owned(), source })?;
    Ok(bytes)
}

/// The kernel in this form: QEMU loads it as it is. Versions of QEMU differ in which packed
/// kernels they know.
///
/// # Errors
/// What it is packed with, if that cannot be unpacked.
pub(crate) fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if bytes.starts_with(GZIP) {
        return gunzip(&bytes);
    }
    let Some(compression) = zboot(&bytes) else { return Ok(bytes) };
    if compression != b"gzip" {
        let name = String::from_utf8_lossy(compression);
        return Err(format!(
            "an EFI program with a kernel packed by {}, which is not unpacked here; name the \
             Image that it was made of",
            os::terminal::line(&name)
        ));
    }
    let word = |at: usize| -> Option<usize> {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(word)).ok()
    };
    let kernel = word(ZBOOT_PLACE).zip(word(ZBOOT_LENGTH));
    let kernel = kernel.and_then(|(at, length)| bytes.get(at..at.checked_add(length)?));
    gunzip(kernel.ok_or("an EFI program whose kernel is cut off")?)
}

/// The name of the compression in an EFI program with a compressed kernel.
fn zboot(bytes: &[u8]) -> Option<&[u8]> {
    let mark = bytes.starts_with(b"MZ") && bytes.get(ZBOOT_MARK..ZBOOT_MARK + 4)? == b"zimg";
    let name = bytes.get(ZBOOT_COMPRESSION..ZBOOT_COMPRESSION + 32)?;
    mark.then(|| name.split(|byte| *byte == 0).next().unwrap_or_default())
}

fn gunzip(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // Bytes may follow the stream: the kernel's build appends the unpacked length.
    let read = GzDecoder::new(packed).take(MOST).read_to_end(&mut bytes);
    read.map_err(|error| format!("a damaged gzip file: {error}"))?;
    Ok(bytes)
}

/// The kind of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A kernel, with its release if that is in these bytes.
    Kernel(Arch, Option<String>),
    /// Perhaps a kernel, after unpacking.
    Packed,
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
            _ => Sort::Kernel(Arch::X86_64, pointed_release(start)),
        };
    }
    if at(56, b"ARM\x64") {
        return Sort::Kernel(Arch::Aarch64, banner_release(start));
    }
    if start.starts_with(GZIP) || zboot(start).is_some() {
        return Sort::Packed;
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

/// The first word of the version string that the header of an x86 kernel points to.
fn pointed_release(start: &[u8]) -> Option<String> {
    let pointer = start.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let at = usize::from(u16::from_le_bytes([pointer[0], pointer[1]])) + 0x200;
    word(start.get(at..)?)
}

/// The word after the first banner that has a number there. The kernel's code also has the banner
/// as a format.
fn banner_release(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    loop {
        let at = rest.windows(BANNER.len()).position(|text| text == BANNER)?;
        rest = &rest[at + BANNER.len()..];
        if rest.first()?.is_ascii_digit() {
            return word(rest);
        }
    }
}

/// The word at the start of these bytes.
fn word(bytes: &[u8]) -> Option<String> {
    let text: Vec<u8> =
        bytes.iter().copied().take(200).take_while(|byte| byte.is_ascii_graphic()).collect();
    String::from_utf8(text).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    /// The start of an x86 kernel with this release.
    fn bzimage(release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[BOOT_FLAG..BOOT_FLAG + 2].copy_from_slice(&[0x55, 0xaa]);
        bytes[HEADER_MAGIC..HEADER_MAGIC + 4].copy_from_slice(b"HdrS");
        bytes[VERSION_POINTER..VERSION_POINTER + 2].copy_from_slice(&0x100u16.to_le_bytes());
        bytes[XLOADFLAGS] = 0x3f;
        bytes.splice(0x300..0x300 + release.len(), release.bytes());
        bytes
    }

    /// An arm64 kernel with this release.
    fn arm_image(release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x100];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[56..60].copy_from_slice(b"ARM\x64");
        bytes.extend(b"Linux version %s\0Linux version ");
        bytes.extend(release.bytes());
        bytes.extend(b" (debian-kernel@lists.debian.org)\0");
        bytes
    }

    /// A kernel for this architecture, with this release.
    pub(crate) fn kernel(arch: Arch, release: &str) -> Vec<u8> {
        match arch {
            Arch::X86_64 => bzimage(release),
            Arch::Aarch64 => arm_image(release),
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    /// An EFI program with a kernel that is packed in this way.
    fn efi_program(packed: &[u8], compression: &str) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..8].copy_from_slice(b"MZ\0\0zimg");
        bytes[8..12].copy_from_slice(&64u32.to_le_bytes());
        bytes[12..16].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        bytes.splice(24..24 + compression.len(), compression.bytes());
        bytes.extend(packed);
        bytes.extend(b"what follows it");
        bytes
    }

    /// What is found in a file with these bytes.
    fn checked(bytes: &[u8], arch: Arch) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        check(file.path(), arch).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kernel_tells_its_release() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let bytes = kernel(arch, "6.1.0-56-cloud");
            assert_eq!(sort(&bytes), Sort::Kernel(arch, Some("6.1.0-56-cloud".into())));
            assert_eq!(checked(&bytes, arch).unwrap(), "6.1.0-56-cloud");
        }
        assert_eq!(checked(&bzimage(""), Arch::X86_64).unwrap(), "unknown");
    }

    #[test]
    fn a_kernel_for_another_architecture_is_refused() {
        let (x86, arm) = (bzimage("6.1.0"), arm_image("6.1.0"));
        let refusal = |bytes: &[u8], arch| checked(bytes, arch).unwrap_err();
        assert!(refusal(&arm, Arch::X86_64).contains("a kernel for arm64"));
        assert!(refusal(&gzip(&arm), Arch::X86_64).contains("a kernel for arm64"));
        assert!(refusal(&x86, Arch::Aarch64).contains("a kernel for amd64"));
    }

    #[test]
    fn a_packed_kernel_is_unpacked() {
        let kernel = arm_image("6.18.15+deb13-cloud-arm64");
        for packed in [gzip(&kernel), efi_program(&gzip(&kernel), "gzip")] {
            assert_eq!(sort(&packed), Sort::Packed);
            assert_eq!(unpacked(packed.clone()).unwrap(), kernel);
            assert_eq!(checked(&packed, Arch::Aarch64).unwrap(), "6.18.15+deb13-cloud-arm64");
        }
        let other = checked(&efi_program(b"", "zstd22"), Arch::Aarch64).unwrap_err();
        assert!(other.contains("packed by zstd22"), "{other}");
        let mut cut = efi_program(&gzip(&kernel), "gzip");
        cut.truncate(80);
        assert!(checked(&cut, Arch::Aarch64).unwrap_err().contains("cut off"));
        assert!(checked(&gzip(&gzip(&kernel)), Arch::Aarch64).is_err());
        assert!(checked(&gzip(b"text"), Arch::Aarch64).is_err());
    }

    #[test]
    fn other_files_are_told_apart() {
        let mut narrow = bzimage("6.1.0");
        narrow[XLOADFLAGS] = 0;
        assert_eq!(sort(&narrow), Sort::Foreign("32-bit x86"));
        for bytes in [&b""[..], b"\x7fELF\x02", b"#!/bin/sh\n", &[0; 4096]] {
            assert!(matches!(sort(bytes), Sort::Other(_)));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..700), cut in 0usize..0x400,
        ) {
            let _ = (sort(&noise), unpacked(noise.clone()));
            for mut kernel in [bzimage("6.1"), arm_image("6.1"), efi_program(&noise, "gzip")] {
                kernel.truncate(cut);
                let _ = (sort(&kernel), unpacked(kernel.clone()));
                kernel.extend(&noise);
                let _ = (sort(&kernel), unpacked(kernel));
            }
        }
    }
}
