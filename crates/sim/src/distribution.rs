//! Distribution of the pool to throttled CPUs, with and without the race.

use crate::controller::{Controller, Distribution, above_zero};

impl Controller {
    /// Distributes the pool to throttled CPUs: at once, or in steps between which other CPUs may
    /// run.
    pub(crate) fn distribute(&mut self, now: u64, by_period_timer: bool) {
        if self.rules.distribution_race && self.step > 0 {
            self.begin_distribution(now, by_period_timer);
            return;
        }
        while self.pool > 0
            && let Some(cpu) = self.throttled.pop_front()
        {
            self.pool -= self.pay(cpu, now, self.pool);
        }
    }

    fn begin_distribution(&mut self, now: u64, by_period_timer: bool) {
        let left = self.throttled.len();
        if left == 0 || self.pool == 0 {
            return;
        }
        self.distribution =
            Some(Distribution { budget: self.pool, given: 0, left, by_period_timer });
        self.step_at = Some(now + self.step);
    }

    /// [race] The distribution in progress visits its next CPU.
    pub(crate) fn on_distribution_step(&mut self, now: u64) {
        self.step_at = None;
        let Some(mut distribution) = self.distribution.take() else { return };
        if let Some(cpu) = self.throttled.pop_front() {
            let paid = self.pay(cpu, now, distribution.budget);
            distribution.budget -= paid;
            distribution.given += paid;
        }
        distribution.left -= 1;
        if distribution.left > 0 && distribution.budget > 0 {
            self.distribution = Some(distribution);
            self.step_at = Some(now + self.step);
            return;
        }
        self.settle_distribution(&distribution);
        if distribution.by_period_timer {
            self.begin_distribution(now, true);
        }
    }

    /// [race] The pool is charged only after the distribution, by no more than it still holds.
    pub(crate) fn settle_distribution(&mut self, distribution: &Distribution) {
        let charged = distribution.given.min(self.pool);
        self.pool -= charged;
        self.tally.overdrawn += distribution.given - charged;
        while let Some(cpu) = self.throttled_meanwhile.pop_back() {
            self.throttled.push_front(cpu);
        }
    }

    /// Pays the debt of a throttled CPU plus one nanosecond, out of `budget`. The CPU is then
    /// unthrottled; if the budget was too small, it becomes the first of the list. Returns the
    /// amount.
    fn pay(&mut self, cpu: u32, now: u64, budget: u64) -> u64 {
        let deadline = self.deadline;
        let local = &mut self.locals[cpu as usize];
        let amount = budget.min(above_zero(1 - local.remaining));
        local.remaining += amount as i64;
        if self.rules.slices_expire {
            local.deadline = deadline;
        }
        if local.remaining <= 0 {
            self.throttled.push_front(cpu);
            return amount;
        }
        local.throttled = false;
        self.tally.throttled_ns += local.throttled_since.take().map_or(0, |since| now - since);
        if local.empty {
            self.stranded.change(now, 0, above_zero(local.remaining));
        }
        self.unthrottled.push_back(cpu);
        amount
    }
}
