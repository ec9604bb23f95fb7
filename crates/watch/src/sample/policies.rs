//! The real-time policies of threads that took CPUs from others. The programs in the kernel know
//! only the priorities of such threads.

use crate::tick::Tick;
use crate::why::real_time_priority;
use model::live::RealTimePolicy;
use os::policy::RealTime;
use probe::live::ThreadCounts;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Most threads whose policy is read in an interval.
const MOST: usize = 64;

/// The shortest time for which it is read, in nanoseconds. Threads of the kernel itself often run
/// for some microseconds.
const LEAST_NS: u64 = 1_000_000;

/// Adds the policies of processes that had the CPU of others by a real-time priority.
pub fn add(tick: &mut Tick) {
    tick.policies = read(tick, os::policy::real_time);
}

/// The policies by process and priority. Threads of one process may have several. If threads with
/// the same priority do not have the same policy, it is not known which of them took the CPU.
fn read(
    tick: &Tick,
    policy: impl Fn(u32) -> Option<(RealTime, u32)>,
) -> HashMap<(u32, u32), RealTimePolicy> {
    let is_forced = |ns: u64, prio: i32| ns >= LEAST_NS && real_time_priority(prio).is_some();
    let forced = tick.pairs.iter().filter(|pair| is_forced(pair.forced_ns, pair.prio));
    let culprits: HashSet<u32> = forced.map(|pair| pair.culprit).collect();
    // Threads outside the PID namespace have no number here, or a marked one.
    let ran = |thread: &&ThreadCounts| {
        thread.ran_ns > 0 && thread.tid != 0 && culprits.contains(&thread.pid)
    };
    let mut threads: Vec<&ThreadCounts> = tick.threads.iter().filter(ran).collect();
    threads.sort_by_key(|thread| (Reverse(thread.ran_ns), thread.tid));
    threads.truncate(MOST);
    let mut found: HashMap<(u32, u32), Option<RealTimePolicy>> = HashMap::new();
    for thread in threads {
        let Some((policy, priority)) = policy(thread.tid) else { continue };
        let policy = match policy {
            RealTime::Fifo => RealTimePolicy::Fifo,
            RealTime::RoundRobin => RealTimePolicy::RoundRobin,
        };
        let known = found.entry((thread.pid, priority)).or_insert(Some(policy));
        *known = known.filter(|known| *known == policy);
    }
    found.into_iter().filter_map(|(of, policy)| Some((of, policy?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, pair, second, thread};

    /// Two threads of process 2 had the CPU of process 1 for this long at this kernel priority.
    fn tick(forced_ms: u64, prio: i32) -> Tick {
        let mut tick = second();
        let mut pair = pair(1, 2, "hog", 400);
        pair.forced_ns = forced_ms * MS;
        pair.prio = prio;
        tick.pairs = vec![pair];
        let other = ThreadCounts { tid: 3, ..thread(2, 50, 0) };
        tick.threads = vec![thread(1, 100, 400), thread(2, 400, 0), other];
        tick
    }

    #[test]
    fn the_policy_of_the_threads_that_took_the_cpu_is_read() {
        let all = |thread: u32| match thread {
            2 => Some((RealTime::Fifo, 50)),
            3 => Some((RealTime::RoundRobin, 10)),
            _ => panic!("thread {thread} took nothing"),
        };
        let fifo = ((2, 50), RealTimePolicy::Fifo);
        let round_robin = ((2, 10), RealTimePolicy::RoundRobin);
        assert_eq!(read(&tick(400, 49), all), HashMap::from([fifo, round_robin]));
        // Its first thread has the usual policy.
        let second_thread = |thread: u32| all(thread).filter(|_| thread == 3);
        assert_eq!(read(&tick(400, 89), second_thread), HashMap::from([round_robin]));
    }

    #[test]
    fn a_policy_that_is_not_certain_is_not_named() {
        let differ = |thread: u32| {
            let policy = if thread == 2 { RealTime::Fifo } else { RealTime::RoundRobin };
            Some((policy, 50))
        };
        assert_eq!(read(&tick(400, 49), differ), HashMap::new());
        assert_eq!(read(&tick(400, 49), |_| None), HashMap::new());
    }

    #[test]
    fn nothing_is_read_if_no_real_time_policy_took_a_cpu() {
        let unread = |thread: u32| -> Option<(RealTime, u32)> {
            panic!("thread {thread} was read");
        };
        assert_eq!(read(&tick(0, 49), unread), HashMap::new());
        // A deadline policy has no priority.
        assert_eq!(read(&tick(400, -1), unread), HashMap::new());
    }
}
