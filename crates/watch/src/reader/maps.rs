//! To which file an address of a node belongs.

use host::MappedFile;
use model::live::{Code, Place};
use os::terminal;
use serde::{Deserialize, Serialize};

/// Most executable mappings that are kept of a process; a busy node has some hundred.
const MOST: usize = 1_024;

/// The longest path that is kept, in characters. A mapping with a longer path is left out.
const LONGEST: usize = 512;

/// An executable mapping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mapping {
    file: MappedFile,
    /// The offset in its file at which it begins.
    offset: u64,
    code: Whose,
}

/// Whose code a mapping holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Whose {
    Vm,
    /// The C library, and what every program has. What counts is who called it.
    System,
    /// Code that the VM has compiled.
    Erlang,
    Library,
}

/// The executable mappings of a process, sorted by their start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maps(Vec<Mapping>);

/// What an address belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Code of the VM, code that the VM compiled, or code that is not known.
    Plain(Place),
    /// In a library, at this offset of its file.
    Library(MappedFile, u64),
}

impl Maps {
    /// Reads the text of `maps`.
    pub fn read(text: &str) -> Self {
        let mut all: Vec<Mapping> = text.lines().filter_map(mapping).take(MOST).collect();
        all.sort_by_key(|mapping| mapping.file.from);
        Maps(all)
    }

    /// Whether an address lies in any of them.
    pub fn knows(&self, address: u64) -> bool {
        self.at(address).is_some()
    }

    /// Whose code a thread is in. If the address belongs to the C library or to no mapping, the
    /// innermost word of the stack that leads somewhere else decides.
    pub fn tell(&self, address: u64, stack: &[u64]) -> Told {
        let unknown = || Told::Plain(Place::default());
        let first = self.at(address).filter(|mapping| mapping.code != Whose::System);
        let called = || stack.iter().filter_map(|word| Some((self.at(*word)?, *word)));
        let mut others = called().filter(|(mapping, _)| mapping.code != Whose::System);
        let Some((mapping, address)) = first.map(|it| (it, address)).or_else(|| others.next())
        else {
            return unknown();
        };
        let plain = |code| Told::Plain(Place { code, ..Place::default() });
        match mapping.code {
            Whose::Vm => plain(Code::Vm),
            Whose::Erlang => plain(Code::Erlang),
            Whose::System => unknown(),
            Whose::Library => {
                let offset = (address - mapping.file.from).saturating_add(mapping.offset);
                Told::Library(mapping.file.clone(), offset)
            }
        }
    }

    fn at(&self, address: u64) -> Option<&Mapping> {
        let behind = self.0.partition_point(|mapping| mapping.file.from <= address);
        let last = self.0.get(behind.checked_sub(1)?)?;
        (address < last.file.to).then_some(last)
    }
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (from, to) = (number(from)?, number(to)?);
    if words.next()?.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let offset = number(words.next()?)?;
    let inode = words.nth(1)?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start();
    if to <= from || path.chars().nth(LONGEST).is_some() {
        return None;
    }
    let file = MappedFile { from, to, inode, path: path.to_owned() };
    Some(Mapping { file, offset, code: whose(path) })
}

fn whose(path: &str) -> Whose {
    const SYSTEM: [&str; 6] = ["libc.", "libc-", "ld-", "libpthread", "libm.", "libgcc_s"];
    if path.starts_with('[') {
        return Whose::System;
    }
    // What the VM compiles is in memory without a name, or in a memory file.
    if !path.starts_with('/') || path.starts_with("/memfd:") || path.starts_with("/dev/zero") {
        return Whose::Erlang;
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        name if name.starts_with("beam.") => Whose::Vm,
        name if SYSTEM.iter().any(|system| name.starts_with(system)) => Whose::System,
        _ => Whose::Library,
    }
}

/// The name of a library's file.
pub fn file_name(file: &MappedFile) -> String {
    terminal::line(file.path.rsplit('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &str = "1000-2000 r-xp 00000000 fe:00 12 /usr/lib/erts/bin/beam.smp\n\
        2000-3000 rw-p 00000000 fe:00 12 /usr/lib/erts/bin/beam.smp\n\
        3000-4000 r-xp 00000000 00:00 0 \n\
        4000-5000 r-xp 00001000 fe:00 13                         /opt/my app/nif.so\n\
        5000-6000 r-xp 00000000 fe:00 14 /lib/libc.so.6\n";

    #[test]
    fn code_is_told_by_address_and_the_c_librarys_by_who_called_it() {
        let maps = Maps::read(MAPS);
        let code = |address, stack: &[u64]| match maps.tell(address, stack) {
            Told::Plain(place) => place.code,
            Told::Library(..) => Code::Library,
        };
        assert_eq!(code(0x1800, &[]), Code::Vm);
        assert_eq!(code(0x3800, &[]), Code::Erlang);
        assert_eq!(code(0x2800, &[]), Code::Unknown);
        assert_eq!(code(0x5800, &[7, 0x2100, 0x5100, 0x4010, 0x1800]), Code::Library);
        assert_eq!(code(0x5800, &[0x1800, 0x4010]), Code::Vm);
        let Told::Library(file, offset) = maps.tell(0x4010, &[]) else { panic!() };
        assert_eq!((file_name(&file).as_str(), offset), ("nif.so", 0x1010));
        assert!(maps.knows(0x1000) && !maps.knows(0x6000));
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in ".{0,200}", address in any::<u64>()) {
            Maps::read(&text).tell(address, &[address]);
        }
    }
}
