//! Processes outside the PID namespace of /proc, as seen from inside a container. Only what the
//! programs in the kernel know about them is known.

use crate::tick::{Outside, Tick};
use probe::live::{ThreadCounts, is_kernel_outside, is_outside};
use std::collections::HashMap;

/// Most processes that are remembered: as many as the kernel's table holds threads.
const MOST: usize = 16_384;

/// Names the processes outside, and remembers them.
#[derive(Debug, Default)]
pub struct Outsiders {
    known: HashMap<u32, Known>,
}

#[derive(Debug)]
struct Known {
    /// The thread whose name stands for the process: its first thread, if that ran.
    tid: u32,
    outside: Outside,
}

impl Outsiders {
    /// Learns which processes are outside, and which processes inside have a session that began
    /// outside.
    pub fn meet(&mut self, threads: &[ThreadCounts], tick: &mut Tick) {
        if self.known.len() > MOST {
            self.known.clear();
        }
        for thread in threads {
            if is_outside(thread.pid) && !is_kernel_outside(thread.pid) {
                self.learn(thread);
            } else if is_outside(thread.session) {
                tick.outer_sessions.insert(thread.pid, thread.session);
            }
        }
    }

    /// Names the outside processes of a tick.
    pub fn name(&self, tick: &mut Tick) {
        let of_threads = tick.threads.iter().flat_map(|thread| [thread.pid, thread.waker]);
        let of_pairs = tick.pairs.iter().map(|pair| pair.culprit);
        let of_chains = tick.chains.iter().map(|chain| chain.key.holder);
        let of_readers = tick.readers.iter().flat_map(|reader| [reader.reader, reader.target]);
        let all = of_threads.chain(of_pairs).chain(of_chains).chain(of_readers);
        let named = all.filter_map(|pid| Some((pid, self.known.get(&pid)?.outside.clone())));
        tick.outside = named.collect();
    }

    fn learn(&mut self, thread: &ThreadCounts) {
        let is_first = thread.tid == thread.pid;
        let outside = || Outside { name: thread.name.clone(), session: thread.session };
        let known = (self.known.entry(thread.pid))
            .or_insert_with(|| Known { tid: thread.tid, outside: outside() });
        if is_first || thread.tid == known.tid {
            *known = Known { tid: thread.tid, outside: outside() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: u32 = 1 << 31;
    const OF_KERNEL: u32 = 3 << 30;

    fn thread(pid: u32, tid: u32, name: &str, session: u32) -> ThreadCounts {
        ThreadCounts { pid, tid, name: name.to_owned(), session, ..ThreadCounts::default() }
    }

    #[test]
    fn a_process_outside_is_called_as_its_first_thread_once_that_ran() {
        let mut outsiders = Outsiders::default();
        let mut name = |threads: &[ThreadCounts]| {
            let mut tick = Tick::default();
            outsiders.meet(threads, &mut tick);
            tick.threads = threads.to_vec();
            outsiders.name(&mut tick);
            tick
        };
        let session = OUTSIDE | 3;
        let worker = thread(OUTSIDE | 7, OUTSIDE | 8, "worker", session);
        let inside = [thread(7, 7, "web", 7), thread(8, 8, "sh", session)];
        let kernel = thread(OF_KERNEL | 9, OF_KERNEL | 9, "kworker/0:1", 0);
        let tick = name(&[&inside[..], &[worker.clone(), kernel]].concat());
        let of = |name: &str| Outside { name: name.to_owned(), session };
        assert_eq!(tick.outside, HashMap::from([(OUTSIDE | 7, of("worker"))]));
        assert_eq!(tick.outer_sessions, HashMap::from([(8, session)]));
        let first = thread(OUTSIDE | 7, OUTSIDE | 7, "java", session);
        assert_eq!(name(&[first, worker.clone()]).outside[&(OUTSIDE | 7)], of("java"));
        assert_eq!(name(&[worker]).outside[&(OUTSIDE | 7)], of("java"));
    }
}
