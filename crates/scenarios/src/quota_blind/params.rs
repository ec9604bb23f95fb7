//! The parameters of `quota-blind`.

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
    pub limit_at: QuotaGroup,
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
    #[arg(long, default_value = "700ms", value_parser = between(Time::ms(200)..=Time::s(600)))]
    pub duration: Time,
}

impl Default for QuotaBlindParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// The group that has the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QuotaGroup {
    /// Group of the runtime
    Leaf,
    /// Parent of the runtime's group
    Parent,
    /// Root of the runtime's cgroup namespace
    Namespace,
}

choice!(QuotaGroup);

/// The runtime of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Runtime {
    /// The Erlang VM
    Beam,
    /// A Java virtual machine
    Jvm,
    /// Go: a worker compiled by the toolchain
    Go,
    /// Node.js
    Node,
}

choice!(Runtime);

/// The setting that gives a runtime its number of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setting {
    /// An environment variable and its value.
    Variable(&'static str, String),
    /// Arguments on the command line.
    Flags(Vec<String>),
}

impl Setting {
    /// The setting as a user would write it.
    pub fn text(&self) -> String {
        match self {
            Setting::Variable(name, value) => format!("{name}={value}"),
            Setting::Flags(words) => words.join(" "),
        }
    }
}

impl Runtime {
    /// Name of the runtime in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Go => "Go",
            Runtime::Jvm => "the JVM",
            Runtime::Node => "Node.js",
            Runtime::Beam => "the BEAM",
        }
    }

    /// The program that the PATH is searched for.
    pub(super) fn program(self) -> &'static str {
        match self {
            Runtime::Go => "go",
            Runtime::Jvm => "java",
            Runtime::Node => "node",
            Runtime::Beam => "erl",
        }
    }

    /// The command that installs the runtime on Debian.
    pub(super) fn install(self) -> &'static str {
        match self {
            Runtime::Go => "apt-get install golang-go",
            Runtime::Jvm => "apt-get install openjdk-17-jdk-headless",
            Runtime::Node => "apt-get install nodejs",
            Runtime::Beam => "apt-get install erlang-base erlang-crypto",
        }
    }

    /// The setting for `cpus` CPUs. Node has no such setting except the size of its thread pool.
    pub(super) fn setting(self, cpus: u32) -> Setting {
        match self {
            Runtime::Go => Setting::Variable("GOMAXPROCS", cpus.to_string()),
            Runtime::Node => Setting::Variable("UV_THREADPOOL_SIZE", cpus.to_string()),
            Runtime::Jvm => Setting::Flags(vec![format!("-XX:ActiveProcessorCount={cpus}")]),
            Runtime::Beam => Setting::Flags(
                ["+S", &format!("{cpus}:{cpus}"), "+SDcpu", &format!("{cpus}:{cpus}")]
                    .map(str::to_owned)
                    .to_vec(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runtime_is_told_by_its_own_setting() {
        let told = |runtime: Runtime| runtime.setting(1).text();
        assert_eq!(told(Runtime::Go), "GOMAXPROCS=1");
        assert_eq!(told(Runtime::Jvm), "-XX:ActiveProcessorCount=1");
        assert_eq!(told(Runtime::Node), "UV_THREADPOOL_SIZE=1");
        assert_eq!(told(Runtime::Beam), "+S 1:1 +SDcpu 1:1");
    }
}
