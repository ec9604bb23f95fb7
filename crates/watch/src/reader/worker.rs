//! A worker: opens what a question is about, gives everything up, and answers.

use super::answer::{Material, answer};
use super::question::{Answer, MOST_PLACES, Question, What};
use crate::workload::{NameSource, places};
use host::{ProcessFiles, Roots, kept};
use os::death;
use os::sandbox::{Files, Network, keep_privileges, limit_memory, limit_time, restrict};
use os::stat::Stat;
use os::user::User;
use probe::elf;
use rustix::process::{Signal, geteuid};
use rustix::thread::CapabilitySet;
use std::fs::File;
use std::io::{self, Read};

/// Most bytes that are read of a command line, of an environment and of a map.
const COMMAND_LINE: u64 = 64 << 10;
const MAPS: u64 = 4 << 20;

/// Most bytes that are read of other texts.
const TEXT: u64 = 1_024;

/// Most bytes that are read of a file that an engine keeps, and of the names in a folder.
const KEPT: u64 = 4 << 20;
const KEPT_NAMES: usize = 1 << 20;

/// Most threads of a process whose place in the kernel is looked at.
const MOST_THREADS: usize = 32;

/// Address space of a worker, in bytes.
const MEMORY: u64 = 512 << 20;

/// CPU time of a worker, in seconds. The reader's own time limit ends it earlier.
const SECONDS: u64 = 5;

/// The user and group id that the kernel shows for owners that it cannot map.
const NOBODY: u32 = 65_534;

/// Answers a question. The process has to end afterwards: it can do nothing else then.
pub fn work(roots: &Roots, question: &Question, reader: u32) -> Answer {
    let material = ProcessFiles::open(roots, question.pid)
        .ok()
        .filter(|files| files.started() == Some(question.started))
        .and_then(|files| gather(roots, &files, &question.what));
    match (material, give_up(reader)) {
        (Some(material), Ok(())) => answer(&question.what, material),
        _ => Answer::None,
    }
}

/// Answers a question in this very process.
#[cfg(test)]
pub fn here(roots: &Roots, pid: u32, what: &What) -> Answer {
    let files = ProcessFiles::open(roots, pid).ok();
    let material = files.and_then(|files| gather(roots, &files, what));
    material.map_or(Answer::None, |material| answer(what, material))
}

/// Opens or reads what the question is about, with the privileges of the reader.
fn gather(roots: &Roots, files: &ProcessFiles, what: &What) -> Option<Material<File>> {
    match what {
        What::CommandLine => files.read("cmdline", COMMAND_LINE).map(Material::Text),
        What::Maps => files.read("maps", MAPS).map(Material::Text),
        What::InFile(mapping, _) => files.mapped(mapping).map(|file| Material::File(file, 0)),
        What::InProgram(address) => {
            let (from, to) = code(&files.read("stat", TEXT)?)?;
            let is_inside = (from..to).contains(address);
            files.program().filter(|_| is_inside).map(|file| Material::File(file, from))
        }
        What::Variable(_) => {
            let (from, _) = code(&files.read("stat", TEXT)?)?;
            files.program().map(|file| Material::File(file, from))
        }
        What::Settings(_) => {
            let environment = files.read("environ", COMMAND_LINE)?;
            Some(Material::Words(files.read("cmdline", COMMAND_LINE)?, environment))
        }
        What::IsGo => {
            let mut start = Vec::new();
            files.program()?.take(elf::START).read_to_end(&mut start).ok()?;
            Some(Material::Text(start))
        }
        What::SleepIn(function, pids) => {
            let sleeps = |pid: &u32| one_sleeps_in(roots, *pid, function);
            Some(Material::Found(pids.iter().take(MOST_PLACES).map(sleeps).collect()))
        }
        What::Container(of) => {
            let places = places(of.engine, &of.id, of.pod_uid.is_some()).into_iter();
            let found = places.filter_map(|place| Some((kept(roots, &place)?, place)));
            Some(Material::Kept(found.map(|(bytes, place)| (place, bytes)).collect()))
        }
    }
}

/// What a container engine or the kubelet keeps in a place.
fn kept(roots: &Roots, place: &NameSource) -> Option<Vec<u8>> {
    match place {
        NameSource::Bundle(path) | NameSource::Docker(path) | NameSource::Podman(path) => {
            kept::read(roots, path, KEPT)
        }
        NameSource::Links(path) | NameSource::Pods(path) => kept::names(roots, path, KEPT_NAMES),
    }
}

fn one_sleeps_in(roots: &Roots, pid: u32, function: &str) -> bool {
    let Ok(files) = ProcessFiles::open(roots, pid) else { return false };
    files.threads(MOST_THREADS).iter().any(|thread| {
        let place = files.read(&format!("task/{thread}/wchan"), TEXT).unwrap_or_default();
        String::from_utf8_lossy(&place).contains(function)
    })
}

/// Gives up privileges, user, files, network, memory and time.
fn give_up(reader: u32) -> io::Result<()> {
    limit_memory(MEMORY)?;
    limit_time(SECONDS)?;
    if geteuid().is_root() {
        // Without the privilege to become another user, it stays root, but without any privilege.
        if let Some(nobody) = User::new(NOBODY, NOBODY) {
            let _ = nobody.become_it();
        }
        // The change of user made the kernel forget the death signal.
        death::die_with(reader, Signal::KILL)?;
    }
    keep_privileges(CapabilitySet::empty())?;
    // A kernel without Landlock allows all that the worker's user may do.
    let _ = restrict(Files::None, Network::None);
    Ok(())
}

/// Where the code of the program itself starts and ends.
fn code(stat: &[u8]) -> Option<(u64, u64)> {
    // A process that may not look gets the value 1.
    Stat::parse(stat)?.code().filter(|(from, to)| *from > 1 && to > from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_program_is_where_stat_says() {
        let fields = |from: &str| format!("7 (a) b) R {} {from} 9000 0", ["0"; 22].join(" "));
        assert_eq!(code(fields("4096").as_bytes()), Some((4096, 9000)));
        assert_eq!(code(fields("1").as_bytes()), None);
        assert_eq!(code(b"7 (a) R 1"), None);
    }

    #[test]
    fn a_thread_that_sleeps_somewhere_is_found() {
        let tree = testing::Tree::new(&[
            ("proc/7/task/7/wchan", "ep_poll"),
            ("proc/7/task/9/wchan", "__mem_cgroup_handle_over_high"),
        ]);
        let roots = Roots::at(tree.root());
        assert!(one_sleeps_in(&roots, 7, "mem_cgroup_handle_over_high"));
        assert!(!one_sleeps_in(&roots, 7, "futex_wait"));
        let what = What::SleepIn("ep_poll".to_owned(), vec![8, 7]);
        assert_eq!(here(&roots, 7, &what), Answer::Each(vec![false, true]));
    }
}
