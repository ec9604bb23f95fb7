//! Processes that descend from this one, and what each of them is.
//!
//! This process adopts what its children leave behind, so whatever descends from a run stays a
//! descendant of this process however the run ends, and no other program's process can be.

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    parent: i32,
    /// Its name, as ps shows it.
    name: String,
    argv: Vec<String>,
    dead: bool,
}

impl Process {
    /// Whether this is the helper that puts right what its tool leaves.
    pub fn is_helper(&self) -> bool {
        self.argv.get(1).is_some_and(|word| word == "restore")
    }

    /// Whether this watches a run for us.
    fn is_tracer(&self) -> bool {
        self.name == "strace"
    }

    /// What it is to the run of `tool`.
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

/// How processes ended that this one has reaped.
#[derive(Debug, Default)]
pub struct Ends(BTreeMap<i32, WaitStatus>);

impl Ends {
    /// Reaps what has ended.
    pub fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.0.insert(pid.as_raw_pid(), status);
        }
    }

    /// Forgets those that have ended: their numbers are given away again.
    pub fn forget(&mut self) {
        self.reap();
        self.0.clear();
    }

    /// How a child ended, if it has.
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

    /// Waits until nothing is left that descends from this process; what is left after `limit` is
    /// killed, and answered with.
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
                // A tracer that waited for the others is nothing that the run left.
                return left.into_iter().filter(|process| !process.is_tracer()).collect();
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// This process.
pub fn own() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// All processes below one that live, without those that only watch.
pub fn of_run(tool: i32) -> Vec<Process> {
    let run = below(own()).into_iter().filter(|process| !process.is_tracer());
    let (first, mut others): (Vec<_>, Vec<_>) = run.partition(|process| process.pid == tool);
    others.splice(0..0, first);
    others
}

/// Kills a process; one that has gone meanwhile needs no signal.
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
    let stat = String::from_utf8_lossy(&stat);
    let (head, tail) = stat.rsplit_once(')')?;
    let mut fields = tail.split_whitespace();
    let dead = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let argv = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let argv = argv.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into());
    let name = head.split_once('(')?.1.to_owned();
    Some(Process { pid, parent, name, argv: argv.collect(), dead })
}
