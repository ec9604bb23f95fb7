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
    /// The runtime: beam, jvm, go or node; auto for the first of these that is there
    #[arg(long, default_value = "auto", value_parser = auto(str::parse::<Runtime>))]
    pub runtime: Auto<Runtime>,
    /// Its program, as /usr/local/go/bin/go, or the folder of an installation; auto for that on the
    /// PATH
    #[arg(long, default_value = "auto")]
    pub program: Programs,
    /// The OTP of beam: debian:SUITE for that of a suite of Debian, fetched once; an erl; the
    /// folder of an installation; auto for the erl on the PATH
    #[arg(long, default_value = "auto")]
    pub otp: Programs,
    /// Where the quota is: at the group that the runtime is in, at the group above, or at the root
    /// of a cgroup namespace, as in a container
    #[arg(long, default_value = "leaf")]
    pub limit_at: Place,
    /// CPU time in each period of the group, and that period
    #[arg(long, default_value = "50ms/100ms", value_parser = str::parse::<Quota>)]
    pub quota: Quota,
    /// CPUs that the case is told to use by the runtime's own setting; none for its default
    #[arg(long, default_value = "none", value_parser = or_none(whole(1_u32..=1024)))]
    pub told: OrNone<u32>,
    /// Requests a second; they arrive whether or not the ones before are done
    #[arg(long, default_value = "200", value_parser = whole(1_u32..=10_000))]
    pub rate: u32,
    /// CPU time of a request
    #[arg(long, default_value = "500us", value_parser = whole_us(Time::us(10)..=Time::s(1)))]
    pub request: Time,
    /// CPU time of a job, whose parts the runtime shares among its threads
    #[arg(long, default_value = "100ms", value_parser = whole_us(Time::ms(1)..=Time::s(10)))]
    pub job: Time,
    /// Time from the begin of a job to that of the next
    #[arg(long, default_value = "450ms", value_parser = whole_us(Time::ms(1)..=Time::s(60)))]
    pub every: Time,
    /// Rounds of the worker's loop in a millisecond of requests; auto to measure them first
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=1_000_000_000)))]
    pub request_rounds: Auto<u32>,
    /// Rounds in a millisecond of jobs; auto to measure them first
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
