//! How long each CPU was idle and in hard interrupts, from /proc/stat.

use host::roots::{Roots, read_text};
use std::collections::HashMap;

/// Idle time and time in hard interrupts of each CPU since the machine started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Idle {
    cpus: HashMap<u32, Times>,
}

/// The times of a CPU, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    idle_ns: u64,
    interrupts_ns: u64,
}

impl Idle {
    /// Reads /proc/stat; empty if it cannot be read.
    pub fn read(roots: &Roots) -> Self {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Idle::parse(&read_text(&roots.proc.join("stat")).unwrap_or_default(), tick_ns)
    }

    /// Idle and interrupt times in the text of /proc/stat, with one tick of `tick_ns`
    /// nanoseconds.
    pub fn parse(text: &str, tick_ns: u64) -> Self {
        let mut all = Idle::default();
        let mut cpu = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
            let cpu = words.next()?.parse().ok()?;
            let mut ticks = words.skip(3).map(|word| word.parse::<u64>().unwrap_or(0));
            // Idle, and idle while a task waits for a disk.
            let idle = ticks.next()?.saturating_add(ticks.next().unwrap_or(0));
            // Only hard interrupts: a soft interrupt is often caused by what the program itself
            // sends.
            let interrupts = ticks.next().unwrap_or(0);
            let times = Times {
                idle_ns: idle.saturating_mul(tick_ns),
                interrupts_ns: interrupts.saturating_mul(tick_ns),
            };
            all.cpus.insert(cpu, times);
            Some(())
        };
        text.lines().filter(|line| !line.starts_with("cpu ")).for_each(|line| {
            cpu(line);
        });
        all
    }

    /// Time that all CPUs together spent in hard interrupts since an earlier reading. A CPU that
    /// was offline then does not count.
    pub fn interrupts_since(&self, before: &Idle) -> u64 {
        let of = |(cpu, now): (&u32, &Times)| {
            let before = before.cpus.get(cpu)?;
            Some(now.interrupts_ns.saturating_sub(before.interrupts_ns))
        };
        self.cpus.iter().filter_map(of).fold(0, u64::saturating_add)
    }

    /// The numbers of the CPUs that are online.
    pub fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.cpus.keys().copied()
    }

    /// How long a CPU was idle since an earlier reading. A CPU that was offline then counts as
    /// busy.
    pub fn since(&self, before: &Idle, cpu: u32) -> u64 {
        let both = self.cpus.get(&cpu).zip(before.cpus.get(&cpu));
        both.map_or(0, |(now, before)| now.idle_ns.saturating_sub(before.idle_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn idle_time_is_that_of_one_cpu() {
        let text = "cpu  9 9 9 999 9 9\ncpu0 1 2 3 40 5 6\ncpu1 1 2 3 70 0\nintr 5\n";
        let now = Idle::parse(text, 10);
        assert_eq!(now.since(&Idle::parse("cpu0 0 0 0 0 0", 10), 0), 450);
        assert_eq!(now.since(&Idle::default(), 0), 0, "it was offline before");
        assert_eq!(now.since(&Idle::parse("cpu1 1 2 3 60 0", 10), 1), 100);
        assert_eq!(now.since(&Idle::default(), 7), 0);
    }

    #[test]
    fn interrupts_are_those_of_cpus_that_were_online_before() {
        let now = Idle::parse("cpu0 1 2 3 40 5 6\ncpu1 1 2 3 70 0 900\n", 10);
        let before = |text: &str| now.interrupts_since(&Idle::parse(text, 10));
        assert_eq!(before("cpu0 0 0 0 0 0 2\ncpu1 0 0 0 0 0 899\n"), 50);
        assert_eq!(before("cpu0 0 0 0 0 0 2\n"), 40, "the other one was offline");
        assert_eq!(before(""), 0);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(cpu[0-9 ]{0,30}\n){0,5}.{0,50}") {
            Idle::parse(&text, 10_000_000);
        }
    }
}
