//! The parameters of `busy-wait`.

use crate::params::{
    self, Auto, Decimal, ErlFlags, FlagValue, List, OrNone, Programs, Time, YesNo, auto, between,
    choice, or_none, whole,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The parameters of `busy-wait`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct BusyWaitParams {
    /// What a request does
    #[arg(long, default_value = "port")]
    pub load: Load,
    /// Requests per second, of all workers together. They arrive even if earlier ones are not done.
    /// auto: the rate at which the control uses 65% of its quota
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=10_000_000)))]
    pub rate: Auto<u32>,
    /// Number of processes that serve requests. auto: 64 per CPU of the quota, at least 32 and at
    /// most 1000
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=10_000)))]
    pub workers: Auto<u32>,
    /// Number of low-priority processes that do background work
    #[arg(long, default_value = "2", value_parser = whole(0_u32..=10_000))]
    pub background: u32,
    /// Number of schedulers of the node. auto: one per CPU, at least 8
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=1024)))]
    pub schedulers: Auto<u32>,
    /// CPU quota of control and case, in CPUs. none: measure busy waiting without a quota
    #[arg(
        long,
        default_value = "0.5",
        value_parser = or_none(between(Decimal::thousandths(10)..=Decimal::thousandths(1_000_000)))
    )]
    pub quota: OrNone<Decimal>,
    /// Period of the quota
    #[arg(long, default_value = "100ms", value_parser = between(Time::ms(1)..=Time::s(1)))]
    pub period: Time,
    /// Whether to run both also without the quota, as baselines that are not judged
    #[arg(long, default_value = "no")]
    pub free: YesNo,
    /// Whether strace counts futex calls in every arm. This makes the calls slow; probes count them
    /// without slowing them
    #[arg(long, default_value = "no")]
    pub strace: YesNo,
    /// Busy waiting of schedulers in the control (+sbwt). default: the VM's own
    #[arg(long, default_value = "none")]
    pub sbwt: FlagValue,
    /// Busy waiting of dirty CPU schedulers in the control (+sbwtdcpu)
    #[arg(long, default_value = "none")]
    pub sbwtdcpu: FlagValue,
    /// Busy waiting of dirty I/O schedulers in the control (+sbwtdio)
    #[arg(long, default_value = "none")]
    pub sbwtdio: FlagValue,
    /// Wake-up threshold in the control
    #[arg(long, default_value = "default")]
    pub swt: FlagValue,
    /// Wake-up strategy in the control
    #[arg(long, default_value = "default")]
    pub sws: FlagValue,
    /// Eager check of I/O in the control
    #[arg(long, default_value = "default")]
    pub secio: FlagValue,
    /// Async threads (+A) in the control
    #[arg(long, default_value = "default")]
    pub async_threads: FlagValue,
    /// Emulator flags of every arm
    #[arg(long, default_value = "")]
    pub flags: ErlFlags,
    /// Other emulator flags to try under the quota, separated by semicolons, each in an arm of its
    /// own: "+S 1:1; +sbwt very_short"
    #[arg(long, default_value = "")]
    pub fixes: List<ErlFlags>,
    /// OTP: debian:SUITE (fetched once), an erl, or the folder of an installation. auto: the erl on
    /// the PATH
    #[arg(long, alias = "erl", default_value = "auto")]
    #[serde(alias = "erl")]
    pub otp: Programs,
    /// How long requests arrive in a trial
    #[arg(
        long,
        default_value = "700ms",
        default_value_if("quick", "true", "600ms"),
        value_parser = between(Time::ms(100)..=Time::s(3600))
    )]
    pub duration: Time,
}

impl Default for BusyWaitParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Load {
    /// A round trip through a port
    Port,
    /// A file that is written and read
    File,
    /// A round trip through a socket
    Tcp,
    /// A timer
    Timer,
}

choice!(Load);

impl BusyWaitParams {
    /// The emulator flags that have their own parameters, with their values.
    fn own_flags(&self) -> [(&'static str, &FlagValue); 7] {
        [
            ("+sbwt", &self.sbwt),
            ("+sbwtdcpu", &self.sbwtdcpu),
            ("+sbwtdio", &self.sbwtdio),
            ("+swt", &self.swt),
            ("+sws", &self.sws),
            ("+secio", &self.secio),
            ("+A", &self.async_threads),
        ]
    }

    /// The flags among these that differ from the VM's default, as command-line text. The text may
    /// be empty.
    pub(super) fn changed_flags(&self) -> String {
        let changed = self.own_flags().into_iter().filter_map(|(flag, value)| match value {
            FlagValue::Default => None,
            FlagValue::Is(value) => Some(format!("{flag} {value}")),
        });
        changed.collect::<Vec<_>>().join(" ")
    }

    /// The same parameters, with the VM's own flags.
    pub(super) fn with_the_vms_flags(&self) -> Self {
        BusyWaitParams {
            sbwt: FlagValue::Default,
            sbwtdcpu: FlagValue::Default,
            sbwtdio: FlagValue::Default,
            swt: FlagValue::Default,
            sws: FlagValue::Default,
            secio: FlagValue::Default,
            async_threads: FlagValue::Default,
            ..self.clone()
        }
    }

    /// The same parameters, without busy waiting in any scheduler.
    pub(super) fn without_spinning(&self) -> Self {
        BusyWaitParams {
            sbwt: FlagValue::none(),
            sbwtdcpu: FlagValue::none(),
            sbwtdio: FlagValue::none(),
            ..self.clone()
        }
    }
}
