//! How long each thread waited, from /proc alone: the fallback without programs in the kernel.

use crate::scope;
use host::roots::{Roots, read_start};
use model::live::Scope;
use probe::live::{Counts, ThreadCounts};
use std::collections::HashMap;
use std::path::Path;

/// Most threads that are read in an interval; further threads count as lost.
const MOST: usize = 4_096;

/// The sums as they were first read. Earlier time does not count.
#[derive(Debug, Default)]
pub struct Schedstat {
    /// The threads of the last reading.
    known: HashMap<u32, Known>,
    readings: u64,
    /// Threads that readings left out. A thread counts once for each of these readings: if it is
    /// left out for good, its time is missing in every interval.
    dropped: u64,
}

/// The sums of a thread: the time that it ran, and the time that it was ready.
#[derive(Debug, Clone, Copy)]
struct Known {
    first: (u64, u64),
    last: (u64, u64),
    /// The reading in which it was met. It tells the thread from others with the same id, and from
    /// itself if readings left it out in between.
    since: u64,
}

impl Schedstat {
    /// The sums since the first reading, for the programs in scope.
    pub fn read(&mut self, roots: &Roots, scope: &Scope) -> Counts {
        self.read_most(MOST, roots, scope)
    }

    /// The same, for at most this many threads.
    fn read_most(&mut self, most: usize, roots: &Roots, scope: &Scope) -> Counts {
        let mut counts = Counts::default();
        self.readings += 1;
        let before = std::mem::take(&mut self.known);
        for pid in numbers(&roots.proc) {
            if !scope.pids.is_empty() && !scope.pids.contains(&pid) {
                continue;
            }
            // Counts at least one thread of each process for which there is no room.
            if counts.threads.len() >= most {
                self.dropped = self.dropped.saturating_add(1);
                continue;
            }
            let folder = roots.proc.join(pid.to_string());
            let name = text(&folder.join("comm"));
            let named = Scope { cgroup: None, ..scope.clone() };
            if !scope::holds(&named, pid, name.trim_end(), None) {
                continue;
            }
            let threads = numbers(&folder.join("task"));
            let room = most - counts.threads.len();
            let left_out = threads.len().saturating_sub(room) as u64;
            self.dropped = self.dropped.saturating_add(left_out);
            for tid in threads.into_iter().take(room) {
                let task = folder.join("task").join(tid.to_string());
                let before = before.get(&tid).copied();
                let thread = self.thread(&task, (pid, tid), name.trim_end(), before);
                counts.threads.extend(thread);
            }
        }
        counts.lost_threads = self.dropped;
        counts
    }

    fn thread(
        &mut self,
        task: &Path,
        (pid, tid): (u32, u32),
        name: &str,
        before: Option<Known>,
    ) -> Option<ThreadCounts> {
        let schedstat = text(&task.join("schedstat"));
        let mut words = schedstat.split_whitespace().map(str::parse::<u64>);
        let (ran, ready) = (words.next()?.ok()?, words.next()?.ok()?);
        let waits = words.next()?.ok()?;
        let now = (ran, ready);
        // The sums of a thread never shrink.
        let before = before.filter(|known| known.last.0 <= ran && known.last.1 <= ready);
        let met = Known { first: now, last: now, since: self.readings };
        let known = before.map_or(met, |known| Known { last: now, ..known });
        self.known.insert(tid, known);
        Some(ThreadCounts {
            tid,
            pid,
            start: known.since,
            name: os::terminal::line(name),
            ran_ns: ran.saturating_sub(known.first.0),
            ready_ns: ready.saturating_sub(known.first.1),
            waits,
            ..ThreadCounts::default()
        })
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&read_start(path, 256).unwrap_or_default()).into_owned()
}

/// The entries of a folder that are numbers.
fn numbers(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_count_from_the_first_reading() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("proc/7/task/8");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(root.path().join("proc/7/comm"), "web\n").unwrap();
        let put = |text: &str| std::fs::write(task.join("schedstat"), text).unwrap();
        let roots = Roots::at(root.path());
        let mut schedstat = Schedstat::default();
        put("100 20 3\n");
        assert_eq!(schedstat.read(&roots, &Scope::default()).threads[0].ready_ns, 0);
        put("150 90 9\n");
        let thread = &schedstat.read(&roots, &Scope::default()).threads[0];
        assert_eq!((thread.ran_ns, thread.ready_ns, thread.name.as_str()), (50, 70, "web"));
        let other = Scope { comm: Some("db".into()), ..Scope::default() };
        assert!(schedstat.read(&roots, &other).threads.is_empty());
    }

    #[test]
    fn another_thread_with_the_same_id_counts_from_its_own_first_reading() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("proc/7/task/8");
        std::fs::create_dir_all(&task).unwrap();
        let roots = Roots::at(root.path());
        let mut schedstat = Schedstat::default();
        let mut read = |text: &str| {
            std::fs::write(task.join("schedstat"), text).unwrap();
            let thread = schedstat.read(&roots, &Scope::default()).threads.remove(0);
            (thread.start, thread.ran_ns, thread.ready_ns)
        };
        assert_eq!([read("100 20 3\n"), read("150 90 9\n")], [(1, 0, 0), (1, 50, 70)]);
        assert_eq!([read("30 10 2\n"), read("31 15 3\n")], [(3, 0, 0), (3, 1, 5)]);
    }

    #[test]
    fn only_the_threads_of_the_last_reading_are_remembered() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::at(root.path());
        let mut schedstat = Schedstat::default();
        for tid in 1..10 {
            let folder = root.path().join(format!("proc/{tid}"));
            let task = folder.join(format!("task/{tid}"));
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("schedstat"), "100 20 3\n").unwrap();
            assert_eq!(schedstat.read(&roots, &Scope::default()).threads.len(), 1);
            assert_eq!(schedstat.known.len(), 1);
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn threads_without_room_count_in_each_reading() {
        let root = tempfile::tempdir().unwrap();
        for tid in 7..10 {
            let task = root.path().join(format!("proc/7/task/{tid}"));
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("schedstat"), "100 20 3\n").unwrap();
        }
        let roots = Roots::at(root.path());
        let mut schedstat = Schedstat::default();
        let mut lost = |most| {
            let counts = schedstat.read_most(most, &roots, &Scope::default());
            (counts.threads.len(), counts.lost_threads)
        };
        assert_eq!([lost(1), lost(1), lost(3), lost(2)], [(1, 2), (1, 4), (3, 4), (2, 5)]);
    }
}
