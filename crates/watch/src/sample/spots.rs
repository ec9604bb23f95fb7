//! The function in which threads of a process wait actively, by the symbols of its program.
//!
//! The memory map of a process would say more, of libraries too, but to read it takes its lock.

use crate::limits::SPUN_SAMPLES;
use crate::tick::Tick;
use host::roots::{Roots, read_start};
use model::live::Spot;
use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};
use os::terminal;
use std::collections::HashMap;
use std::fs::File;

/// Processes that are looked up in an interval at most.
const MOST: usize = 4;

/// Places that are remembered.
const MOST_KNOWN: usize = 256;

/// Symbols that are looked through at most.
const MOST_SYMBOLS: usize = 200_000;

/// The longest name of a function that is kept, in characters.
const LONGEST: usize = 80;

/// The most that is read of `stat`, in bytes.
const STAT: u64 = 1_024;

/// Looks places up, and remembers them.
pub struct Spots {
    roots: Roots,
    known: HashMap<(u32, u64), Spot>,
}

impl Spots {
    /// For a machine.
    pub fn new(roots: &Roots) -> Self {
        Spots { roots: roots.clone(), known: HashMap::new() }
    }

    /// Names where the threads of a tick waited actively, for processes that did so often enough.
    pub fn name(&mut self, tick: &mut Tick) {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        for (pid, address) in wanted(tick) {
            let roots = &self.roots;
            let spot = self
                .known
                .entry((pid, address))
                .or_insert_with(|| Spot { address, function: function(roots, pid, address) });
            tick.spots.insert(pid, spot.clone());
        }
    }
}

/// The processes in which most samples spun, and where the thread was that did so most.
fn wanted(tick: &Tick) -> Vec<(u32, u64)> {
    let mut by_process: HashMap<u32, (u64, u64, u64)> = HashMap::new();
    for thread in tick.threads.iter().filter(|thread| thread.spins > 0 && thread.spin_at > 0) {
        let (all, most, at) = by_process.entry(thread.pid).or_default();
        *all += thread.spins;
        if thread.spins > *most {
            (*most, *at) = (thread.spins, thread.spin_at);
        }
    }
    let enough = |(_, (all, _, _)): &(u32, (u64, u64, u64))| *all * 5 >= SPUN_SAMPLES;
    let mut all: Vec<_> = by_process.into_iter().filter(enough).collect();
    all.sort_by_key(|(pid, (spins, _, _))| (std::cmp::Reverse(*spins), *pid));
    all.truncate(MOST);
    all.into_iter().map(|(pid, (_, _, at))| (pid, at)).collect()
}

fn function(roots: &Roots, pid: u32, address: u64) -> Option<String> {
    let folder = roots.proc.join(pid.to_string());
    let stat = read_start(&folder.join("stat"), STAT).ok()?;
    let (from, to) = code(&String::from_utf8_lossy(&stat))?;
    if !(from..to).contains(&address) {
        return None;
    }
    let file = ReadCache::new(File::open(folder.join("exe")).ok()?);
    function_at(&file, address - from)
}

/// Where the code of the program itself begins and ends: fields 26 and 27 of `stat`.
fn code(stat: &str) -> Option<(u64, u64)> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut words = after.split_ascii_whitespace().skip(23);
    let (from, to) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    // Who may not look is told 1.
    (from > 1 && to > from).then_some((from, to))
}

/// The function so far behind the beginning of the code.
fn function_at<'data>(file: impl ReadRef<'data>, offset: u64) -> Option<String> {
    let object = object::File::parse(file).ok()?;
    let executable = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & 1 != 0);
    let code = object.segments().filter(|segment| executable(segment.flags()));
    let address = code.map(|segment| segment.address()).min()?.checked_add(offset)?;
    let all = object.symbols().take(MOST_SYMBOLS);
    let all = all.chain(object.dynamic_symbols().take(MOST_SYMBOLS));
    let holds = |from: u64, size: u64| address >= from && address - from < size.max(1);
    let found = all
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
        .find(|symbol| holds(symbol.address(), symbol.size()))?;
    let name = terminal::line(found.name().ok()?);
    Some(name.chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{second, thread};
    use proptest::prelude::*;

    #[test]
    fn the_code_of_a_program_is_where_stat_says() {
        let fields = |from: &str| format!("7 (a) b) R {} {from} 9000 0", ["0"; 22].join(" "));
        assert_eq!(code(&fields("4096")), Some((4096, 9000)));
        assert_eq!(code(&fields("1")), None);
        assert_eq!(code("7 (a) R 1"), None);
    }

    #[test]
    fn a_function_of_this_very_program_is_found_by_its_address() {
        let here = the_code_of_a_program_is_where_stat_says as fn() as usize as u64;
        let roots = Roots::real();
        let name = function(&roots, std::process::id(), here + 1).unwrap();
        assert!(name.contains("the_code_of_a_program_is_where_stat_says"), "{name}");
        assert_eq!(function(&roots, std::process::id(), 8), None);
    }

    #[test]
    fn only_processes_that_spin_enough_are_looked_up() {
        let mut tick = second();
        for (pid, spins) in [(1, 3), (2, 40), (3, 50)] {
            let mut one = thread(pid, 500, 0);
            (one.samples, one.spins, one.spin_at) = (50, spins, u64::from(pid) * 16);
            tick.threads.push(one);
        }
        assert_eq!(wanted(&tick), [(3, 48), (2, 32)]);
    }

    /// A header of ELF with tables at the end of what follows, which may hold anything.
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

    proptest! {
        #[test]
        fn no_program_makes_the_reader_panic(
            rest in proptest::collection::vec(prop_oneof![0u8..5, any::<u8>()], 0..600),
            tables in any::<(u16, u16)>(),
            few in (0u16..4, 0u16..6),
            offset in prop_oneof![0u64..200, any::<u64>()],
        ) {
            for (segments, sections) in [tables, few] {
                let _ = function_at(elf(&rest, segments, sections).as_slice(), offset);
            }
            let _ = function_at(rest.as_slice(), offset);
        }
    }
}
