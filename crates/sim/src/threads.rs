//! The next action of each thread: the loads from the scheduler's view.

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

/// The largest recorded latency, in nanoseconds: over two hours, longer than any run.
const MOST_LATENCY_NS: u64 = 1 << 43;

/// Iterations of a slow thread between two sleeps.
const SLOW_ITERATIONS: u64 = 100;

/// The action of a thread after a burst of work.
pub(crate) enum Next {
    /// It continues at once, for this CPU time in nanoseconds.
    Run(u64),
    /// It sleeps until this time, in nanoseconds.
    Sleep(u64),
    /// It waits for work.
    Wait,
}

/// The threads of a load.
pub(crate) struct Threads<'a> {
    load: Load<'a>,
    /// The number of finished bursts of each thread.
    pub(crate) bursts: Vec<u64>,
    latency: Option<Histogram<u64>>,
    rng: ChaCha8Rng,
}

enum Load<'a> {
    Fibtest(Fibtest),
    /// Periodic tasks, and the release time of the current job of each, in nanoseconds.
    Periodic(Vec<Periodic>, Vec<u64>),
    Requests(Requests<'a>),
}

struct Requests<'a> {
    requests: Cow<'a, [Request]>,
    arrived: usize,
    /// The next request to serve.
    next: usize,
    /// The request that each worker serves.
    serves: Vec<usize>,
    /// Workers without a request, the longest idle first.
    free: VecDeque<u32>,
    /// The finish time of each request, or 0.
    done_at: Vec<u64>,
}

impl<'a> Threads<'a> {
    /// The threads of a load that passed its check.
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

    /// The first wakeup of a thread, in nanoseconds. None if it waits for work.
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
            // With equal bursts all CPUs would run in lockstep, which no real machine does.
            Load::Fibtest(load) => {
                self.rng.random_range(load.slow_burst_ns.div_ceil(2)..=load.slow_burst_ns * 3 / 2)
            }
            Load::Periodic(tasks, _) => tasks[id as usize].cost_ns,
            Load::Requests(requests) => requests.service(id),
        }
    }

    /// A thread has finished its burst.
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
                requests.next_request(id).map_or(Next::Wait, Next::Run)
            }
        }
    }

    /// The arrival of the next request, in nanoseconds.
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
        requests.next_request(worker).map(|_| worker)
    }

    /// Fibonacci iterations that a thread has done in `used` nanoseconds.
    pub(crate) fn iterations(&self, id: u32, used: u64) -> u64 {
        match &self.load {
            Load::Fibtest(load) if id < load.fast => {
                (u128::from(used) * 1_000 / u128::from(load.iteration_ps)) as u64
            }
            Load::Fibtest(_) => self.bursts[id as usize] * SLOW_ITERATIONS,
            _ => 0,
        }
    }

    /// The run ends. Returns the latencies of finished requests or jobs, the number of unfinished
    /// requests, and the finish time of each request (0: never).
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

    /// Gives a worker the next waiting request, or marks it as free. Returns the request's CPU
    /// time.
    fn next_request(&mut self, worker: u32) -> Option<u64> {
        if self.next == self.arrived {
            self.free.push_back(worker);
            return None;
        }
        self.serves[worker as usize] = self.next;
        self.next += 1;
        Some(self.service(worker))
    }

    /// A worker has finished its request. Returns the latency of the request, in nanoseconds.
    fn done(&mut self, worker: u32, now: u64) -> u64 {
        let request = self.serves[worker as usize];
        self.done_at[request] = now;
        now - self.requests[request].at_ns
    }
}
