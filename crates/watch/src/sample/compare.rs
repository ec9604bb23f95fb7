//! Compares the runnable time of the threads that waited most with the kernel's own count.

use super::gained::Gained;
use crate::tick::Tick;
use host::roots::{Roots, read_start};
use model::live::Compared;
use probe::live::is_outside;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most threads that are compared in an interval.
const MOST: usize = 24;

/// Both counts are of one moment if at most this time lies between them. If the reader is held up
/// for longer, the kernel's count has waits that ended after our count was read.
const AT_ONCE_NS: u64 = 50_000_000;

/// Most bytes that are read of `schedstat`.
const SCHEDSTAT: u64 = 128;

/// Compares both counts, and remembers them.
#[derive(Debug, Default)]
pub struct Compare {
    /// Both counts at the last look, by thread and its start.
    before: HashMap<(u32, u64), Compared>,
}

impl Compare {
    /// Adds what both counts gained since the last interval, for threads that were read then too.
    /// Our own counts were read at `at_ns`, by the monotonic clock.
    pub fn add(&mut self, roots: &Roots, gained: &Gained, at_ns: u64, tick: &mut Tick) {
        let mut waited: Vec<(u64, u32, u32, u64)> = (tick.threads.iter())
            .filter(|thread| !is_outside(thread.pid))
            .map(|thread| (thread.ready_ns, thread.pid, thread.tid, thread.start))
            .collect();
        waited.sort_unstable_by_key(|thread| Reverse(*thread));
        waited.truncate(MOST);
        let mut read = Vec::new();
        for (_, pid, tid, start) in waited {
            let ours = gained.waited_ns(tid, start);
            let Some((parts_ns, waking_ns)) = ours else { continue };
            let Some(kernel_ns) = run_delay(roots, pid, tid) else { continue };
            let both = Compared { parts_ns, waking_ns, kernel_ns };
            read.push((pid, (tid, start), both));
        }
        if os::time::now_ns().saturating_sub(at_ns) > AT_ONCE_NS {
            self.before.clear();
            return;
        }
        for (pid, thread, both) in &read {
            if let Some(before) = self.before.get(thread) {
                tick.compared.push((*pid, since(both, before)));
            }
        }
        self.before = read.into_iter().map(|(_, thread, both)| (thread, both)).collect();
    }
}

fn since(now: &Compared, before: &Compared) -> Compared {
    Compared {
        parts_ns: now.parts_ns.saturating_sub(before.parts_ns),
        waking_ns: now.waking_ns.saturating_sub(before.waking_ns),
        kernel_ns: now.kernel_ns.saturating_sub(before.kernel_ns),
    }
}

/// The run delay of a thread, in waits that are over.
fn run_delay(roots: &Roots, pid: u32, tid: u32) -> Option<u64> {
    let file = roots.proc.join(format!("{pid}/task/{tid}/schedstat"));
    let bytes = read_start(&file, SCHEDSTAT).ok()?;
    String::from_utf8_lossy(&bytes).split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, thread};
    use probe::live::{Counts, ThreadCounts};

    const MINUTE_MS: u64 = 60_000;

    #[test]
    fn both_counts_are_compared_from_the_second_look_on() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/1/task/1");
        std::fs::create_dir_all(&folder).unwrap();
        let roots = Roots::at(root.path());
        let (mut compare, mut gained) = (Compare::default(), Gained::default());
        let mut look = |waits, late_ms: u64, ready_ms, open_ms, kernel_ms: u64| {
            std::fs::write(folder.join("schedstat"), format!("7 {} 9\n", kernel_ms * MS)).unwrap();
            let one = ThreadCounts { open_ns: open_ms * MS, waits, ..thread(1, 5, ready_ms) };
            let mut tick = Tick::default();
            gained.add_to(Counts { threads: vec![one], ..Counts::default() }, &mut tick);
            // A minute ahead, so that only what the test calls late is late, and not a delay of
            // the test itself.
            let at_ns = os::time::now_ns() + MINUTE_MS * MS - late_ms * MS;
            compare.add(&roots, &gained, at_ns, &mut tick);
            tick.compared
        };
        // Its first wait began before the look. The kernel counts the whole wait when it ends.
        assert_eq!(look(0, 0, 60, 60, 200), []);
        assert_eq!(look(1, 0, 100, 0, 500), []);
        let both = Compared { parts_ns: 40 * MS, waking_ns: 0, kernel_ns: 41 * MS };
        assert_eq!(look(2, 0, 150, 10, 541), [(1, both)]);
        // After a delay, the reader compares nothing and starts anew.
        assert_eq!(look(3, MINUTE_MS + 900, 160, 0, 2_000), []);
        assert_eq!(look(4, 0, 170, 0, 2_010), []);
    }
}
