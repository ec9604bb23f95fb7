//! Finds functions in a program's file. The file is untrusted: anybody may have made it.
//!
//! The number of bytes read is bounded, whatever the file says. Only the names that were asked
//! for are kept, and the work grows only with the number of symbols.

use object::elf::{FileHeader64, STT_GNU_IFUNC};
pub use object::read::ReadCacheOps;
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolFlags, SymbolKind,
};
use os::terminal;
use std::cell::Cell;
use std::ops::Range;

/// Most bytes that are read of a file; the tables of the largest known programs fit.
const MOST_BYTES: u64 = 160 << 20;

/// Most symbols that are examined in each of the two symbol tables.
const MOST_SYMBOLS: usize = 1_000_000;

/// Cost of reading a name, in bytes beside its length, since the cache keeps each name.
const NAME_COST: u64 = 64;

/// Most segments of a file; linkers make about a dozen.
const MOST_SEGMENTS: usize = 256;

/// Most functions of one name that are listed. A library has one for each version of a name.
const MOST_VERSIONS: usize = 16;

/// The longest name of a function that is kept, in characters.
const LONGEST: usize = 80;

/// Bytes at the start of a program that are read to see whether Go's linker made it; its headers
/// and notes are there.
pub const START: u64 = 16_384;

/// The name and the type of the note with the build id of a program in Go.
const GO_NOTE: (&[u8], u32) = (b"Go", 4);

/// Where a function is searched in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// Bytes from the beginning of the file.
    InFile(u64),
    /// Bytes from the beginning of the code in memory.
    InCode(u64),
}

/// The functions of one name in a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The offsets in the file at which they begin; empty if there is no such function.
    At(Vec<u64>),
    /// The name stands for a function that only chooses the one that is called.
    Chooses,
}

/// A file with a limit on the bytes that are read from it in total.
struct Bounded<R: ReadCacheOps> {
    file: ReadCache<R>,
    left: Cell<u64>,
}

impl<R: ReadCacheOps> Bounded<R> {
    fn new(file: R) -> Self {
        Bounded { file: ReadCache::new(file), left: Cell::new(MOST_BYTES) }
    }

    fn spend(&self, bytes: u64) -> Result<(), ()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

impl<'a, R: ReadCacheOps> ReadRef<'a> for &'a Bounded<R> {
    fn len(self) -> Result<u64, ()> {
        ReadRef::len(&self.file)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.spend(size)?;
        self.file.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let bytes = self.file.read_bytes_at_until(range, delimiter)?;
        self.spend(bytes.len() as u64 + NAME_COST)?;
        Ok(bytes)
    }
}

/// The names of the functions at `places` of a file, in the order of `places`. An element is None
/// if there is no function, or if the file is no program.
pub fn functions<R: ReadCacheOps>(file: R, places: &[Offset]) -> Vec<Option<String>> {
    let file = Bounded::new(file);
    names(&file, places).unwrap_or_else(|| vec![None; places.len()])
}

/// Where the functions `name` begin in a library's file.
pub fn named<R: ReadCacheOps>(file: R, name: &str) -> Named {
    let file = Bounded::new(file);
    offsets(&file, name).unwrap_or_else(|| Named::At(Vec::new()))
}

fn offsets<'data>(file: impl ReadRef<'data>, name: &str) -> Option<Named> {
    let object = object::File::parse(file).ok()?;
    let segments = Segments::of(&object)?;
    let mut found = Vec::new();
    for symbol in symbols(&object).filter(|symbol| symbol.name() == Ok(name)) {
        let is_chooser = matches!(
            symbol.flags(),
            SymbolFlags::Elf { st_info, .. } if st_info & 0xF == STT_GNU_IFUNC
        );
        if is_chooser {
            return Some(Named::Chooses);
        }
        if let Some(offset) = segments.offset(symbol.address())
            && found.len() < MOST_VERSIONS
            && !found.contains(&offset)
        {
            found.push(offset);
        }
    }
    Some(Named::At(found))
}

/// Distance of the variable `name` from the beginning of the code in the program's memory, in
/// bytes; negative if the variable lies before the code.
pub fn variable<R: ReadCacheOps>(file: R, name: &str) -> Option<i64> {
    let file = Bounded::new(file);
    let object = object::File::parse(&file).ok()?;
    let code = Segments::of(&object)?.address(Offset::InCode(0))?;
    let mut all = every_symbol(&object).filter(|symbol| symbol.kind() == SymbolKind::Data);
    let found = all.find(|symbol| symbol.name() == Ok(name))?;
    Some(found.address().wrapping_sub(code).cast_signed())
}

fn names<'data>(file: impl ReadRef<'data>, places: &[Offset]) -> Option<Vec<Option<String>>> {
    let object = object::File::parse(file).ok()?;
    let segments = Segments::of(&object)?;
    // Ascending by address; each address with its index in the answer.
    let mut wanted: Vec<(u64, usize)> = (0..)
        .zip(places)
        .filter_map(|(index, place)| Some((segments.address(*place)?, index)))
        .collect();
    wanted.sort_unstable();
    let mut found: Vec<Option<(u64, String)>> = vec![None; places.len()];
    for symbol in symbols(&object) {
        let (from, to) = (symbol.address(), symbol.address().saturating_add(symbol.size().max(1)));
        let first = wanted.partition_point(|(address, _)| *address < from);
        for (_, index) in wanted[first..].iter().take_while(|(address, _)| *address < to) {
            let closer = found[*index].as_ref().is_none_or(|(begin, _)| from > *begin);
            let name = symbol.name().ok().filter(|name| closer && !name.is_empty());
            if let Some(name) = name {
                found[*index] = Some((from, shown(name)));
            }
        }
    }
    Some(found.into_iter().map(|one| one.map(|(_, name)| name)).collect())
}

fn shown(name: &str) -> String {
    let start: String = name.chars().take(LONGEST).collect();
    terminal::line(&start)
}

/// The functions of a file, from both of its symbol tables.
fn symbols<'data: 'file, 'file, R: ReadRef<'data>>(
    object: &'file object::File<'data, R>,
) -> impl Iterator<Item = object::Symbol<'data, 'file, R>> {
    every_symbol(object).filter(|symbol| symbol.kind() == SymbolKind::Text)
}

/// All symbols that a file defines, from both of its symbol tables.
fn every_symbol<'data: 'file, 'file, R: ReadRef<'data>>(
    object: &'file object::File<'data, R>,
) -> impl Iterator<Item = object::Symbol<'data, 'file, R>> {
    let all = object.symbols().take(MOST_SYMBOLS);
    let all = all.chain(object.dynamic_symbols().take(MOST_SYMBOLS));
    all.filter(|symbol| !symbol.is_undefined())
}

/// A part of a file, and where it lies in memory.
#[derive(Debug, Clone, Copy)]
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
    is_code: bool,
}

/// The segments of a file.
struct Segments(Vec<Segment>);

impl Segments {
    fn of<'data>(object: &object::File<'data, impl ReadRef<'data>>) -> Option<Self> {
        let of = |segment: object::Segment<'data, '_, _>| {
            let (offset, size) = segment.file_range();
            let is_code =
                matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & 1 != 0);
            Segment { address: segment.address(), offset, size, is_code }
        };
        let all: Vec<Segment> = object.segments().take(MOST_SEGMENTS + 1).map(of).collect();
        (all.len() <= MOST_SEGMENTS).then_some(Segments(all))
    }

    /// The program's own address of a place.
    fn address(&self, place: Offset) -> Option<u64> {
        match place {
            Offset::InFile(offset) => self.0.iter().find_map(|segment| {
                let within = offset.checked_sub(segment.offset)?;
                (within < segment.size).then(|| segment.address.checked_add(within))?
            }),
            Offset::InCode(offset) => {
                let code = self.0.iter().filter(|segment| segment.is_code);
                code.map(|segment| segment.address).min()?.checked_add(offset)
            }
        }
    }

    fn offset(&self, address: u64) -> Option<u64> {
        self.0.iter().find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            (within < segment.size).then(|| segment.offset.checked_add(within))?
        })
    }
}

/// Whether a program with this start was made by the linker of Go.
pub fn is_go(start: &[u8]) -> bool {
    has_go_note(start).unwrap_or(false)
}

fn has_go_note(start: &[u8]) -> object::Result<bool> {
    let header = FileHeader64::<Endianness>::parse(start)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, start)?.iter().take(MOST_SEGMENTS) {
        // The notes of a segment may lie beyond the bytes that were read.
        let Ok(Some(mut notes)) = segment.notes(endian, start) else { continue };
        while let Some(note) = notes.next()? {
            if (note.name(), note.n_type(endian)) == GO_NOTE {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::io::{Cursor, Write};

    fn own() -> File {
        File::open("/proc/self/exe").unwrap()
    }

    /// Where the code of this very program starts in memory.
    fn start_of_code() -> u64 {
        let stat = std::fs::read("/proc/self/stat").unwrap();
        os::stat::Stat::parse(&stat).unwrap().code().unwrap().0
    }

    #[test]
    fn functions_of_this_very_program_are_found_by_place_and_by_name() {
        let name = "functions_of_this_very_program_are_found_by_place_and_by_name";
        let here = functions_of_this_very_program_are_found_by_place_and_by_name as fn() as usize;
        let behind = here as u64 - start_of_code();
        let places = [Offset::InCode(behind + 1), Offset::InCode(u64::MAX), Offset::InFile(0)];
        let found = functions(own(), &places);
        assert!(found[0].as_ref().unwrap().contains(&name[..20]), "{found:?}");
        assert_eq!(found[1..], [None, None]);
        // By its offset in the file, the same function is found.
        let object = std::fs::read("/proc/self/exe").unwrap();
        let object = object::File::parse(object.as_slice()).unwrap();
        let full = symbols(&object).find(|one| one.name().is_ok_and(|one| one.contains(name)));
        let full = full.unwrap().name().unwrap().to_owned();
        let Named::At(offsets) = named(own(), &full) else { panic!("{full}") };
        assert_eq!(functions(own(), &[Offset::InFile(offsets[0])]), [found[0].clone()]);
        assert_eq!(offsets.len(), 1);
        assert_eq!(named(own(), "no such function"), Named::At(Vec::new()));
    }

    /// A library with a symbol `name` for each type and address.
    fn library(symbols: &[(u8, u64)]) -> Vec<u8> {
        let table = 64 + 56 + 3 * 64_u64;
        let size = 24 * (symbols.len() as u64 + 1);
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
        for place in [0, 64, 120_u64] {
            bytes.extend(place.to_le_bytes());
        }
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 3, 0, 2, 0]);
        // A segment that covers the file.
        bytes.extend([1, 0, 0, 0, 5, 0, 0, 0]);
        for word in [0, 0, 0, 4096, 4096, 4096_u64] {
            bytes.extend(word.to_le_bytes());
        }
        // No section, the symbols, and their names.
        bytes.extend([0; 64]);
        let of_symbols = [0, 0, table, size, 2 | 1 << 32, 8, 24];
        let of_names = [0, 0, table + size, 6, 0, 1, 0];
        for (kind, words) in [(2_u32, of_symbols), (3, of_names)] {
            bytes.extend([0; 4]);
            bytes.extend(kind.to_le_bytes());
            for word in words {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes.extend([0; 24]);
        for &(kind, address) in symbols {
            bytes.extend([1, 0, 0, 0, 0x10 | kind, 0, 1, 0]);
            bytes.extend(address.to_le_bytes());
            bytes.extend(8_u64.to_le_bytes());
        }
        bytes.extend(b"\0name\0");
        bytes
    }

    #[test]
    fn a_name_has_a_function_for_each_version_and_one_that_chooses_is_told_apart() {
        let of = |symbols: &[(u8, u64)], name: &str| named(Cursor::new(library(symbols)), name);
        let versions = [(2, 0x300), (2, 0x100), (2, 0x300)];
        assert_eq!(of(&versions, "name"), Named::At(vec![0x300, 0x100]));
        assert_eq!(of(&versions, "other"), Named::At(Vec::new()));
        assert_eq!(of(&[(STT_GNU_IFUNC, 0x100)], "name"), Named::Chooses);
    }

    #[test]
    fn a_variable_of_this_very_program_is_found_by_name() {
        static A_VARIABLE_TO_BE_FOUND: std::sync::atomic::AtomicU64 =
            std::sync::atomic::AtomicU64::new(7);
        let here = &raw const A_VARIABLE_TO_BE_FOUND as u64;
        let object = std::fs::read("/proc/self/exe").unwrap();
        let object = object::File::parse(object.as_slice()).unwrap();
        let is_it = |name: &str| name.contains("A_VARIABLE_TO_BE_FOUND");
        let full = every_symbol(&object).find(|one| one.name().is_ok_and(is_it));
        let full = full.unwrap().name().unwrap().to_owned();
        let behind = variable(own(), &full).unwrap();
        let found = start_of_code().wrapping_add_signed(behind);
        assert_eq!(found, here);
        assert_eq!(variable(own(), "no such variable"), None);
    }

    #[test]
    fn what_is_no_program_has_no_functions() {
        let none = functions(File::open("/etc/passwd").unwrap(), &[Offset::InFile(1)]);
        assert_eq!(none, [None]);
    }

    #[test]
    fn a_file_that_claims_endless_tables_is_given_up() {
        // A header, and a symbol table that covers a sparse file of 900 MiB.
        let mut file = tempfile::tempfile().unwrap();
        let size: u64 = 900 << 20;
        file.write_all(&elf(&section(2, 200, size - 200), 0, 1)).unwrap();
        file.set_len(size).unwrap();
        assert_eq!(functions(file, &[Offset::InFile(1)]), [None]);
    }

    /// A section header: a type, and the position of its bytes.
    fn section(kind: u32, offset: u64, size: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_le_bytes());
        for word in [0, 0, offset, size, 0, 0, 24] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }

    /// An ELF header with its tables at the end of the bytes that follow, which may hold
    /// anything.
    fn elf(rest: &[u8], segments: u16, sections: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
        for place in [0x40_1000, 64, 64_u64] {
            bytes.extend(place.to_le_bytes());
        }
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0]);
        bytes.extend(segments.to_le_bytes());
        bytes.extend([64, 0]);
        bytes.extend(sections.to_le_bytes());
        bytes.extend([1, 0]);
        bytes.extend_from_slice(rest);
        bytes
    }

    /// The start of a program with one segment, which holds notes.
    fn program(notes: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
        for place in [0x40_1000, 64, 0_u64] {
            bytes.extend(place.to_le_bytes());
        }
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
        bytes.extend([4, 0, 0, 0, 4, 0, 0, 0]);
        let size = notes.len() as u64;
        for word in [120, 0, 0, size, size, 4] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend_from_slice(notes);
        bytes
    }

    fn note(name: &[u8; 4], kind: u8) -> Vec<u8> {
        let len = name.iter().filter(|byte| **byte != 0).count() as u8 + 1;
        let mut bytes = vec![len, 0, 0, 0, 4, 0, 0, 0, kind, 0, 0, 0];
        bytes.extend_from_slice(name);
        bytes.extend(b"abcd");
        bytes
    }

    #[test]
    fn a_program_in_go_is_known_by_its_note() {
        assert!(is_go(&program(&note(b"Go\0\0", 4))));
        assert!(is_go(&program(&[note(b"GNU\0", 3), note(b"Go\0\0", 4)].concat())));
        assert!(!is_go(&program(&note(b"GNU\0", 4))));
        assert!(!is_go(&program(&note(b"Go\0\0", 3))));
        assert!(!is_go(&program(&note(b"Go\0\0", 4))[..125]));
        assert!(!is_go(b"#!/bin/sh"));
    }

    proptest! {
        #[test]
        fn no_program_makes_the_reader_panic(
            rest in proptest::collection::vec(prop_oneof![0u8..5, any::<u8>()], 0..600),
            tables in any::<(u16, u16)>(),
            few in (0u16..4, 0u16..6),
            offset in prop_oneof![0u64..200, any::<u64>()],
        ) {
            let places = [Offset::InFile(offset), Offset::InCode(offset)];
            for (segments, sections) in [tables, few] {
                functions(Cursor::new(elf(&rest, segments, sections)), &places);
            }
            functions(Cursor::new(&rest), &places);
            named(Cursor::new(&rest), "x");
            is_go(&rest);
            is_go(&program(&rest));
        }
    }
}
