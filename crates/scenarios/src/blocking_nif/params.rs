//! The parameters of `blocking-nif`.

use crate::params::{self, Auto, ErlFlags, List, Programs, Time, auto, between, choice, whole};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The parameters of `blocking-nif`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct BlockingNifParams {
    /// What the work is, and whether it blocks its scheduler
    #[arg(long, default_value = "nif_sleep")]
    pub mode: Mode,
    /// Number of schedulers of the node. auto: one per CPU, at least 2
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=1024)))]
    pub schedulers: Auto<u32>,
    /// Number of processes that do the work
    #[arg(long, default_value = "auto", value_parser = auto(whole(1_u32..=100_000_000)))]
    pub processes: Auto<u32>,
    /// Work per call, in microseconds; in bytes for md5
    #[arg(long, default_value = "auto", value_parser = auto(whole(0_u32..=600_000_000)))]
    pub work: Auto<u32>,
    /// Number of calls per process
    #[arg(long, default_value = "auto", value_parser = auto(whole(0_u32..=1_000_000)))]
    pub calls: Auto<u32>,
    /// Turns of an Erlang loop after the calls
    #[arg(long, default_value = "5", value_parser = whole(0_u32..=1_000_000_000))]
    pub iterations: u32,
    /// Emulator flags of every arm: "+sbwt none +sub true"
    #[arg(long, default_value = "")]
    pub flags: ErlFlags,
    /// Fixes to try, separated by semicolons, each in an arm of its own: dirty (on a dirty
    /// scheduler), charge (the call charges its reductions), or emulator flags
    #[arg(long, default_value = "dirty; +sfwi 10", default_value_if("quick", "true", "dirty"))]
    pub fixes: List<NifFix>,
    /// OTP: debian:SUITE (fetched once), an erl, or the folder of an installation. auto: the erl on
    /// the PATH. Several, separated by commas, become arms
    #[arg(long, alias = "erl", default_value = "auto")]
    #[serde(alias = "erl")]
    pub otp: Programs,
    /// A trial that takes longer is a hang, and its node is ended
    #[arg(
        long,
        default_value = "60s",
        default_value_if("quick", "true", "5s"),
        value_parser = between(Time::s(1)..=Time::s(3600))
    )]
    pub time_limit: Time,
}

impl Default for BlockingNifParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// Forms of the work, with the names of the Erlang application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Mode {
    /// A native function that sleeps
    NifSleep,
    /// A native function that burns CPU
    NifBusy,
    /// MD5 of a binary; crypto yields after each 20,000 bytes
    Md5,
    /// The square of a large integer
    Bignum,
    /// Like nif_sleep; charges its reductions at the end
    NifCharge,
    /// Like nif_busy; charges its reductions at the end
    NifBusyCharge,
    /// Like nif_sleep, on a dirty scheduler
    NifDirty,
    /// Like nif_busy, on a dirty scheduler
    NifBusyDirty,
    /// Like nif_sleep, in slices that yield
    NifYield,
    /// Like nif_busy, in slices that yield
    NifBusyYield,
    /// Like md5; yields before each 64 KiB too
    Md5Yield,
    /// Like bignum, in slices that yield
    BignumYield,
}

choice!(Mode);

impl Mode {
    /// The same work in slices that yield. Work in such slices stays the same.
    pub(super) fn gentle(self) -> Mode {
        match self {
            Mode::NifSleep | Mode::NifCharge | Mode::NifDirty => Mode::NifYield,
            Mode::NifBusy | Mode::NifBusyCharge | Mode::NifBusyDirty => Mode::NifBusyYield,
            Mode::Md5 => Mode::Md5Yield,
            Mode::Bignum => Mode::BignumYield,
            Mode::NifYield | Mode::NifBusyYield | Mode::Md5Yield | Mode::BignumYield => self,
        }
    }

    /// The same work on dirty schedulers. None if this mode has no such form, or does not block.
    pub(super) fn dirty(self) -> Option<Mode> {
        match self {
            Mode::NifSleep | Mode::NifCharge => Some(Mode::NifDirty),
            Mode::NifBusy | Mode::NifBusyCharge => Some(Mode::NifBusyDirty),
            _ => None,
        }
    }

    /// The same call, charged at its end. None if it cannot be charged, or already is.
    pub(super) fn charged(self) -> Option<Mode> {
        match self {
            Mode::NifSleep => Some(Mode::NifCharge),
            Mode::NifBusy => Some(Mode::NifBusyCharge),
            _ => None,
        }
    }

    /// Whether the work blocks a scheduler, so that there is something to fix. MD5 does not:
    /// `crypto:hash_update` calls native code for 20,000 bytes at a time, and each of these calls
    /// charges a timeslice.
    pub(super) fn blocks(self) -> bool {
        matches!(
            self,
            Mode::NifSleep | Mode::NifBusy | Mode::NifCharge | Mode::NifBusyCharge | Mode::Bignum
        )
    }

    /// The same work in a form that blocks its scheduler. MD5 has no such form, so a native
    /// function that sleeps takes its place. Work that blocks stays the same.
    pub(super) fn blocking(self) -> Mode {
        match self {
            Mode::NifDirty | Mode::NifYield | Mode::Md5 | Mode::Md5Yield => Mode::NifSleep,
            Mode::NifBusyDirty | Mode::NifBusyYield => Mode::NifBusy,
            Mode::BignumYield => Mode::Bignum,
            Mode::NifSleep
            | Mode::NifBusy
            | Mode::NifCharge
            | Mode::NifBusyCharge
            | Mode::Bignum => self,
        }
    }

    /// Whether the calls charge no reductions and run on an ordinary scheduler, so that a process
    /// keeps its scheduler from one call to the next. The calls of all other modes charge
    /// reductions or run on a dirty scheduler. The VM charges a multiplication of large integers by
    /// their sizes.
    pub(super) fn charges_nothing(self) -> bool {
        matches!(self, Mode::NifSleep | Mode::NifBusy)
    }

    /// Whether the work is MD5, which is counted in bytes.
    pub(super) fn is_md5(self) -> bool {
        matches!(self, Mode::Md5 | Mode::Md5Yield)
    }

    /// Whether the work needs a native function that has to be compiled.
    pub(super) fn needs_nif(self) -> bool {
        !self.is_md5() && !matches!(self, Mode::Bignum | Mode::BignumYield)
    }
}

/// A fix to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NifFix {
    /// The native function on a dirty scheduler.
    Dirty,
    /// The native function charges its reductions.
    Charge,
    /// Emulator flags.
    Flags(ErlFlags),
}

impl fmt::Display for NifFix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NifFix::Dirty => f.write_str("dirty"),
            NifFix::Charge => f.write_str("charge"),
            NifFix::Flags(flags) => flags.fmt(f),
        }
    }
}

impl FromStr for NifFix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dirty" => Ok(NifFix::Dirty),
            "charge" => Ok(NifFix::Charge),
            flags if flags.starts_with(['+', '-']) => flags.parse().map(NifFix::Flags),
            _ => Err(format!("`{text}` is none of dirty, charge, and no emulator flags")),
        }
    }
}
