//! What each thread does next: the loads, seen from the scheduler.

use crate::config::Config;
use crate::error::Error;
use crate::request::Request;
use crate::scheduler::{ENDLESS, Task};
use crate::workload::{Fibtest, Periodic, Workload};
use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Largest latency that is recorded as it is, in nanoseconds: over two hours, beyond any run.
const MOST_LATENCY_NS: u64 = 1 << 43;

/// Iterations of a slow thread between two sleeps.
const SLOW_ITERATIONS: u64 = 100;

/// What a thread does after a burst of work.
pub(crate) enum Next {
    /// It goes on at once, for so many nanoseconds of CPU time.
    Run(u64),
    /// It sleeps until then, in nanoseconds.
    Sleep(u64),
    /// It waits to be given work.
    Wait,
}

/// The threads of a load.
pub(crate) struct Threads<'a> {
    load: Load<'a>,
    /// Bursts of work that each thread has done.
    pub(crate) bursts: Vec<u64>,
    latency: Option<Histogram<u64>>,
    rng: ChaCha8Rng,
}

enum Load<'a> {
    Fibtest(Fibtest),
    /// Tasks with the release of the job that each is at, in nanoseconds.
    Periodic(Vec<Periodic>, Vec<u64>),
    Requests(Requests<'a>),
}

struct Requests<'a> {
    requests: Cow<'a, [Request]>,
    arrived: usize,
    /// The request to be served next.
    next: usize,
    /// The one that each worker serves.
    serves: Vec<usize>,
    /// Workers without a request, the longest idle first.
    free: VecDeque<u32>,
    /// When each request was done, or 0.
    done_at: Vec<u64>,
}

impl<'a> Threads<'a> {
    /// The threads of a load that was checked.
    pub(crate) fn new(config: &Config, workload: &'a Workload) -> Result<Self, Error> {
        let load = match workload {
            Workload::Fibtest(load) => Load::Fibtest(load.clone()),
            Workload::Periodic(tasks) => {
                let releases = tasks.iter().map(|task| task.offset_ns).collect();
                Load::Periodic(tasks.clone(), releases)
            }
            Workload::Arrivals(load) => {
                let requests = load.draw(config.duration_ns, config.seed)?;
                Load::Requests(Requests::new(Cow::Owned(requests), load.workers))
            }
            Workload::Trace { requests, workers } => {
                Load::Requests(Requests::new(Cow::Borrowed(requests), *workers))
            }
        };
        let latency = match load {
            Load::Fibtest(_) => None,
            // The bounds are constants, which the histogram accepts.
            _ => Histogram::new_with_bounds(1, MOST_LATENCY_NS, 3).ok(),
        };
        Ok(Threads {
            load,
            bursts: vec![0; workload.threads() as usize],
            latency,
            rng: ChaCha8Rng::seed_from_u64(config.seed),
        })
    }

    /// All threads, asleep, each on its first CPU.
    pub(crate) fn tasks(&self, cpus: u32) -> Vec<Task> {
        (0..self.bursts.len() as u32)
            .map(|id| match &self.load {
                Load::Periodic(tasks, _) => Task::on(tasks[id as usize].cpu),
                _ => Task::on(id % cpus),
            })
            .collect()
    }

    /// Whether threads may run on any CPU.
    pub(crate) fn may_move(&self) -> bool {
        matches!(self.load, Load::Requests(_))
    }

    /// When a thread wakes first, in nanoseconds, unless it waits for work.
    pub(crate) fn first_wake(&self, id: u32) -> Option<u64> {
        match &self.load {
            Load::Fibtest(load) => Some(u64::from(id) * load.spawn_gap_ns),
            Load::Periodic(tasks, _) => Some(tasks[id as usize].offset_ns),
            Load::Requests(_) => None,
        }
    }

    /// CPU time that a thread needs when it wakes, in nanoseconds.
    pub(crate) fn burst(&mut self, id: u32) -> u64 {
        match &self.load {
            Load::Fibtest(load) if id < load.fast => ENDLESS,
            // With equal bursts all CPUs would run in step, which no machine does.
            Load::Fibtest(load) => {
                self.rng.random_range(load.slow_burst_ns.div_ceil(2)..=load.slow_burst_ns * 3 / 2)
            }
            Load::Periodic(tasks, _) => tasks[id as usize].cost_ns,
            Load::Requests(requests) => requests.service(id),
        }
    }

    /// A thread is through with its burst.
    pub(crate) fn done(&mut self, id: u32, now: u64) -> Next {
        self.bursts[id as usize] += 1;
        match &mut self.load {
            Load::Fibtest(load) => {
                let late = self.rng.random_range(0..=load.timer_slack_ns);
                Next::Sleep(now + load.sleep_ns + late)
            }
            Load::Periodic(tasks, releases) => {
                let (task, release) = (&tasks[id as usize], &mut releases[id as usize]);
                note(&mut self.latency, now - *release);
                *release += task.period_ns;
                if *release > now { Next::Sleep(*release) } else { Next::Run(task.cost_ns) }
            }
            Load::Requests(requests) => {
                note(&mut self.latency, requests.done(id, now));
                requests.take(id).map_or(Next::Wait, Next::Run)
            }
        }
    }

    /// When the next request arrives, in nanoseconds.
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        match &self.load {
            Load::Requests(all) => all.requests.get(all.arrived).map(|request| request.at_ns),
            _ => None,
        }
    }

    /// A request arrives. Returns the worker that takes it, if one is free.
    pub(crate) fn arrive(&mut self) -> Option<u32> {
        let Load::Requests(requests) = &mut self.load else { return None };
        requests.arrived += 1;
        let worker = requests.free.pop_front()?;
        requests.take(worker).map(|_| worker)
    }

    /// Iterations of Fibonacci numbers that a thread has done with `used` nanoseconds.
    pub(crate) fn iterations(&self, id: u32, used: u64) -> u64 {
        match &self.load {
            Load::Fibtest(load) if id < load.fast => {
                (u128::from(used) * 1_000 / u128::from(load.iteration_ps)) as u64
            }
            Load::Fibtest(_) => self.bursts[id as usize] * SLOW_ITERATIONS,
            _ => 0,
        }
    }

    /// The run is over: latencies of what was done, how many requests were not, and when each
    /// request was done (0: never).
    pub(crate) fn finish(self) -> (Option<Histogram<u64>>, u64, Vec<u64>) {
        match self.load {
            Load::Requests(requests) => {
                let open = requests.done_at.iter().filter(|at| **at == 0).count();
                (self.latency, open as u64, requests.done_at)
            }
            _ => (self.latency, 0, Vec::new()),
        }
    }
}

fn note(latency: &mut Option<Histogram<u64>>, ns: u64) {
    if let Some(latency) = latency {
        latency.saturating_record(ns.max(1));
    }
}

impl<'a> Requests<'a> {
    fn new(requests: Cow<'a, [Request]>, workers: u32) -> Self {
        Requests {
            arrived: 0,
            next: 0,
            serves: vec![0; workers as usize],
            free: (0..workers).collect(),
            done_at: vec![0; requests.len()],
            requests,
        }
    }

    fn service(&self, worker: u32) -> u64 {
        self.requests[self.serves[worker as usize]].service_ns.max(1)
    }

    /// Gives a worker the next request that waits, or lets it wait. Returns its service time.
    fn take(&mut self, worker: u32) -> Option<u64> {
        if self.next == self.arrived {
            self.free.push_back(worker);
            return None;
        }
        self.serves[worker as usize] = self.next;
        self.next += 1;
        Some(self.service(worker))
    }

    /// A worker has served its request. Returns the request's latency, in nanoseconds.
    fn done(&mut self, worker: u32, now: u64) -> u64 {
        let request = self.serves[worker as usize];
        self.done_at[request] = now;
        now - self.requests[request].at_ns
    }
}
