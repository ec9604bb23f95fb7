//! Names of functions in a library.

use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use os::terminal;
use rustix::fs::OFlags;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The largest file whose tables are read, in bytes.
const MOST_BYTES: u64 = 256 << 20;

/// Functions of a file that are kept at most.
const MOST: usize = 200_000;

/// Functions of a file, by where they stand in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols(Vec<(u64, u64, String)>);

impl Symbols {
    /// Of a file; none where it has none, or is no program.
    pub fn read(path: &Path) -> Self {
        open(path).map(|file| Symbols::of(&ReadCache::new(file))).unwrap_or_default()
    }

    fn of<'data>(file: impl ReadRef<'data>) -> Self {
        let Ok(file) = object::File::parse(file) else { return Symbols::default() };
        let in_file = |address: u64| {
            file.segments().find_map(|segment| {
                let within = address.checked_sub(segment.address())?;
                let (offset, size) = segment.file_range();
                (within < size).then(|| offset.saturating_add(within))
            })
        };
        let both = file.symbols().chain(file.dynamic_symbols());
        let functions = both.filter(|one| one.kind() == SymbolKind::Text && one.size() > 0);
        let named = functions.filter_map(|one| {
            let name = one.name().ok().filter(|name| !name.is_empty())?;
            Some((in_file(one.address())?, one.size(), terminal::line(name)))
        });
        let mut all: Vec<_> = named.take(MOST).collect();
        all.sort();
        Symbols(all)
    }

    /// The function at an offset of the file.
    pub fn at(&self, offset: u64) -> Option<&str> {
        let behind = self.0.partition_point(|(from, ..)| *from <= offset);
        let (from, size, name) = self.0.get(behind.checked_sub(1)?)?;
        (offset - from < *size).then_some(name.as_str())
    }
}

/// Opens a file, if it is one: a process may have put anything where its library was.
fn open(path: &Path) -> Option<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = flags.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let about = file.metadata().ok()?;
    (about.is_file() && about.len() <= MOST_BYTES).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_of_this_very_program_are_named() {
        let all = Symbols::read(Path::new("/proc/self/exe"));
        let (from, size, name) = all.0.iter().find(|one| one.1 > 4).unwrap();
        assert_eq!(all.at(from + size - 1).is_some(), !name.is_empty());
        assert_eq!(all.at(u64::MAX), None);
        assert_eq!(Symbols::read(Path::new("/dev/zero")), Symbols::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let elf = [&b"\x7fELF\x02\x01\x01"[..], &bytes].concat();
            Symbols::of(bytes.as_slice()).at(0);
            Symbols::of(elf.as_slice()).at(1);
        }
    }
}
