//! The parameters of `cpu-quota`.

use crate::params::{self, Time, between, whole, whole_us};
use clap::Args;
use serde::{Deserialize, Serialize};

/// The parameters of `cpu-quota`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct CpuQuotaParams {
    /// CPU time in a period
    #[arg(long, default_value = "8ms", value_parser = whole_us(Time::ms(1)..=Time::s(3600)))]
    pub quota: Time,
    /// Length of a period
    #[arg(long, default_value = "10ms", value_parser = whole_us(Time::ms(1)..=Time::s(1)))]
    pub period: Time,
    /// CPU time that may be carried over, in an arm that tries whether that helps; 0 leaves it out
    #[arg(long, default_value = "0s", value_parser = whole_us(Time::ZERO..=Time::s(3600)))]
    pub burst: Time,
    /// Threads, pinned to the CPUs in turns; 0 for the busy ones and one more on each CPU
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=65_536))]
    pub threads: u32,
    /// Threads that never sleep
    #[arg(long, default_value = "1", value_parser = whole(1_u32..=65_536))]
    pub fast: u32,
    /// How long the other threads sleep at a time
    #[arg(long, default_value = "3ms", value_parser = between(Time::us(100)..=Time::s(1)))]
    pub wake: Time,
    /// CPUs that the threads are pinned to; 0 for all, 32 at most
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=65_536))]
    pub on_cpus: u32,
    /// How long a trial is measured; longer where a tick, or what many CPUs keep of the quota,
    /// would count
    #[arg(long, default_value = "500ms", value_parser = between(Time::ms(100)..=Time::s(3600)))]
    pub duration: Time,
}

impl Default for CpuQuotaParams {
    fn default() -> Self {
        params::defaults(false)
    }
}
