//! How long each thread waited, from /proc alone: the fallback without programs in the kernel.

use super::scope;
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
    first: HashMap<u32, (u64, u64)>,
    /// Threads that readings left out. A thread counts once for each of these readings: if it is
    /// left out for good, its time is missing in every interval.
    dropped: u64,
}

impl Schedstat {
    /// The sums since the first reading, for the programs in scope.
    pub fn read(&mut self, roots: &Roots, scope: &Scope) -> Counts {
        self.read_most(MOST, roots, scope)
    }

    /// The same, for at most this many threads.
    fn read_most(&mut self, most: usize, roots: &Roots, scope: &Scope) -> Counts {
        let mut counts = Counts::default();
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
                counts.threads.extend(self.thread(&task, pid, tid, name.trim_end()));
            }
        }
        counts.lost_threads = self.dropped;
        counts
    }

    fn thread(&mut self, task: &Path, pid: u32, tid: u32, name: &str) -> Option<ThreadCounts> {
        let schedstat = text(&task.join("schedstat"));
        let mut words = schedstat.split_whitespace().map(str::parse::<u64>);
        let (ran, ready) = (words.next()?.ok()?, words.next()?.ok()?);
        let waits = words.next()?.ok()?;
        if self.first.len() > 4 * MOST {
            self.first.clear();
        }
        let (first_ran, first_ready) = *self.first.entry(tid).or_insert((ran, ready));
        Some(ThreadCounts {
            tid,
            pid,
            name: os::terminal::line(name),
            ran_ns: ran.saturating_sub(first_ran),
            ready_ns: ready.saturating_sub(first_ready),
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
