//! The parameters of `mmap-lock`.

use crate::params::{
    self, Auto, Counts, Cpu, OrNone, ProcFile, Quota, Size, Time, auto, between, choice, counts,
    whole, whole_ms, whole_us,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The longest trial.
pub(super) const LONGEST: Time = Time::s(3600);

/// The parameters of `mmap-lock`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MmapLockParams {
    /// File of /proc/PID that the scanners read: smaps, maps, smaps_rollup, numa_maps and others
    #[arg(long, default_value = "smaps")]
    pub procfile: ProcFile,
    /// Number of scanners, and of spinners. Each value is a case with its own control; 0 is the
    /// process alone
    #[arg(
        long,
        default_value = "0,10",
        default_value_if("quick", "true", "10"),
        value_parser = counts(0..=10_000, 20)
    )]
    pub busy: Counts,
    /// Number of spinners. auto: as many as scanners, or none if the scanners have a quota
    #[arg(long, default_value = "auto", value_parser = auto(whole(0_u32..=10_000)))]
    pub spinners: Auto<u32>,
    /// CPU quota of all scanners together: 10ms/100ms, or with a burst 10ms/100ms+10ms. The mapper
    /// is never in that control group
    #[arg(long, default_value = "none")]
    pub reader_quota: OrNone<Quota>,
    /// Process that the scanners of the cases read. With the idle twin, as in the controls, no
    /// stall is expected
    #[arg(long, default_value = "mapper")]
    pub target: Target,
    /// How long scanners read before spinners and mapper start
    #[arg(long, default_value = "50ms", value_parser = between(Time::ZERO..=Time::s(60)))]
    pub lead: Time,
    /// How long the mapper runs in a trial
    #[arg(long, default_value = "250ms", value_parser = whole_ms(Time::ms(10)..=LONGEST))]
    pub duration: Time,
    /// A call that takes this much longer than the trial is a hang; ending the load frees it
    #[arg(
        long,
        default_value = "250ms",
        default_value_if("quick", "true", "100ms"),
        value_parser = between(Time::ms(10)..=Time::s(600))
    )]
    pub hang_after: Time,
    /// Size of the mapped region
    #[arg(long, default_value = "128MiB", value_parser = between(Size::kib(64)..=Size::tib(16)))]
    pub size: Size,
    /// Pause after each call
    #[arg(long, default_value = "10us", value_parser = whole_us(Time::ZERO..=Time::s(1)))]
    pub pause: Time,
    /// Spin for this time (whole milliseconds), then sleep 1 ms; 0 spins without sleeping
    #[arg(long, default_value = "0s", value_parser = whole_ms(Time::ZERO..=Time::s(3600)))]
    pub busyduration: Time,
    /// Nice value of the scanners
    #[arg(long, default_value = "15", value_parser = whole(-20_i32..=19))]
    pub nice: i32,
    /// CPU of the process that maps
    #[arg(long, default_value = "auto")]
    pub cpu_mapper: Auto<Cpu>,
    /// CPU of scanners and spinners
    #[arg(long, default_value = "auto")]
    pub cpu_load: Auto<Cpu>,
    /// CPU of tailback itself
    #[arg(long, default_value = "auto")]
    pub cpu_tool: Auto<Cpu>,
}

impl Default for MmapLockParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// Files whose readers hold no mmap lock for longer than a call. The first one is tried as a fix.
pub(super) const LOCK_FREE: [&str; 3] = ["status", "statm", "stat"];

impl MmapLockParams {
    /// Whether the scanners read a file that does not need the lock.
    pub(super) fn is_lock_free(&self) -> bool {
        LOCK_FREE.contains(&self.procfile.as_str())
    }

    /// Whether there are scanners, and they read the process that maps. Otherwise the cause is
    /// absent.
    pub(super) fn reads_mapper(&self) -> bool {
        self.busy.most() > 0 && self.target == Target::Mapper
    }

    /// Number of pages in the region.
    pub(super) fn pages(&self) -> u64 {
        self.size.get() / rustix::param::page_size() as u64
    }

    /// Number of spinners for this number of scanners.
    pub(super) fn spinners_beside(&self, scanners: u32) -> u32 {
        let throttled = self.reader_quota.value().is_some();
        self.spinners.get().unwrap_or(if throttled { 0 } else { scanners })
    }
}

/// The process that the scanners read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// The process that maps
    Mapper,
    /// Its idle twin
    Twin,
}

choice!(Target);
