//! The parameters of `preempted-holder`.

use super::lock::Kind;
use crate::params::{self, List, Time, between, choice, whole, whole_us};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The parameters of `preempted-holder`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PreemptedHolderParams {
    /// How a thread waits for the lock
    #[arg(long, default_value = "spin")]
    pub lock: Kind,
    /// Threads that share the lock; 0 for four on each CPU
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=4_096))]
    pub threads: u32,
    /// CPUs that the threads share; 0 for all, 2 at most
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=4_096))]
    pub on_cpus: u32,
    /// CPU time with the lock in each round
    #[arg(long, default_value = "20us", value_parser = whole_us(Time::us(1)..=Time::s(1)))]
    pub inside: Time,
    /// CPU time without the lock in each round
    #[arg(long, default_value = "60us", value_parser = whole_us(Time::ZERO..=Time::s(1)))]
    pub outside: Time,
    /// What is tried against the stall, separated by semicolons: spin-then-sleep, fewer-threads
    #[arg(
        long,
        default_value = "spin-then-sleep; fewer-threads",
        default_value_if("quick", "true", "fewer-threads")
    )]
    pub fixes: List<LockFix>,
    /// How long the threads go on in a trial
    #[arg(
        long,
        default_value = "400ms",
        default_value_if("quick", "true", "150ms"),
        value_parser = between(Time::ms(50)..=Time::s(600))
    )]
    pub duration: Time,
}

impl Default for PreemptedHolderParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// Something that may fix the stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockFix {
    /// A lock that spins for a moment and then sleeps
    SpinThenSleep,
    /// As many threads as CPUs
    FewerThreads,
}

choice!(Kind, LockFix);
