//! The parameters of `held-mutex`.

use crate::params::{self, Auto, List, Quota, Time, YesNo, auto, between, choice, whole, whole_us};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// CPU time of a short section: it usually ends in the time slice in which it begins.
const SHORT: Time = Time::us(100);

/// The parameters of `held-mutex`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct HeldMutexParams {
    /// What takes the CPU from the thread that holds the mutex
    #[arg(long, default_value = "nice")]
    pub by: Cause,
    /// Whether the holder loses its CPU: yes makes the case, no makes the control
    #[arg(long, default_value = "yes")]
    pub held_up: YesNo,
    /// Nice value of the holder, with --by nice
    #[arg(long, default_value = "19", value_parser = whole(1_u32..=19))]
    pub nice: u32,
    /// CPU quota of the holder's group, with --by quota: CPU time per period
    #[arg(long, default_value = "8ms/100ms", value_parser = str::parse::<Quota>)]
    pub quota: Quota,
    /// CPU time with the mutex held, per section
    #[arg(long, default_value = "5ms", value_parser = whole_us(Time::us(10)..=Time::s(1)))]
    pub inside: Time,
    /// How long the holder sleeps between two sections
    #[arg(long, default_value = "20ms", value_parser = whole_us(Time::us(10)..=Time::s(10)))]
    pub rest: Time,
    /// Pause of the waiter between two calls that take the mutex
    #[arg(long, default_value = "1ms", value_parser = whole_us(Time::us(10)..=Time::s(1)))]
    pub every: Time,
    /// Processes of nice 0 that compete for the holder's CPU. auto: one, or none with --by quota
    #[arg(long, default_value = "auto", value_parser = auto(whole(0_u32..=8)))]
    pub rivals: Auto<u32>,
    /// Whether the mutex has priority inheritance (FUTEX_LOCK_PI, as with PTHREAD_PRIO_INHERIT):
    /// yes or no
    #[arg(long, default_value = "no")]
    pub inherit: YesNo,
    /// Fixes to try, separated by semicolons: short, inherit
    #[arg(long, default_value = "short")]
    pub fixes: List<MutexFix>,
    /// How long the waiter takes the mutex in a trial
    #[arg(
        long,
        default_value = "700ms",
        default_value_if("quick", "true", "500ms"),
        value_parser = between(Time::ms(100)..=Time::s(600))
    )]
    pub duration: Time,
}

impl Default for HeldMutexParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// What takes the CPU from a runnable holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cause {
    /// Its nice value, next to threads of nice 0
    Nice,
    /// The policy SCHED_IDLE, next to threads of the usual policy
    Idle,
    /// The CPU quota of its group
    Quota,
}

/// A fix to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MutexFix {
    /// The same work in sections of 100 us; not under a quota, which any section may use up
    Short,
    /// A mutex with priority inheritance
    Inherit,
}

choice!(Cause, MutexFix);

impl HeldMutexParams {
    /// The same holder with the usual weight and without a quota.
    pub fn control(&self) -> Self {
        HeldMutexParams { held_up: YesNo::No, ..self.clone() }
    }

    /// The same parameters with a fix.
    pub fn with(&self, fix: MutexFix) -> Self {
        match fix {
            // A section can use up the quota, however short it is.
            MutexFix::Short if self.by == Cause::Quota || self.inside <= SHORT => self.clone(),
            MutexFix::Short => {
                // The total work stays the same, as far as the shortest possible rest allows.
                let part = SHORT.get().as_secs_f64() / self.inside.get().as_secs_f64();
                let rest_us = (self.rest.get().as_micros() as f64 * part).round().max(10.0);
                let rest = Time::us(rest_us as u64);
                HeldMutexParams { inside: SHORT, rest, ..self.clone() }
            }
            MutexFix::Inherit => HeldMutexParams { inherit: YesNo::Yes, ..self.clone() },
        }
    }

    /// Number of rivals.
    pub fn rivals(&self) -> u32 {
        self.rivals.get().unwrap_or(u32::from(self.by != Cause::Quota))
    }

    /// The quota of the holder's group. None: it has no quota.
    pub fn limit(&self) -> Option<Quota> {
        (self.by == Cause::Quota && self.held_up.is_yes()).then_some(self.quota)
    }
}
