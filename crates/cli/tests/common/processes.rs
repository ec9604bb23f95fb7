//! The processes of a run, found in /proc by their command lines.

use super::wait_for;
use os::stat::Stat;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// A process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its process number.
    pub pid: u32,
    /// The process number of its parent.
    pub parent: u32,
    /// Its name, as ps shows it.
    pub name: String,
    /// Its command line.
    pub argv: Vec<String>,
    /// CPU time that it has used, in clock ticks.
    pub ticks: u64,
    /// When it started, in clock ticks. A later process with the same number started later.
    pub started: u64,
}

/// All processes that a run with this number started, including workers of pools. Each has the
/// number on its command line, and keeps it when its parent dies.
pub fn of(tool: u32) -> Vec<Process> {
    let words = format!("--parent\0{tool}\0").into_bytes();
    let is_of_tool = |argv: &[u8]| argv.windows(words.len()).any(|part| part == words);
    with_command_line(is_of_tool)
}

/// The children of a process, their children, and so on.
pub fn below(ancestor: u32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        parents.extend(children.clone().map(|child| child.pid));
        found.extend(children.cloned());
    }
    found
}

/// The process with this number, if it is alive.
pub fn at(pid: u32) -> Option<Process> {
    look(&Path::new("/proc").join(pid.to_string()), |_| true)
}

/// Waits for the mapper of a run.
pub fn mapper(tool: u32) -> Process {
    one_of(tool, "a mapper", |process| process.name == "mapper")
}

/// Waits for a worker with this name.
pub fn worker(tool: u32, name: &str) -> Process {
    one_of(tool, name, |process| process.name == name && process.parent != tool)
}

/// The leader of the worker pool with this name.
pub fn leader(tool: u32, name: &str) -> Process {
    let parent = worker(tool, name).parent;
    one_of(tool, "a leader", |process| process.pid == parent)
}

/// Waits until the load was released. Before that the spinners are idle; after it they use CPU
/// time.
pub fn wait_until_released(tool: u32) {
    one_of(tool, "spinners at work", |process| process.name == "spinner" && process.ticks >= 3);
}

/// Waits until no process of a run is left.
pub fn wait_until_gone(tool: u32) {
    wait_for("all processes to go", || of(tool).is_empty().then_some(()));
}

/// Waits until none of these processes is left.
pub fn wait_until_all_gone(family: &[Process]) {
    let is_left = |one: &Process| at(one.pid).is_some_and(|now| now.started == one.started);
    wait_for("the family to go", || (!family.iter().any(is_left)).then_some(()));
}

/// Kills a process from outside of the run.
pub fn kill(process: &Process) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

fn one_of(tool: u32, what: &str, fits: impl Fn(&Process) -> bool) -> Process {
    wait_for(what, || of(tool).into_iter().find(&fits))
}

/// All live processes.
pub fn all() -> Vec<Process> {
    with_command_line(|_| true)
}

/// All live processes whose command line fits.
fn with_command_line(fits: impl Fn(&[u8]) -> bool) -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| look(&entry.path(), &fits)).collect()
}

/// None if it is no process, has gone, or is dead and waits to be reaped, or if its command line
/// does not fit.
fn look(folder: &Path, fits: impl Fn(&[u8]) -> bool) -> Option<Process> {
    let pid = folder.file_name()?.to_str()?.parse().ok()?;
    let argv = std::fs::read(folder.join("cmdline")).ok().filter(|argv| fits(argv))?;
    let argv: Vec<String> =
        argv.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into()).collect();
    let stat = std::fs::read(folder.join("stat")).ok()?;
    let stat = Stat::parse(&stat).filter(|stat| !stat.is_dead())?;
    let name = String::from_utf8_lossy(stat.name()).into_owned();
    let parent = u32::try_from(stat.parent()?).ok()?;
    // In user code, and in the kernel.
    let ticks = stat.field::<u64>(14)? + stat.field::<u64>(15)?;
    let started = stat.started()?;
    Some(Process { pid, parent, name, argv, ticks, started })
}
