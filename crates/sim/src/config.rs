//! The machine, the group's limits and the run.

use crate::era::{Era, Rules};
use crate::error::Error;
use serde::Serialize;

const MS: u64 = 1_000_000;
const HOUR: u64 = 3_600_000 * MS;

/// Most CPUs that a machine may have.
pub(crate) const MOST_CPUS: u32 = 65_536;

/// Most CPU time that the load of a run may need, in CPU seconds: some minutes of simulation.
const MOST_CPU_SECONDS: u64 = 2_000_000;

/// The time offsets between the scheduler ticks of the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum TickLayout {
    /// All CPUs tick at the same time: the kernel's default.
    Aligned,
    /// Ticks are spread over half a tick period, as with `skew_tick=1`.
    Skewed,
}

/// Everything that a run depends on, except its load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    /// Number of CPUs of the machine. The group may use all of them.
    pub cpus: u32,
    /// Scheduler ticks per second on a busy CPU.
    pub hz: u32,
    /// The time offsets between the ticks of the CPUs.
    pub tick_layout: TickLayout,
    /// Time of the first tick of CPU 0, in nanoseconds. If None, it is drawn from the seed.
    pub tick_phase_ns: Option<u64>,
    /// CPU time that the group may use in a period, in nanoseconds. If None, there is no limit.
    pub quota_ns: Option<u64>,
    /// Length of a period, in nanoseconds.
    pub period_ns: u64,
    /// End of the first period, in nanoseconds after the load begins. If None, it is drawn from
    /// the seed, since the kernel's timer is independent of the load.
    pub period_phase_ns: Option<u64>,
    /// CPU time that may be carried over, in nanoseconds.
    pub burst_ns: u64,
    /// Runtime that a CPU takes from the pool at a time, in nanoseconds
    /// (`sched_cfs_bandwidth_slice_us`).
    pub slice_ns: u64,
    /// The era of the simulated kernel.
    pub era: Era,
    /// Its rules: [`Era::rules`], unless single rules were switched.
    pub rules: Rules,
    /// With the distribution race: time to give runtime to one throttled CPU, in nanoseconds.
    pub distribution_step_ns: u64,
    /// With throttling at the return to user mode: CPU time from wakeup to that return, in
    /// nanoseconds.
    pub return_to_user_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Length of the run, in nanoseconds.
    pub duration_ns: u64,
}

impl Config {
    /// A machine with a quota of 10 ms per 100 ms, for 5 s; HZ 250, burst 0, seed 1.
    pub fn new(cpus: u32, era: Era) -> Self {
        Config {
            cpus,
            hz: 250,
            tick_layout: TickLayout::Aligned,
            tick_phase_ns: None,
            quota_ns: Some(10 * MS),
            period_ns: 100 * MS,
            period_phase_ns: None,
            burst_ns: 0,
            slice_ns: 5 * MS,
            era,
            rules: era.rules(),
            distribution_step_ns: 1_000,
            return_to_user_ns: 1_000,
            seed: 1,
            duration_ns: 5_000 * MS,
        }
    }

    /// Length of a tick period, in nanoseconds.
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }

    /// CPU time that the group may use over the run, in nanoseconds: its quota for the length of
    /// the run, and at most the time of all CPUs.
    pub fn entitled_ns(&self) -> u64 {
        let machine = u128::from(self.cpus) * u128::from(self.duration_ns);
        let entitled = self.quota_ns.map_or(machine, |quota| {
            let share = u128::from(quota) * u128::from(self.duration_ns);
            machine.min(share / u128::from(self.period_ns.max(1)))
        });
        u64::try_from(entitled).unwrap_or(u64::MAX)
    }

    /// Most CPU time that a group may use beyond its quota, in nanoseconds. On each CPU this is
    /// one tick period, since the kernel checks only at ticks, and one return to user mode.
    pub fn overrun_ns(&self) -> u64 {
        u64::from(self.cpus) * (self.tick_ns() + self.return_to_user_ns)
    }

    /// Checks that the kernel would accept these limits, and that the model supports this
    /// machine.
    ///
    /// # Errors
    /// A sentence that names the value and its range.
    pub fn check(&self) -> Result<(), Error> {
        self.check_machine()?;
        self.check_limits()?;
        self.check_run()
    }

    fn check_machine(&self) -> Result<(), Error> {
        require((1..=MOST_CPUS).contains(&self.cpus), || {
            format!("{} CPUs: a machine has 1 to {MOST_CPUS}", self.cpus)
        })?;
        require((24..=10_000).contains(&self.hz), || {
            format!("HZ {}: a kernel ticks 24 to 10000 times a second", self.hz)
        })?;
        require(self.tick_phase_ns.is_none_or(|phase| phase <= self.tick_ns()), || {
            let phase = self.tick_phase_ns.unwrap_or(0);
            format!("a first tick at {phase} ns is later than one tick period")
        })?;
        require((1..=1_000 * MS).contains(&self.slice_ns), || {
            format!("a slice of {} ns: it has to be between 1 ns and 1 s", self.slice_ns)
        })
    }

    fn check_limits(&self) -> Result<(), Error> {
        require((MS..=1_000 * MS).contains(&self.period_ns), || {
            format!("a period of {} us: the kernel accepts 1 ms to 1 s", self.period_ns / 1_000)
        })?;
        let phase = self.period_phase_ns.unwrap_or(self.period_ns);
        require((1..=self.period_ns).contains(&phase), || {
            format!("a first period that ends at {phase} ns: it has to end within one period")
        })?;
        let Some(quota) = self.quota_ns else {
            return require(self.burst_ns == 0, || "a burst needs a quota".to_owned());
        };
        require(quota >= MS, || {
            format!("a quota of {} us: the kernel accepts 1 ms or more", quota / 1_000)
        })?;
        let most = u64::from(MOST_CPUS) * self.period_ns;
        require(quota <= most, || format!("a quota of {quota} ns is more than any machine has"))?;
        require(self.burst_ns <= quota, || {
            format!("a burst of {} us is above the quota of {} us", us(self.burst_ns), us(quota))
        })?;
        require(self.burst_ns == 0 || self.rules.burst, || {
            format!("a burst needs kernel 5.14 or later, not {}", self.era.versions())
        })
    }

    fn check_run(&self) -> Result<(), Error> {
        require((1..=HOUR).contains(&self.duration_ns), || {
            format!("a run of {} s: it may last at most an hour", self.duration_ns / 1_000_000_000)
        })?;
        let offered = u64::from(self.cpus).saturating_mul(self.duration_ns / 1_000_000_000);
        require(offered <= MOST_CPU_SECONDS, || {
            format!(
                "{} CPUs for {} s are too much to simulate; take fewer CPUs or a shorter run",
                self.cpus,
                self.duration_ns / 1_000_000_000
            )
        })?;
        let most = MS;
        require(self.distribution_step_ns <= most && self.return_to_user_ns <= most, || {
            "the distribution step and the return to user mode have to take at most 1 ms".to_owned()
        })
    }
}

fn us(ns: u64) -> u64 {
    ns / 1_000
}

fn require(holds: bool, sentence: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Config(sentence())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::new(4, Era::G);
        assert_eq!(config.check(), Ok(()));
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn a_value_out_of_range_is_named() {
        assert!(refused(|c| c.quota_ns = Some(999_999)).contains("1 ms or more"));
        assert!(refused(|c| c.period_ns = MS - 1).contains("1 ms to 1 s"));
        assert!(refused(|c| c.period_ns = 1_001 * MS).contains("1 ms to 1 s"));
        assert!(refused(|c| c.burst_ns = 11 * MS).contains("above the quota"));
        assert!(refused(|c| c.hz = 23).contains("HZ 23"));
        assert!(refused(|c| c.hz = 10_001).contains("HZ 10001"));
        assert!(refused(|c| c.cpus = 0).contains("0 CPUs"));
        assert!(refused(|c| c.cpus = 65_537).contains("65537 CPUs"));
        assert!(refused(|c| c.duration_ns = 0).contains("at most an hour"));
        assert!(refused(|c| c.duration_ns = u64::MAX).contains("at most an hour"));
        assert!(refused(|c| c.slice_ns = 0).contains("slice"));
        assert!(refused(|c| c.period_phase_ns = Some(0)).contains("first period"));
        assert!(refused(|c| c.tick_phase_ns = Some(MS * 5)).contains("first tick"));
        assert!(refused(|c| c.return_to_user_ns = 2 * MS).contains("at most 1 ms"));
        assert!(refused(|c| (c.cpus, c.duration_ns) = (65_536, HOUR)).contains("too much"));
    }

    #[test]
    fn a_burst_needs_a_quota_and_a_kernel_that_has_it() {
        let no_quota = refused(|c| (c.quota_ns, c.burst_ns) = (None, MS));
        assert!(no_quota.contains("needs a quota"));
        let old = refused(|c| (c.rules, c.burst_ns) = (Era::E.rules(), MS));
        assert!(old.contains("5.14"));
    }

    #[test]
    fn a_quota_beyond_the_machine_entitles_to_the_machine() {
        let mut config = Config::new(2, Era::G);
        assert_eq!(config.entitled_ns(), 500 * MS);
        config.quota_ns = Some(300 * MS);
        assert_eq!(config.entitled_ns(), 10_000 * MS);
        config.quota_ns = None;
        assert_eq!(config.entitled_ns(), 10_000 * MS);
    }
}
