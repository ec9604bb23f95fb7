//! Evidence from files of /proc alone, for machines where the programs cannot be loaded.

use crate::watched::Watched;
use host::roots::{Roots, read_start};
use model::evidence::{Evidence, Task, ThreadEvidence};
use model::not_seen::EvidenceSource;
use os::stat::Stat;
use std::collections::HashMap;

/// Most threads that are read.
const MOST: usize = 4096;

/// Most threads that are listed in the evidence. The figures of a whole node and the share of a
/// quota are sums over this list, so it is longer than the threads of a large node.
pub(crate) const LISTED: usize = 1024;

/// The counters of a thread in /proc.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counts {
    running_ns: u64,
    runnable_ns: u64,
    preemptions: u64,
}

/// The counters of /proc at the moment when the load was released.
#[derive(Debug, Default)]
pub struct Files {
    watched: Vec<Watched>,
    before: HashMap<u32, Counts>,
    gained: Vec<ThreadEvidence>,
}

impl Files {
    /// Adds processes to watch.
    pub fn watch(&mut self, watched: &[Watched]) {
        self.watched.extend_from_slice(watched);
    }

    /// Stores the counters at the release of the load.
    pub fn release(&mut self, roots: &Roots) {
        let counts = |(_, tid): &(usize, u32), pid: u32| (*tid, counts(roots, pid, *tid));
        self.before =
            self.threads(roots).iter().map(|at| counts(at, self.watched[at.0].pid)).collect();
    }

    fn threads(&self, roots: &Roots) -> Vec<(usize, u32)> {
        let of = |(index, watched): (usize, &Watched)| {
            let tasks = roots.proc.join(watched.pid.to_string()).join("task");
            let entries = std::fs::read_dir(tasks).into_iter().flatten().flatten();
            let tids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            tids.map(move |tid| (index, tid)).collect::<Vec<_>>()
        };
        self.watched.iter().enumerate().flat_map(of).take(MOST).collect()
    }

    /// Reads how much the counters have grown since the release.
    pub fn stop(&mut self, roots: &Roots) {
        let threads = self.threads(roots).into_iter();
        self.gained =
            threads.map(|(index, tid)| self.thread(roots, &self.watched[index], tid)).collect();
    }

    /// Writes the growth of the counters into the evidence.
    pub fn finish(self, evidence: &mut Evidence) {
        let mut all = self.gained;
        evidence.sources.push(EvidenceSource::ThreadFiles);
        all.sort_by_key(|thread| std::cmp::Reverse(wanted_ns(thread)));
        all.truncate(LISTED);
        evidence.threads = all;
    }

    fn thread(&self, roots: &Roots, watched: &Watched, tid: u32) -> ThreadEvidence {
        let now = counts(roots, watched.pid, tid);
        let before = self.before.get(&tid).cloned().unwrap_or_default();
        let comm = read(roots, watched.pid, tid, "comm");
        let stat = read(roots, watched.pid, tid, "stat");
        ThreadEvidence {
            task: Task {
                pid: watched.pid,
                tid,
                name: crate::event::name(comm.trim_end().as_bytes()),
                part: Some(watched.part.clone()),
                nice: Stat::parse(stat.as_bytes()).and_then(|stat| stat.nice()),
            },
            running_ns: now.running_ns.saturating_sub(before.running_ns),
            runnable_ns: now.runnable_ns.saturating_sub(before.runnable_ns),
            preemptions: Some(now.preemptions.saturating_sub(before.preemptions)),
            ..ThreadEvidence::default()
        }
    }
}

/// How long a thread wanted a CPU, in nanoseconds: it ran, or it was runnable.
pub(crate) fn wanted_ns(thread: &ThreadEvidence) -> u64 {
    thread.running_ns.saturating_add(thread.runnable_ns)
}

/// The content of a file of a thread; empty if the thread has ended.
fn read(roots: &Roots, pid: u32, tid: u32, file: &str) -> String {
    let path = roots.proc.join(pid.to_string()).join("task").join(tid.to_string()).join(file);
    let bytes = read_start(&path, 1 << 14).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn counts(roots: &Roots, pid: u32, tid: u32) -> Counts {
    let schedstat = read(roots, pid, tid, "schedstat");
    let mut words = schedstat.split_whitespace().map(|word| word.parse().unwrap_or(0));
    let status = read(roots, pid, tid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    Counts {
        running_ns: words.next().unwrap_or(0),
        runnable_ns: words.next().unwrap_or(0),
        preemptions: line.and_then(|line| line.trim().parse().ok()).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::Role;

    #[test]
    fn counters_are_held_against_those_at_the_release() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("proc/7/task/8");
        std::fs::create_dir_all(&dir).unwrap();
        let put = |file: &str, text: &str| std::fs::write(dir.join(file), text).unwrap();
        put("comm", "1_scheduler\n");
        put("stat", "8 (1_sched) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -5 1");
        put("schedstat", "100 20 3");
        put("status", "Name: x\nnonvoluntary_ctxt_switches:\t4\n");
        let roots = Roots::at(root.path());
        let mut files = Files::default();
        files.watch(&[Watched::new(7, "vm", Role::Victim)]);
        files.release(&roots);
        put("schedstat", "150 90 9");
        put("status", "nonvoluntary_ctxt_switches:\t9\n");
        let mut evidence = Evidence::default();
        files.stop(&roots);
        files.finish(&mut evidence);
        let thread = &evidence.threads[0];
        assert_eq!((thread.running_ns, thread.runnable_ns, thread.preemptions), (50, 70, Some(5)));
        assert_eq!((thread.task.name.as_str(), thread.task.nice), ("1_scheduler", Some(-5)));
    }

    #[test]
    fn the_threads_that_wanted_a_cpu_longest_are_listed() {
        let thread = |running_ns, runnable_ns| ThreadEvidence {
            running_ns,
            runnable_ns,
            ..ThreadEvidence::default()
        };
        let mut gained = vec![thread(0, 1); LISTED];
        gained.extend([thread(9, 0), thread(0, 7)]);
        let mut evidence = Evidence::default();
        Files { gained, ..Files::default() }.finish(&mut evidence);
        assert_eq!(evidence.threads.len(), LISTED);
        assert_eq!(evidence.threads[..2], [thread(9, 0), thread(0, 7)]);
    }

    #[test]
    fn a_process_that_is_gone_leaves_no_evidence_and_no_error() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::at(root.path());
        let mut files = Files::default();
        files.watch(&[Watched::new(7, "vm", Role::Victim)]);
        files.release(&roots);
        let mut evidence = Evidence::default();
        files.stop(&roots);
        files.finish(&mut evidence);
        assert!(evidence.threads.is_empty());
    }
}
