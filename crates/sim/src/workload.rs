//! Loads: the work of the group's threads.

use crate::arrivals::Arrivals;
use crate::config::Config;
use crate::error::Error;
use crate::queue::MOST_ACTORS;
use crate::request::{LONGEST_NS, Request, require};
use serde::Serialize;

/// Most threads of a load.
const MOST_THREADS: u32 = 1_000_000;

/// Shortest sleep or period of a thread, in nanoseconds.
const SHORTEST_NS: u64 = 10_000;

/// The work of the group's threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Workload {
    /// Fast threads that never sleep, and slow ones that sleep almost all the time.
    Fibtest(Fibtest),
    /// One thread per entry, each working at fixed intervals.
    Periodic(Vec<Periodic>),
    /// Requests that arrive at random.
    Arrivals(Arrivals),
    /// Requests that arrive at the times of a trace.
    Trace {
        /// The requests, sorted by arrival.
        requests: Vec<Request>,
        /// Threads that serve the requests. Each serves one request at a time, on any free CPU.
        workers: u32,
    },
}

/// The load of fibtest. Thread i is pinned to CPU i modulo the number of CPUs. The fast threads
/// come first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fibtest {
    /// Number of all threads.
    pub threads: u32,
    /// Number of threads that never sleep.
    pub fast: u32,
    /// Mean CPU time of a slow thread from wakeup to its next sleep, in nanoseconds. Each one is
    /// drawn uniformly from 0.5 to 1.5 times this value.
    ///
    /// The 100 iterations themselves take about 30 ns. The rest is the system call, the timer and
    /// two context switches: 2 to 5 us on bare metal, 8 to 55 us measured on a virtual machine.
    pub slow_burst_ns: u64,
    /// How long a slow thread sleeps, in nanoseconds.
    pub sleep_ns: u64,
    /// Largest delay of a wakeup, in nanoseconds. Each delay is drawn uniformly up to this.
    pub timer_slack_ns: u64,
    /// Time between the starts of two threads, in nanoseconds.
    pub spawn_gap_ns: u64,
    /// CPU time of one iteration, in picoseconds.
    pub iteration_ps: u64,
}

impl Fibtest {
    /// One fast thread on CPU 0, and slow threads up to a total of `threads`.
    pub fn new(threads: u32) -> Self {
        Fibtest {
            threads,
            fast: 1,
            slow_burst_ns: 3_000,
            sleep_ns: 10_000_000,
            timer_slack_ns: 50_000,
            spawn_gap_ns: 20_000,
            iteration_ps: 320,
        }
    }
}

/// A thread that does a job at fixed intervals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Periodic {
    /// Time between two releases of a job, in nanoseconds.
    pub period_ns: u64,
    /// CPU time of each job, in nanoseconds.
    pub cost_ns: u64,
    /// Its first release, in nanoseconds.
    pub offset_ns: u64,
    /// The CPU that it is pinned to.
    pub cpu: u32,
}

impl Workload {
    /// Checks that the load is valid on this machine.
    ///
    /// # Errors
    /// A sentence that names the value and the reason.
    pub fn check(&self, config: &Config) -> Result<(), Error> {
        match self {
            Workload::Fibtest(load) => check_fibtest(load),
            Workload::Periodic(tasks) => check_periodic(tasks, config),
            Workload::Arrivals(arrivals) => {
                check_threads(arrivals.workers)?;
                arrivals.check()
            }
            Workload::Trace { requests, workers } => {
                check_threads(*workers)?;
                check_requests(requests)
            }
        }?;
        let actors = u64::from(config.cpus) + u64::from(self.threads());
        require(actors + 8 < MOST_ACTORS as u64, || "too many CPUs and threads".to_owned())
    }

    /// The number of threads of the load.
    pub fn threads(&self) -> u32 {
        match self {
            Workload::Fibtest(load) => load.threads,
            Workload::Periodic(tasks) => u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            Workload::Arrivals(arrivals) => arrivals.workers,
            Workload::Trace { workers, .. } => *workers,
        }
    }
}

fn check_fibtest(load: &Fibtest) -> Result<(), Error> {
    check_threads(load.threads)?;
    require(load.fast <= load.threads, || {
        format!("{} fast threads of {}: there are too few threads", load.fast, load.threads)
    })?;
    require((1..=LONGEST_NS).contains(&load.slow_burst_ns), || {
        "a slow thread has to work for 1 ns to an hour at a time".to_owned()
    })?;
    require((SHORTEST_NS..=LONGEST_NS).contains(&load.sleep_ns), || {
        "a slow thread has to sleep for 10 us to an hour at a time".to_owned()
    })?;
    require(load.timer_slack_ns <= 1_000_000_000, || {
        "a timer slack has to be at most 1 s".to_owned()
    })?;
    require(load.spawn_gap_ns <= 1_000_000_000, || {
        "a thread has to start within 1 s of the previous one".to_owned()
    })?;
    require(load.iteration_ps > 0, || "an iteration has to take some time".to_owned())
}

fn check_periodic(tasks: &[Periodic], config: &Config) -> Result<(), Error> {
    check_threads(u32::try_from(tasks.len()).unwrap_or(u32::MAX))?;
    for task in tasks {
        require(task.cpu < config.cpus, || {
            format!("a task on CPU {}: the machine has {} CPUs", task.cpu, config.cpus)
        })?;
        require((SHORTEST_NS..=LONGEST_NS).contains(&task.period_ns), || {
            "a task's period has to be between 10 us and an hour".to_owned()
        })?;
        require((1..=LONGEST_NS).contains(&task.cost_ns), || {
            "a task's cost has to be between 1 ns and an hour".to_owned()
        })?;
        require(task.offset_ns <= LONGEST_NS, || "a task has to start within an hour".to_owned())?;
    }
    Ok(())
}

fn check_requests(requests: &[Request]) -> Result<(), Error> {
    require(!requests.is_empty(), || "a trace needs a request".to_owned())?;
    require(requests.is_sorted_by_key(|request| request.at_ns), || {
        "the requests of a trace must be in order of their arrival".to_owned()
    })?;
    let most = requests.iter().map(|request| request.at_ns.max(request.service_ns)).max();
    require(most.is_none_or(|most| most <= LONGEST_NS), || {
        "a request has to arrive within an hour, and to take at most an hour".to_owned()
    })
}

fn check_threads(threads: u32) -> Result<(), Error> {
    require((1..=MOST_THREADS).contains(&threads), || {
        format!("{threads} threads: a load has 1 to {MOST_THREADS}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::era::Era;

    fn refused(load: Workload) -> String {
        load.check(&Config::new(4, Era::G)).unwrap_err().to_string()
    }

    #[test]
    fn a_load_out_of_range_is_refused_in_words() {
        let fibtest = |change: fn(&mut Fibtest)| {
            let mut load = Fibtest::new(4);
            change(&mut load);
            refused(Workload::Fibtest(load))
        };
        assert!(fibtest(|l| l.threads = 0).contains("0 threads"));
        assert!(fibtest(|l| l.threads = 1_000_001).contains("1000001 threads"));
        assert!(fibtest(|l| l.fast = 5).contains("5 fast threads of 4"));
        assert!(fibtest(|l| l.sleep_ns = 0).contains("to sleep"));
        assert!(fibtest(|l| l.slow_burst_ns = 0).contains("to work"));
        let task = Periodic { period_ns: 0, cost_ns: 1, offset_ns: 0, cpu: 0 };
        assert!(refused(Workload::Periodic(vec![task.clone()])).contains("period"));
        assert!(refused(Workload::Periodic(vec![Periodic { cpu: 4, ..task }])).contains("CPU 4"));
        assert!(refused(Workload::Periodic(Vec::new())).contains("0 threads"));
    }

    #[test]
    fn a_trace_must_be_in_order() {
        let at = |at_ns| Request { at_ns, service_ns: 1 };
        let trace = |requests| Workload::Trace { requests, workers: 1 };
        assert!(refused(trace(vec![at(2), at(1)])).contains("in order"));
        assert!(refused(trace(vec![])).contains("needs a request"));
        assert!(refused(trace(vec![at(u64::MAX)])).contains("within an hour"));
    }
}
