//! The runtimes of programs in groups that a quota holds: by their names, or by the note that the
//! linker of Go leaves in what it makes.

use crate::tick::{GroupTick, Tick};
use host::roots::{Roots, read_start};
use model::live::LiveRuntime;
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};
use std::collections::{BTreeMap, HashMap};

/// Processes that are looked up in an interval at most.
const MOST: usize = 4;

/// Processes that are remembered.
const MOST_KNOWN: usize = 256;

/// The most that is read of a program, in bytes: its headers and notes stand at its begin.
const START: u64 = 16_384;

/// The name and the type of the note with the build id of a program in Go.
const GO_NOTE: (&[u8], u32) = (b"Go", 4);

/// Looks runtimes up, and remembers them.
pub struct Runtimes {
    roots: Roots,
    /// By process and name: another program in the same process has another name.
    known: HashMap<(u32, String), Option<LiveRuntime>>,
}

impl Runtimes {
    /// For a machine.
    pub fn new(roots: &Roots) -> Self {
        Runtimes { roots: roots.clone(), known: HashMap::new() }
    }

    /// Names the runtimes of the processes that used most CPU time in groups that were throttled.
    pub fn name(&mut self, tick: &mut Tick) {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        for (pid, name) in wanted(tick) {
            let roots = &self.roots;
            let known = self.known.entry((pid, name));
            let runtime = *known.or_insert_with_key(|(pid, name)| runtime(roots, *pid, name));
            if let Some(runtime) = runtime {
                tick.runtimes.insert(pid, runtime);
            }
        }
    }
}

/// The processes that used most in groups that were throttled, and their names.
fn wanted(tick: &Tick) -> Vec<(u32, String)> {
    let throttled = |group: &&GroupTick| group.gained.nr_throttled.is_some_and(|times| times > 0);
    let held: Vec<&str> =
        tick.groups.iter().filter(throttled).map(|group| group.group.as_str()).collect();
    if held.is_empty() {
        return Vec::new();
    }
    let mut used: BTreeMap<u32, u64> = BTreeMap::new();
    for thread in &tick.threads {
        let sum = used.entry(thread.pid).or_default();
        *sum = sum.saturating_add(thread.ran_ns);
    }
    let mut inside: Vec<(u64, u32, &str)> = used
        .into_iter()
        .filter_map(|(pid, ns)| {
            let process = tick.processes.get(&pid)?;
            let lineage = tick.lineages.get(process.group.as_ref()?)?;
            let is_held = lineage.iter().any(|group| held.contains(&group.as_str()));
            is_held.then_some((ns, pid, process.name.as_str()))
        })
        .collect();
    inside.sort_by_key(|(ns, pid, _)| (std::cmp::Reverse(*ns), *pid));
    inside.into_iter().take(MOST).map(|(_, pid, name)| (pid, name.to_owned())).collect()
}

fn runtime(roots: &Roots, pid: u32, name: &str) -> Option<LiveRuntime> {
    match name {
        "java" => Some(LiveRuntime::Jvm),
        "node" => Some(LiveRuntime::Node),
        "beam.smp" => Some(LiveRuntime::Beam),
        _ => {
            let program = roots.proc.join(pid.to_string()).join("exe");
            let start = read_start(&program, START).ok()?;
            is_go(&start).unwrap_or(false).then_some(LiveRuntime::Go)
        }
    }
}

/// Whether a program that begins so was made by the linker of Go.
fn is_go(start: &[u8]) -> object::Result<bool> {
    let header = FileHeader64::<Endianness>::parse(start)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, start)? {
        // The notes of one segment may lie behind what was read.
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
    use crate::testing::{group, process, second, thread};
    use proptest::prelude::*;

    /// The begin of a program with one segment, of notes.
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
        assert!(is_go(&program(&note(b"Go\0\0", 4))).unwrap());
        let both = [note(b"GNU\0", 3), note(b"Go\0\0", 4)].concat();
        assert!(is_go(&program(&both)).unwrap());
        assert!(!is_go(&program(&note(b"GNU\0", 4))).unwrap());
        assert!(!is_go(&program(&note(b"Go\0\0", 3))).unwrap());
        let cut = program(&note(b"Go\0\0", 4));
        assert!(!is_go(&cut[..125]).unwrap());
        assert!(is_go(b"#!/bin/sh").is_err());
    }

    #[test]
    fn this_very_program_is_no_program_in_go() {
        assert_eq!(runtime(&Roots::real(), std::process::id(), "web"), None);
    }

    #[test]
    fn only_programs_in_throttled_groups_are_looked_up() {
        let mut tick = second();
        for (pid, at) in [(1, "/held/below"), (2, "/free"), (3, "/held/below")] {
            process(&mut tick, pid, &format!("p{pid}"), Some(at));
            tick.threads.push(thread(pid, u64::from(pid) * 10, 0));
        }
        let lineage = |group: &str| vec![group.to_owned(), "/held".to_owned()];
        tick.lineages.insert("/held/below".into(), lineage("/held/below"));
        tick.lineages.insert("/free".into(), vec!["/free".into()]);
        tick.groups = vec![group("/held", 50, 400, (3, 100)), group("/free", 50, 100, (0, 0))];
        assert_eq!(wanted(&tick), [(3, "p3".to_owned()), (1, "p1".to_owned())]);
    }

    proptest! {
        #[test]
        fn no_program_makes_the_reader_panic(
            bytes in proptest::collection::vec(prop_oneof![0u8..5, any::<u8>()], 0..300),
        ) {
            let _ = is_go(&bytes);
            let _ = is_go(&program(&bytes));
        }
    }
}
