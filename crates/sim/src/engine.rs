//! The simulation engine: events, CPUs, threads and the controller together.

use crate::config::{Config, TickLayout};
use crate::controller::Controller;
use crate::cpu_set::CpuSet;
use crate::error::Error;
use crate::queue::EventQueue;
use crate::result::{Outcome, QuotaSpent, Stranded, ThreadUse};
use crate::scheduler::{ENDLESS, NOBODY, RunQueue, Task};
use crate::threads::{Next, Threads};
use crate::workload::Workload;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Random stream for the phases of timers.
const PHASE_STREAM: u64 = 2;

/// Simulates a load in a group under a quota.
///
/// The same configuration and load give the same outcome, bit for bit.
///
/// # Errors
/// If the configuration or the load is out of range.
pub fn simulate(config: &Config, workload: &Workload) -> Result<Outcome, Error> {
    simulate_requests(config, workload).map(|(outcome, _)| outcome)
}

/// The same as [`simulate`]. It also returns the time at which each request was finished, in
/// nanoseconds; 0 if never.
pub(crate) fn simulate_requests(
    config: &Config,
    workload: &Workload,
) -> Result<(Outcome, Vec<u64>), Error> {
    config.check()?;
    workload.check(config)?;
    let mut engine = Engine::new(config, workload)?;
    engine.run();
    Ok(engine.finish())
}

/// Actors in the event queue: first the CPUs, then the threads, then these.
struct Actors {
    first_task: u32,
    period_timer: u32,
    slack_timer: u32,
    distribution: u32,
    arrivals: u32,
}

struct Engine<'a> {
    config: &'a Config,
    queue: EventQueue,
    actors: Actors,
    controller: Controller,
    cpus: Vec<RunQueue>,
    tasks: Vec<Task>,
    threads: Threads<'a>,
    /// The controller's timers as last passed to the queue.
    timers: [Option<u64>; 3],
    tick: u64,
    tick_phase: u64,
    /// CPUs without a task, and CPUs with a waiting task, if threads may move.
    idle: CpuSet,
    spare: CpuSet,
    may_move: bool,
    events: u64,
}

impl<'a> Engine<'a> {
    fn new(config: &'a Config, workload: &'a Workload) -> Result<Self, Error> {
        let threads = Threads::new(config, workload)?;
        let tasks = threads.tasks(config.cpus);
        let first_timer = config.cpus + tasks.len() as u32;
        let actors = Actors {
            first_task: config.cpus,
            period_timer: first_timer,
            slack_timer: first_timer + 1,
            distribution: first_timer + 2,
            arrivals: first_timer + 3,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
        rng.set_stream(PHASE_STREAM);
        // Both are always drawn, so that setting one of them does not change the other.
        let (drawn_tick, drawn_period) =
            (rng.random_range(0..config.tick_ns()), rng.random_range(1..=config.period_ns));
        let mut idle = CpuSet::new(config.cpus);
        (0..config.cpus).for_each(|cpu| idle.set(cpu, true));
        let first_refill = config.period_phase_ns.unwrap_or(drawn_period);
        let mut engine = Engine {
            config,
            queue: EventQueue::new(first_timer as usize + 4, config.duration_ns),
            actors,
            controller: Controller::new(config, first_refill),
            cpus: (0..config.cpus).map(|_| RunQueue::new()).collect(),
            may_move: threads.may_move(),
            tasks,
            threads,
            timers: [None; 3],
            tick: config.tick_ns(),
            tick_phase: config.tick_phase_ns.unwrap_or(drawn_tick),
            idle,
            spare: CpuSet::new(config.cpus),
            events: 0,
        };
        engine.set_first_events();
        Ok(engine)
    }

    fn set_first_events(&mut self) {
        for id in 0..self.tasks.len() as u32 {
            if let Some(at) = self.threads.first_wake(id) {
                self.queue.set(self.actors.first_task + id, at);
            }
        }
        self.await_arrival();
        self.sync_timers();
    }

    fn run(&mut self) {
        while let Some((now, actor)) = self.queue.pop() {
            self.events += 1;
            self.step(now, actor);
            self.resume_unthrottled(now);
            self.sync_timers();
        }
    }

    fn step(&mut self, now: u64, actor: u32) {
        let Actors { first_task, period_timer, slack_timer, distribution, .. } = self.actors;
        if actor < first_task {
            self.on_cpu(actor, now);
        } else if actor < period_timer {
            self.wake(actor - first_task, now);
        } else if actor == period_timer {
            self.timers[0] = None;
            self.controller.on_period_timer(now);
        } else if actor == slack_timer {
            self.timers[1] = None;
            self.controller.on_slack_timer(now);
        } else if actor == distribution {
            self.timers[2] = None;
            self.controller.on_distribution_step(now);
        } else {
            if let Some(worker) = self.threads.arrive() {
                self.wake(worker, now);
            }
            self.await_arrival();
        }
    }

    fn await_arrival(&mut self) {
        if let Some(at) = self.threads.next_arrival() {
            self.queue.set(self.actors.arrivals, at);
        }
    }

    /// Passes the controller's timers on to the queue.
    fn sync_timers(&mut self) {
        let wanted = [self.controller.period_at, self.controller.slack_at, self.controller.step_at];
        if wanted == self.timers {
            return;
        }
        for (index, at) in wanted.into_iter().enumerate() {
            let actor = self.actors.period_timer + index as u32;
            match at {
                Some(at) => self.queue.set(actor, at),
                None => self.queue.cancel(actor),
            }
        }
        self.timers = wanted;
    }

    /// A tick, or the end of a burst of work.
    fn on_cpu(&mut self, cpu: u32, now: u64) {
        self.settle(cpu, now);
        let id = self.cpus[cpu as usize].current;
        if id != NOBODY && self.tasks[id as usize].left == 0 {
            match self.threads.done(id, now) {
                Next::Run(burst) => self.tasks[id as usize].left = burst,
                Next::Sleep(until) => {
                    self.queue.set(self.actors.first_task + id, until);
                    self.leave(cpu, now);
                }
                Next::Wait => self.leave(cpu, now),
            }
        }
        self.reschedule(cpu, now);
        if self.may_move {
            self.pull(cpu, now);
        }
    }

    /// Charges the time that the running task has used.
    fn settle(&mut self, cpu: u32, now: u64) {
        let queue = &mut self.cpus[cpu as usize];
        if queue.current != NOBODY {
            let ran = queue.charge(&mut self.tasks, now);
            self.controller.account(cpu, now, ran);
        }
    }

    /// The running task goes to sleep.
    fn leave(&mut self, cpu: u32, now: u64) {
        let queue = &mut self.cpus[cpu as usize];
        queue.drop_current();
        if queue.is_empty() {
            self.controller.leave(cpu, now);
            if self.may_move {
                self.idle.set(cpu, true);
            }
        }
    }

    fn wake(&mut self, id: u32, now: u64) {
        let burst = self.threads.burst(id);
        if self.may_move {
            self.choose_cpu(id);
        }
        let in_user_mode = !self.config.rules.throttle_at_user_return;
        let task = &mut self.tasks[id as usize];
        task.left = burst;
        task.in_kernel = if in_user_mode { 0 } else { self.config.return_to_user_ns.min(burst) };
        let cpu = task.cpu;
        self.enqueue(id, cpu, now);
    }

    /// Chooses the CPU of a waking thread: its last CPU if that is idle, else the next idle one.
    fn choose_cpu(&mut self, id: u32) {
        let from = self.tasks[id as usize].cpu;
        let Some(to) = self.idle.next_from(from).filter(|to| *to != from) else { return };
        self.cpus[from as usize].forget(&mut self.tasks[id as usize]);
        self.cpus[to as usize].receive(&mut self.tasks, id, to);
    }

    fn enqueue(&mut self, id: u32, cpu: u32, now: u64) {
        let throttled = self.controller.is_throttled(cpu);
        let was_empty = self.cpus[cpu as usize].is_empty();
        self.settle(cpu, now);
        let kernel_only = throttled && self.config.rules.throttle_at_user_return;
        let queue = &mut self.cpus[cpu as usize];
        queue.wake(&mut self.tasks, id, kernel_only);
        if !throttled && queue.wakeup_preempts(&self.tasks) {
            queue.put_back(&self.tasks);
        }
        if was_empty {
            self.controller.enter(cpu, now);
            if self.may_move {
                self.idle.set(cpu, false);
            }
        }
        self.reschedule(cpu, now);
    }

    /// Decides which task runs on a CPU, and when the next event of the CPU is.
    fn reschedule(&mut self, cpu: u32, now: u64) {
        let controller = &mut self.controller;
        let throttled = controller.is_throttled(cpu)
            || (!controller.may_run(cpu) && controller.throttle(cpu, now));
        let queue = &mut self.cpus[cpu as usize];
        if throttled {
            let at_user_return = self.config.rules.throttle_at_user_return;
            let in_kernel =
                self.tasks.get(queue.current as usize).is_some_and(|task| task.in_kernel > 0);
            if !(at_user_return && in_kernel) {
                queue.put_back(&self.tasks);
                queue.pick_in_kernel(now);
            }
        } else {
            if queue.turn_is_over(&self.tasks, now) {
                queue.put_back(&self.tasks);
            }
            if queue.current == NOBODY {
                queue.pick(now);
            }
        }
        if self.may_move {
            let spare = !throttled && queue.current != NOBODY && queue.has_waiting();
            self.spare.set(cpu, spare);
        }
        self.set_next_event(cpu, throttled, now);
    }

    /// Sets the next event of the CPU: a tick, or the end of the running task's time.
    fn set_next_event(&mut self, cpu: u32, throttled: bool, now: u64) {
        let queue = &self.cpus[cpu as usize];
        let Some(task) = self.tasks.get(queue.current as usize) else {
            return self.queue.cancel(cpu);
        };
        let may_run = if throttled { task.in_kernel.min(task.left) } else { task.left };
        let next_tick = self.next_tick(cpu, now);
        let end = if may_run == ENDLESS { next_tick } else { queue.charged_to() + may_run };
        self.queue.set(cpu, end.min(next_tick));
    }

    fn next_tick(&self, cpu: u32, now: u64) -> u64 {
        let skew = match self.config.tick_layout {
            TickLayout::Aligned => 0,
            TickLayout::Skewed => self.tick / 2 * u64::from(cpu) / u64::from(self.config.cpus),
        };
        let since_tick = (now + self.tick - (self.tick_phase + skew) % self.tick) % self.tick;
        now + self.tick - since_tick
    }

    /// An idle CPU takes a waiting thread from another CPU.
    fn pull(&mut self, cpu: u32, now: u64) {
        if !self.cpus[cpu as usize].is_empty() || self.controller.is_throttled(cpu) {
            return;
        }
        let Some(from) = self.spare.next_from(cpu) else { return };
        let source = &mut self.cpus[from as usize];
        let Some(id) = source.give_away(&mut self.tasks) else { return };
        if !source.has_waiting() {
            self.spare.set(from, false);
        }
        self.cpus[cpu as usize].receive(&mut self.tasks, id, cpu);
        self.enqueue(id, cpu, now);
    }

    fn resume_unthrottled(&mut self, now: u64) {
        while let Some(cpu) = self.controller.unthrottled.pop_front() {
            self.cpus[cpu as usize].release(&self.tasks);
            self.reschedule(cpu, now);
            if self.may_move {
                self.pull(cpu, now);
            }
        }
    }

    fn finish(mut self) -> (Outcome, Vec<u64>) {
        let end = self.config.duration_ns;
        for cpu in 0..self.config.cpus {
            self.settle(cpu, end);
        }
        self.controller.finish(end);
        let threads = self.tasks.iter().enumerate().map(|(id, task)| ThreadUse {
            used_ns: task.used,
            bursts: self.threads.bursts[id],
            iterations: self.threads.iterations(id as u32, task.used),
        });
        let threads = threads.collect();
        let quota = self.quota_spent(end);
        let tally = &self.controller.tally;
        let (latency, unfinished, done_at) = self.threads.finish();
        let outcome = Outcome {
            usage_ns: tally.used,
            entitled_ns: self.config.entitled_ns(),
            nr_periods: tally.periods,
            nr_throttled: tally.throttled_periods,
            longest_throttled: tally.longest_streak,
            throttled_ns: tally.throttled_ns,
            nr_bursts: tally.bursts,
            burst_used_ns: tally.burst_ns,
            quota,
            threads,
            latency,
            unfinished,
            events: self.events,
        };
        (outcome, done_at)
    }

    fn quota_spent(&self, end: u64) -> QuotaSpent {
        let (tally, stranded) = (&self.controller.tally, &self.controller.stranded);
        let (pool, held, owed) = self.controller.left();
        QuotaSpent {
            granted_ns: tally.granted,
            overdrawn_ns: tally.overdrawn,
            used_ns: tally.used,
            expired_ns: tally.expired,
            unused_ns: tally.unused,
            returned_ns: tally.returned,
            pool_at_end_ns: pool,
            held_at_end_ns: held,
            owed_at_end_ns: owed,
            stranded: Stranded {
                mean_ns: stranded.mean(end),
                most_ns: stranded.most,
                mean_at_period_end_ns: stranded.mean_at_end(),
                most_at_period_end_ns: stranded.most_at_end,
            },
        }
    }
}
