//! The bandwidth controller: a pool for the group, an account for each CPU, two timers.
//!
//! It has no notion of tasks. The engine reports the CPU time that was used, and asks what may
//! continue to run. The `*_at` fields hold the times at which the engine must call it next.

use crate::config::Config;
use crate::era::Rules;
use crate::tally::{Idle, Tally};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// Runtime that a CPU keeps when its last task leaves (`min_cfs_rq_runtime`).
const KEEPS_NS: i64 = MS as i64;

/// Delay from a return of runtime to its distribution (`cfs_bandwidth_slack_period`).
const SLACK_NS: u64 = 5 * MS;

/// The slack timer does nothing if a refill is closer than this (`min_bandwidth_expiration`).
const TOO_LATE_NS: u64 = 2 * MS;

/// The account of one CPU.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) remaining: i64,
    /// [slices expire] The time at which `remaining` expires. `sequence` is the refill it came
    /// from.
    pub(crate) deadline: u64,
    sequence: u64,
    pub(crate) throttled: bool,
    /// The time from which its throttling counts.
    pub(crate) throttled_since: Option<u64>,
    /// Whether the CPU has nothing to run.
    pub(crate) empty: bool,
}

/// A distribution in progress, during which other CPUs use the same pool.
#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    /// The rest of the snapshot.
    pub(crate) budget: u64,
    pub(crate) given: u64,
    /// Throttled CPUs that it still has to visit.
    pub(crate) left: usize,
    pub(crate) by_period_timer: bool,
}

/// The controller of one group.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) rules: Rules,
    quota: Option<u64>,
    period: u64,
    burst: u64,
    slice: u64,
    tick: u64,
    pub(crate) step: u64,
    pub(crate) pool: u64,
    /// The pool after the last refill; used to compute how much of a burst was used.
    pool_after_refill: u64,
    pub(crate) deadline: u64,
    sequence: u64,
    idle: bool,
    next_refill: u64,
    pub(crate) locals: Vec<Local>,
    pub(crate) throttled: VecDeque<u32>,
    /// CPUs that were throttled during a distribution. It does not visit them.
    pub(crate) throttled_meanwhile: VecDeque<u32>,
    pub(crate) distribution: Option<Distribution>,
    /// Time at which the period timer fires. None while it is stopped.
    pub(crate) period_at: Option<u64>,
    /// Time at which the slack timer fires. None while it is not armed.
    pub(crate) slack_at: Option<u64>,
    /// Time at which the distribution in progress visits its next CPU.
    pub(crate) step_at: Option<u64>,
    /// CPUs that were unthrottled and that the engine has not processed yet.
    pub(crate) unthrottled: VecDeque<u32>,
    pub(crate) tally: Tally,
    pub(crate) stranded: Idle,
}

impl Controller {
    /// A controller with a full pool, CPUs without tasks, and a running period timer.
    pub(crate) fn new(config: &Config, first_refill: u64) -> Self {
        let local = Local {
            remaining: 0,
            deadline: 0,
            sequence: 0,
            throttled: false,
            throttled_since: None,
            empty: true,
        };
        let cpus = config.cpus as usize;
        let pool = config.quota_ns.map_or(0, |quota| quota + config.burst_ns);
        Controller {
            rules: config.rules,
            quota: config.quota_ns,
            period: config.period_ns,
            burst: config.burst_ns,
            slice: config.slice_ns,
            tick: config.tick_ns(),
            step: config.distribution_step_ns,
            pool,
            pool_after_refill: pool,
            deadline: first_refill,
            sequence: 1,
            idle: false,
            next_refill: first_refill,
            locals: vec![local; cpus],
            throttled: VecDeque::with_capacity(cpus),
            throttled_meanwhile: VecDeque::with_capacity(cpus),
            distribution: None,
            period_at: config.quota_ns.map(|_| first_refill),
            slack_at: None,
            step_at: None,
            unthrottled: VecDeque::with_capacity(cpus),
            tally: Tally { granted: pool, ..Tally::default() },
            stranded: Idle::default(),
        }
    }

    /// Charges the time that ran on a CPU. If its runtime is used up, it fetches more from the
    /// pool.
    pub(crate) fn account(&mut self, cpu: u32, now: u64, ran: u64) {
        self.tally.used += ran;
        if self.quota.is_none() {
            return;
        }
        let local = &mut self.locals[cpu as usize];
        local.remaining -= ran as i64;
        if self.rules.slices_expire {
            self.expire(cpu, now);
        }
        let local = &self.locals[cpu as usize];
        if local.remaining <= 0 && !(local.throttled && self.rules.throttled_asks_nothing) {
            self.assign(cpu, now, self.slice as i64);
        }
    }

    /// Whether a CPU has runtime left.
    pub(crate) fn may_run(&self, cpu: u32) -> bool {
        self.quota.is_none() || self.locals[cpu as usize].remaining > 0
    }

    /// Whether a CPU is throttled.
    pub(crate) fn is_throttled(&self, cpu: u32) -> bool {
        self.locals[cpu as usize].throttled
    }

    /// A CPU without tasks gets its first task.
    pub(crate) fn enter(&mut self, cpu: u32, now: u64) {
        let local = &mut self.locals[cpu as usize];
        local.empty = false;
        let had = above_zero(local.remaining);
        if had > 0 {
            self.stranded.change(now, had, 0);
        }
        if !local.throttled {
            self.account(cpu, now, 0);
        } else if local.throttled_since.is_none() {
            local.throttled_since = Some(now);
        }
    }

    /// The last task of a CPU leaves. Runtime above the amount that a CPU keeps goes back to the
    /// pool.
    pub(crate) fn leave(&mut self, cpu: u32, now: u64) {
        let local = &mut self.locals[cpu as usize];
        local.empty = true;
        let surplus = local.remaining - KEEPS_NS;
        if surplus > 0 && self.quota.is_some() {
            local.remaining = KEEPS_NS;
            let welcome = !self.rules.slices_expire || local.deadline == self.deadline;
            self.give_back(surplus as u64, welcome, now);
        }
        let keeps = above_zero(self.locals[cpu as usize].remaining);
        self.stranded.change(now, 0, keeps);
    }

    fn give_back(&mut self, amount: u64, welcome: bool, now: u64) {
        if !welcome {
            self.tally.expired += amount;
            return;
        }
        self.pool += amount;
        self.tally.returned += amount;
        if self.pool > self.slice && self.somebody_throttled() {
            self.arm_slack_timer(now);
        }
    }

    /// Throttles a CPU without runtime. If the rules allow it, the CPU first asks the pool once
    /// more. Returns whether it is throttled.
    pub(crate) fn throttle(&mut self, cpu: u32, now: u64) -> bool {
        if self.rules.last_chance && self.assign(cpu, now, 1) {
            return false;
        }
        let counts_empty = !self.rules.throttle_at_user_return;
        let local = &mut self.locals[cpu as usize];
        local.throttled = true;
        local.throttled_since = (counts_empty || !local.empty).then_some(now);
        if self.distribution.is_some() {
            self.throttled_meanwhile.push_front(cpu);
        } else if self.rules.newest_first {
            self.throttled.push_front(cpu);
        } else {
            self.throttled.push_back(cpu);
        }
        self.start_period_timer(now);
        true
    }

    fn somebody_throttled(&self) -> bool {
        !self.throttled.is_empty() || !self.throttled_meanwhile.is_empty()
    }

    /// [slices expire] Removes the runtime of a CPU whose deadline has passed.
    fn expire(&mut self, cpu: u32, now: u64) {
        let local = &mut self.locals[cpu as usize];
        if now < local.deadline || local.remaining < 0 {
            return;
        }
        if local.sequence == self.sequence {
            // The pool's deadline has not passed: the clocks of the two CPUs differ.
            local.deadline += self.tick;
        } else {
            self.tally.expired += local.remaining as u64;
            local.remaining = 0;
        }
    }

    /// Fills a CPU's runtime up to `target`, as far as the pool allows. Returns whether it may
    /// run.
    fn assign(&mut self, cpu: u32, now: u64, target: i64) -> bool {
        self.start_period_timer(now);
        let local = &mut self.locals[cpu as usize];
        let amount = self.pool.min(above_zero(target - local.remaining));
        if amount > 0 {
            self.pool -= amount;
            self.idle = false;
        }
        if self.rules.slices_expire && local.sequence != self.sequence {
            local.sequence = self.sequence;
            local.deadline = self.deadline;
        }
        local.remaining += amount as i64;
        local.remaining > 0
    }

    fn start_period_timer(&mut self, now: u64) {
        if self.period_at.is_some() || self.quota.is_none() {
            return;
        }
        if self.next_refill <= now {
            let missed = (now - self.next_refill) / self.period + 1;
            self.next_refill += missed * self.period;
        }
        self.deadline = self.next_refill;
        self.sequence += 1;
        self.period_at = Some(self.next_refill);
    }

    fn arm_slack_timer(&mut self, now: u64) {
        let refilling = self.distribution.as_ref().is_some_and(|d| d.by_period_timer);
        if refilling || self.refill_within(now, SLACK_NS + TOO_LATE_NS) {
            return;
        }
        if self.slack_at.is_none() || self.rules.slack_pushed_back {
            self.slack_at = Some(now + SLACK_NS);
        }
    }

    fn refill_within(&self, now: u64, span: u64) -> bool {
        self.next_refill.saturating_sub(now) < span
    }

    /// The slack timer fires: returned runtime goes to throttled CPUs.
    pub(crate) fn on_slack_timer(&mut self, now: u64) {
        self.slack_at = None;
        if self.distribution.is_some() || self.refill_within(now, TOO_LATE_NS) {
            return;
        }
        if self.pool > self.slice {
            self.distribute(now, false);
        }
    }

    /// The period timer fires: the pool is refilled, and throttled CPUs get the runtime that they
    /// owe.
    pub(crate) fn on_period_timer(&mut self, now: u64) {
        let throttled = self.somebody_throttled();
        self.note_period(throttled);
        self.next_refill += self.period;
        if self.rules.burst {
            self.refill(now);
        }
        if self.idle && !throttled {
            self.period_at = None;
            return;
        }
        if !self.rules.burst {
            self.refill(now);
        }
        self.period_at = Some(self.next_refill);
        self.idle = !throttled;
        if throttled && self.distribution.is_none() {
            self.distribute(now, true);
        }
    }

    fn note_period(&mut self, throttled: bool) {
        let tally = &mut self.tally;
        tally.periods += 1;
        tally.streak = if throttled { tally.streak + 1 } else { 0 };
        tally.throttled_periods += u64::from(throttled);
        tally.longest_streak = tally.longest_streak.max(tally.streak);
        self.stranded.note_period_end();
    }

    fn refill(&mut self, now: u64) {
        let Some(quota) = self.quota else { return };
        let all = self.pool + quota;
        let most = quota + self.burst;
        self.pool = all.min(most);
        self.tally.granted += quota;
        self.tally.unused += all - self.pool;
        // Runtime that the last period used beyond its quota was carried over from an earlier
        // period.
        if self.rules.burst && self.pool_after_refill > all {
            self.tally.bursts += 1;
            self.tally.burst_ns += self.pool_after_refill - all;
        }
        self.pool_after_refill = self.pool;
        self.deadline = now + self.period;
        self.sequence += 1;
    }

    /// The run ends: settles the distribution and the throttled times in progress.
    pub(crate) fn finish(&mut self, now: u64) {
        if let Some(distribution) = self.distribution.take() {
            self.settle_distribution(&distribution);
        }
        for local in &mut self.locals {
            self.tally.throttled_ns += local.throttled_since.take().map_or(0, |since| now - since);
        }
    }

    /// Runtime in the pool, held by CPUs, and owed by CPUs, in nanoseconds.
    pub(crate) fn left(&self) -> (u64, u64, u64) {
        let held = self.locals.iter().map(|local| above_zero(local.remaining)).sum();
        let owed = self.locals.iter().map(|local| above_zero(-local.remaining)).sum();
        (self.pool, held, owed)
    }
}

pub(crate) fn above_zero(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}
