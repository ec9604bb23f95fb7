//! Data that users of a watched machine wrote: programs, libraries, names, command lines, maps.

use model::live::Workload;
use probe::elf::{self, Offset};
use std::io::Cursor;
use watch::LiveRuntime;
use watch::reader::{Answer, Material, What, answer};
use watch::workload::{names, places, workload};

/// A program or a library. The first bytes are the addresses that are looked up in it.
pub(crate) fn elf(bytes: &[u8]) {
    let Some((places, file)) = bytes.split_first_chunk::<16>() else { return };
    let numbers = places
        .chunks_exact(8)
        .map(|eight| eight.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)));
    let places: Vec<Offset> = numbers
        .flat_map(|number| [Offset::InFile(number), Offset::InCode(number % 4_096)])
        .collect();
    assert_eq!(elf::functions(Cursor::new(file), &places).len(), places.len());
    let _ = elf::named(Cursor::new(file), "spin_here");
    let _ = elf::variable(Cursor::new(file), "spin_here");
    let _ = elf::is_go(file);
}

/// Texts of /proc, or an answer of the reader. The first byte selects which.
pub(crate) fn texts(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let text = || Material::<Cursor<Vec<u8>>>::Text(rest.to_vec());
    match which % 6 {
        0 => drop(answer(&What::CommandLine, text())),
        4 => {
            let words = Material::<Cursor<Vec<u8>>>::Words(rest.to_vec(), rest.to_vec());
            drop(answer(&What::Settings(LiveRuntime::Jvm), words));
        }
        1 => {
            if let Answer::Maps(maps) = answer(&What::Maps, text()) {
                let _ = maps.tell(0x7f00_0000_1000, &[0x1000, u64::MAX]);
            }
        }
        5 => container(rest),
        2 => drop(serde_json::from_slice::<(u64, Answer)>(rest)),
        _ => watch::fuzz::names(&String::from_utf8_lossy(rest)),
    }
}

/// The path of a group, and from the second line on the stored data about a container. The
/// container engine may have taken that data from the user who started the container.
fn container(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (path, kept) = bytes.split_at(end);
    let Some(Workload::Container(container)) = workload(&String::from_utf8_lossy(path)) else {
        return;
    };
    let id = container.id.unwrap_or_default();
    for place in places(None, &id, true) {
        let _ = names(&[(place, kept.to_vec())], &id, Some("6f1b"));
    }
}
