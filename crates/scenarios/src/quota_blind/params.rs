//! The parameters of `quota-blind`.

use super::runtime::Runtime;
use crate::params::{
    self, Auto, OrNone, Programs, Quota, Time, auto, between, choice, or_none, whole, whole_us,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The parameters of `quota-blind`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct QuotaBlindParams {
    /// Runtime. auto: the first of beam, jvm, go and node that is installed
    #[arg(long, default_value = "auto", value_parser = auto(str::parse::<Runtime>))]
    pub runtime: Auto<Runtime>,
    /// Program of the runtime, or the folder of an installation: /usr/local/go/bin/go. auto: the
    /// one on the PATH
    #[arg(long, default_value = "auto")]
    pub program: Programs,
    /// OTP of beam: debian:SUITE (fetched once), an erl, or the folder of an installation. auto:
    /// the erl on the PATH
    #[arg(long, default_value = "auto")]
    pub otp: Programs,
    /// Control group that has the quota
    #[arg(long, default_value = "leaf")]
    pub limit_at: Place,
    /// CPU quota of the group: CPU time per period
    #[arg(long, default_value = "50ms/100ms", value_parser = str::parse::<Quota>)]
    pub quota: Quota,
    /// CPUs for the runtime's own setting, in the case. none: leave the setting at its default
    #[arg(long, default_value = "none", value_parser = or_none(whole(1_u32..=1024)))]
    pub told: OrNone<u32>,
    /// Requests per second. They arrive even if earlier ones are not done
    #[arg(long, default_value = "200", value_parser = whole(1_u32..=10_000))]
    pub rate: u32,
    /// CPU time per request
    #[arg(long, default_value = "500us", value_parser = whole_us(Time::us(10)..=Time::s(1)))]
    pub request: Time,
    /// CPU time per job, which the runtime divides among its threads
    #[arg(long, default_value = "100ms", value_parser = whole_us(Time::ms(1)..=Time::s(10)))]
    pub job: Time,
    /// Time between the starts of two jobs
    #[arg(long, default_value = "450ms", value_parser = whole_us(Time::ms(1)..=Time::s(60)))]
    pub every: Time,
    /// Loop rounds per millisecond of a request. auto: measure them first
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=1_000_000_000)))]
    pub request_rounds: Auto<u32>,
    /// Loop rounds per millisecond of a job. auto: measure them first
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=1_000_000_000)))]
    pub job_rounds: Auto<u32>,
    /// How long requests arrive in a trial
    #[arg(
        long,
        default_value = "1500ms",
        default_value_if("quick", "true", "1s"),
        value_parser = between(Time::ms(200)..=Time::s(600))
    )]
    pub duration: Time,
}

impl Default for QuotaBlindParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// Where the quota is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// At the group that the runtime is in
    Leaf,
    /// At the group above it
    Parent,
    /// At the root of a cgroup namespace in which the runtime is
    Namespace,
}

choice!(Place);
