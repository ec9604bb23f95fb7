//! The run queues of the group's tasks: a minimal fair scheduler that decides what runs.
//!
//! A CPU runs the task with the smallest virtual runtime. A waking task preempts the running task
//! if it is far enough behind it. At a tick, a task that has used its time slice is preempted.
//! All tasks have the same weight, and no other load runs on the CPU.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No task.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Work that never ends.
pub(crate) const ENDLESS: u64 = u64::MAX;

/// Running time of a task before a tick may preempt it, in nanoseconds.
const TURN_NS: u64 = 3_000_000;

/// How far a waking task may be behind the others, in nanoseconds of virtual runtime.
const SLEEPER_CREDIT_NS: u64 = 3_000_000;

/// How far a waking task must be behind to preempt, in nanoseconds of virtual runtime.
const PREEMPTS_NS: u64 = 1_000_000;

/// A task of the group.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// The CPU that it is on or was last on.
    pub(crate) cpu: u32,
    vruntime: u64,
    /// Remaining CPU time of its burst, in nanoseconds, or [`ENDLESS`].
    pub(crate) left: u64,
    /// The part of it that is spent in the kernel before the return to user mode.
    pub(crate) in_kernel: u64,
    pub(crate) used: u64,
}

impl Task {
    /// A sleeping task.
    pub(crate) fn on(cpu: u32) -> Self {
        Task { cpu, vruntime: 0, left: 0, in_kernel: 0, used: 0 }
    }
}

/// The run queue of one CPU.
#[derive(Debug)]
pub(crate) struct RunQueue {
    /// The running task, or [`NOBODY`].
    pub(crate) current: u32,
    /// The time up to which the running task was charged.
    charged_to: u64,
    turn_since: u64,
    min_vruntime: u64,
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// Tasks that woke while the CPU was throttled. They may run until they reach user mode.
    leaving_kernel: VecDeque<u32>,
}

impl RunQueue {
    pub(crate) fn new() -> Self {
        RunQueue {
            current: NOBODY,
            charged_to: 0,
            turn_since: 0,
            min_vruntime: 0,
            ready: BinaryHeap::new(),
            leaving_kernel: VecDeque::new(),
        }
    }

    /// The time up to which the running task was charged, in nanoseconds.
    pub(crate) fn charged_to(&self) -> u64 {
        self.charged_to
    }

    /// Whether no task is runnable here.
    pub(crate) fn is_empty(&self) -> bool {
        self.current == NOBODY && self.ready.is_empty() && self.leaving_kernel.is_empty()
    }

    /// Whether a task waits for this CPU.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Charges the running task up to `now`. Returns its running time, in nanoseconds.
    pub(crate) fn charge(&mut self, tasks: &mut [Task], now: u64) -> u64 {
        let ran = now - self.charged_to;
        self.charged_to = now;
        if self.current == NOBODY {
            return 0;
        }
        let task = &mut tasks[self.current as usize];
        task.vruntime += ran;
        task.used += ran;
        task.in_kernel = task.in_kernel.saturating_sub(ran);
        if task.left != ENDLESS {
            task.left = task.left.saturating_sub(ran);
        }
        ran
    }

    /// Queues a waking task. With `kernel_only` it may only run until it reaches user mode.
    pub(crate) fn wake(&mut self, tasks: &mut [Task], id: u32, kernel_only: bool) {
        let task = &mut tasks[id as usize];
        let least = self.least_vruntime(task.vruntime, tasks);
        let task = &mut tasks[id as usize];
        task.vruntime = task.vruntime.max(least.saturating_sub(SLEEPER_CREDIT_NS));
        if kernel_only {
            self.leaving_kernel.push_back(id);
        } else {
            self.ready.push(Reverse((task.vruntime, id)));
        }
    }

    /// The smallest virtual runtime of the queue, which never decreases.
    fn least_vruntime(&mut self, own: u64, tasks: &[Task]) -> u64 {
        let running = tasks.get(self.current as usize).map(|task| task.vruntime);
        let waiting = self.ready.peek().map(|Reverse((vruntime, _))| *vruntime);
        let least = running.into_iter().chain(waiting).min().unwrap_or(own);
        self.min_vruntime = self.min_vruntime.max(least);
        self.min_vruntime
    }

    /// Whether a waiting task is so far behind the running task that it preempts it at once.
    pub(crate) fn wakeup_preempts(&self, tasks: &[Task]) -> bool {
        self.waiting_is_behind(tasks, PREEMPTS_NS)
    }

    /// Whether the running task has used its time slice and a waiting task is behind it.
    pub(crate) fn turn_is_over(&self, tasks: &[Task], now: u64) -> bool {
        now - self.turn_since >= TURN_NS && self.waiting_is_behind(tasks, 0)
    }

    fn waiting_is_behind(&self, tasks: &[Task], by: u64) -> bool {
        let running = tasks.get(self.current as usize);
        match (running, self.ready.peek()) {
            (Some(task), Some(Reverse((vruntime, _)))) => vruntime + by < task.vruntime,
            _ => false,
        }
    }

    /// Puts the running task back into the queue.
    pub(crate) fn put_back(&mut self, tasks: &[Task]) {
        let id = self.drop_current();
        if let Some(task) = tasks.get(id as usize) {
            self.ready.push(Reverse((task.vruntime, id)));
        }
    }

    /// Removes the running task and returns it.
    pub(crate) fn drop_current(&mut self) -> u32 {
        std::mem::replace(&mut self.current, NOBODY)
    }

    /// Runs the task with the smallest virtual runtime. Returns whether there is one.
    pub(crate) fn pick(&mut self, now: u64) -> bool {
        let next = self.ready.pop().map(|Reverse((_, id))| id);
        self.run(next, now)
    }

    /// Runs a task that has not yet left the kernel. Returns whether there is one.
    pub(crate) fn pick_in_kernel(&mut self, now: u64) -> bool {
        let next = self.leaving_kernel.pop_front();
        self.run(next, now)
    }

    fn run(&mut self, next: Option<u32>, now: u64) -> bool {
        let Some(id) = next else { return false };
        self.current = id;
        self.charged_to = now;
        self.turn_since = now;
        true
    }

    /// The CPU is unthrottled: all tasks may run in user mode again.
    pub(crate) fn release(&mut self, tasks: &[Task]) {
        while let Some(id) = self.leaving_kernel.pop_front() {
            self.ready.push(Reverse((tasks[id as usize].vruntime, id)));
        }
    }

    /// Removes a waiting task. Its virtual runtime becomes relative to the minimum of this queue.
    pub(crate) fn give_away(&mut self, tasks: &mut [Task]) -> Option<u32> {
        let Reverse((_, id)) = self.ready.pop()?;
        let task = &mut tasks[id as usize];
        task.vruntime = task.vruntime.saturating_sub(self.min_vruntime);
        Some(id)
    }

    /// A task arrives from another queue.
    pub(crate) fn receive(&self, tasks: &mut [Task], id: u32, cpu: u32) {
        let task = &mut tasks[id as usize];
        task.cpu = cpu;
        task.vruntime += self.min_vruntime;
    }

    /// A sleeping task will wake on another CPU.
    pub(crate) fn forget(&self, task: &mut Task) {
        task.vruntime = task.vruntime.saturating_sub(self.min_vruntime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(count: u32) -> Vec<Task> {
        (0..count).map(|_| Task { left: ENDLESS, ..Task::on(0) }).collect()
    }

    #[test]
    fn two_busy_tasks_take_turns() {
        let mut tasks = tasks(2);
        let mut queue = RunQueue::new();
        queue.wake(&mut tasks, 0, false);
        queue.wake(&mut tasks, 1, false);
        assert!(queue.pick(0));
        for tick in 1..=100u64 {
            let now = tick * 4_000_000;
            queue.charge(&mut tasks, now);
            if queue.turn_is_over(&tasks, now) {
                queue.put_back(&tasks);
                assert!(queue.pick(now));
            }
        }
        assert!(tasks[0].used.abs_diff(tasks[1].used) <= 4_000_000);
        assert_eq!(tasks[0].used + tasks[1].used, 400_000_000);
    }

    #[test]
    fn a_task_that_slept_preempts_but_gets_no_more_than_its_credit() {
        let mut tasks = tasks(2);
        let mut queue = RunQueue::new();
        queue.wake(&mut tasks, 0, false);
        assert!(queue.pick(0));
        queue.charge(&mut tasks, 1_000_000_000);
        queue.wake(&mut tasks, 1, false);
        assert!(queue.wakeup_preempts(&tasks));
        assert_eq!(tasks[1].vruntime, 1_000_000_000 - SLEEPER_CREDIT_NS);
    }

    #[test]
    fn a_task_may_leave_the_kernel_on_a_throttled_cpu() {
        let mut tasks = tasks(1);
        let mut queue = RunQueue::new();
        queue.wake(&mut tasks, 0, true);
        assert!(!queue.pick(5) && !queue.is_empty());
        assert!(queue.pick_in_kernel(5));
        queue.put_back(&tasks);
        assert!(queue.has_waiting());
    }
}
