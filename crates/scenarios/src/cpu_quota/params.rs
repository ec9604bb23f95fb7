//! The parameters of `cpu-quota`.

use crate::params::{self, Time, between, whole, whole_us};
use clap::Args;
use serde::{Deserialize, Serialize};

/// The parameters of `cpu-quota`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct CpuQuotaParams {
    /// CPU time per period
    #[arg(long, default_value = "8ms", value_parser = whole_us(Time::ms(1)..=Time::s(3600)))]
    pub quota: Time,
    /// Length of a period
    #[arg(long, default_value = "10ms", value_parser = whole_us(Time::ms(1)..=Time::s(1)))]
    pub period: Time,
    /// Add an arm in which this much unused CPU time may be saved for later periods; 0 adds none
    #[arg(long, default_value = "0s", value_parser = whole_us(Time::ZERO..=Time::s(3600)))]
    pub burst: Time,
    /// Number of threads, pinned to the CPUs in turns. 0: the busy threads, and one more per CPU
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=65_536))]
    pub threads: u32,
    /// Number of busy threads, which never sleep
    #[arg(long, default_value = "1", value_parser = whole(1_u32..=65_536))]
    pub fast: u32,
    /// How long the other threads sleep each time
    #[arg(long, default_value = "3ms", value_parser = between(Time::us(100)..=Time::s(1)))]
    pub wake: Time,
    /// Number of CPUs that the threads are pinned to. 0: all, at most 32
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=65_536))]
    pub on_cpus: u32,
    /// Measured time of a trial. It is longer if one tick, or the quota that many CPUs keep, would
    /// distort the result
    #[arg(long, default_value = "400ms", value_parser = between(Time::ms(100)..=Time::s(3600)))]
    pub duration: Time,
}

impl Default for CpuQuotaParams {
    fn default() -> Self {
        params::defaults(false)
    }
}
