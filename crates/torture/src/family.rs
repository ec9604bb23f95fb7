//! Processes that descend from this one, and their roles.
//!
//! This process adopts the orphans of its children. So all descendants of a run stay descendants
//! of this process, however the run ends. No process of another program can be among them.

use os::stat::Stat;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its process number.
    pub pid: i32,
    parent: i32,
    /// Its name, as ps shows it.
    name: String,
    argv: Vec<String>,
    dead: bool,
}

impl Process {
    /// Whether this is the helper that undoes what its tool leaves.
    pub fn is_helper(&self) -> bool {
        self.argv.get(1).is_some_and(|word| word == "restore")
    }

    /// Whether this is a tracer, which only watches a run.
    fn is_tracer(&self) -> bool {
        self.name == "strace"
    }

    /// Its role in the run of `tool`.
    pub fn role(&self, tool: i32) -> String {
        match self.name.as_str() {
            _ if self.pid == tool => "tool".to_owned(),
            _ if self.is_helper() => "helper".to_owned(),
            "tailback-superv" => "supervisor".to_owned(),
            "beam.smp" => "node".to_owned(),
            name if name.starts_with("qemu-system") => "QEMU".to_owned(),
            "cc" | "gcc" | "cc1" | "as" | "collect2" | "ld" => "compiler".to_owned(),
            "" => "?".to_owned(),
            name => name.to_owned(),
        }
    }
}

/// How the processes ended that this process has reaped.
#[derive(Debug, Default)]
pub struct Ends(BTreeMap<i32, WaitStatus>);

impl Ends {
    /// Reaps the processes that have ended.
    pub fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.0.insert(pid.as_raw_pid(), status);
        }
    }

    /// Forgets the ended processes, since their numbers are used again.
    pub fn forget(&mut self) {
        self.reap();
        self.0.clear();
    }

    /// How a child ended; None if it has not ended.
    pub fn of(&mut self, pid: i32) -> Option<WaitStatus> {
        self.reap();
        self.0.get(&pid).copied()
    }

    /// Waits for the end of a child until `deadline`.
    pub fn wait_until(&mut self, pid: i32, deadline: Instant) -> Option<WaitStatus> {
        loop {
            let end = self.of(pid);
            if end.is_some() || Instant::now() >= deadline {
                return end;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until this process has no descendants. Kills what is left after `limit`, and returns
    /// it.
    pub fn wait_until_alone(&mut self, limit: Duration) -> Vec<Process> {
        let deadline = Instant::now() + limit;
        loop {
            self.reap();
            let left = below(own());
            if left.is_empty() {
                return left;
            }
            if Instant::now() >= deadline {
                left.iter().for_each(kill);
                std::thread::sleep(Duration::from_millis(100));
                self.reap();
                // A tracer that waited for the others does not belong to the run.
                return left.into_iter().filter(|process| !process.is_tracer()).collect();
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The number of this process.
pub fn own() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// All live descendants of this process, with `tool` first, and without tracers.
pub fn of_run(tool: i32) -> Vec<Process> {
    let run = below(own()).into_iter().filter(|process| !process.is_tracer());
    let (first, mut others): (Vec<_>, Vec<_>) = run.partition(|process| process.pid == tool);
    others.splice(0..0, first);
    others
}

/// Kills a process. If it has gone, nothing happens.
pub fn kill(process: &Process) {
    if let Some(pid) = Pid::from_raw(process.pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn below(ancestor: i32) -> Vec<Process> {
    let all = all();
    let (mut found, mut parents) = (Vec::new(), vec![ancestor]);
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        parents.extend(children.clone().map(|child| child.pid));
        found.extend(children.filter(|child| !child.dead).cloned());
    }
    found
}

fn all() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(look).collect()
}

fn look(pid: i32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = Stat::parse(&stat)?;
    let parent = stat.parent()?;
    let argv = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let argv = argv.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into());
    let name = String::from_utf8_lossy(stat.name()).into_owned();
    Some(Process { pid, parent, name, argv: argv.collect(), dead: stat.is_dead() })
}
