//! The architectures that tailback is built for, and their names.

/// An architecture of a machine or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// The machine type of an ELF file, by architecture.
const MACHINES: [(u16, Arch); 2] = [(62, Arch::X86_64), (183, Arch::Aarch64)];

impl Arch {
    /// The architecture of this program. On an architecture that is not in the list, guests and
    /// packages are those of x86_64.
    pub const OWN: Arch = if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 };

    /// Its name in the kernel, as `uname -m` prints it.
    pub const fn word(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        }
    }

    /// Its name in Debian.
    pub const fn debian(self) -> &'static str {
        match self {
            Arch::X86_64 => "amd64",
            Arch::Aarch64 => "arm64",
        }
    }

    /// The folder for its libraries on Debian, below `/usr/lib`.
    pub const fn libraries(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64-linux-gnu",
            Arch::Aarch64 => "aarch64-linux-gnu",
        }
    }

    /// The file name of the loader of its dynamically linked programs, with glibc.
    pub const fn loader(self) -> &'static str {
        match self {
            Arch::X86_64 => "ld-linux-x86-64.so.2",
            Arch::Aarch64 => "ld-linux-aarch64.so.1",
        }
    }

    /// The architecture of a 64-bit ELF program that starts with these bytes. None if it is no
    /// such program, or one for another architecture.
    pub fn of_program(start: &[u8]) -> Option<Arch> {
        if start.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let machine = start.get(18..20)?;
        let machine = u16::from_le_bytes([machine[0], machine[1]]);
        MACHINES.iter().find(|(number, _)| *number == machine).map(|(_, arch)| *arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_of_its_own_architecture() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        let known = Arch::OWN.word() == std::env::consts::ARCH;
        assert_eq!(Arch::of_program(&program), known.then_some(Arch::OWN));
    }

    #[test]
    fn programs_are_told_apart_by_their_header() {
        let header = |class: u8, order: u8, machine: u16| {
            let mut bytes = vec![0; 64];
            bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
            bytes[18..20].copy_from_slice(&machine.to_le_bytes());
            Arch::of_program(&bytes)
        };
        assert_eq!(header(2, 1, 62), Some(Arch::X86_64));
        assert_eq!(header(2, 1, 183), Some(Arch::Aarch64));
        assert_eq!([header(1, 1, 183), header(2, 2, 183), header(2, 1, 243)], [None; 3]);
        for short in [&b""[..], b"\x7fELF\x02\x01", b"#!/bin/sh\n"] {
            assert_eq!(Arch::of_program(short), None);
        }
    }
}
