//! The parameters of `preempted-holder`.

use super::lock::LockKind;
use crate::params::{self, List, Time, YesNo, between, choice, whole, whole_us};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The longest duration of a trial.
pub(super) const LONGEST: Time = Time::s(600);

/// The parameters of `preempted-holder`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PreemptedHolderParams {
    /// How a thread waits for the lock
    #[arg(long, default_value = "spin")]
    pub lock: LockKind,
    /// Number of threads that share the lock. 0: four per CPU
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=4_096))]
    pub threads: u32,
    /// Number of CPUs that the threads share. 0: all, at most 2
    #[arg(long, default_value = "0", value_parser = whole(0_u32..=4_096))]
    pub on_cpus: u32,
    /// CPU time with the lock held, per round
    #[arg(long, default_value = "20us", value_parser = whole_us(Time::us(1)..=Time::s(1)))]
    pub inside: Time,
    /// CPU time without the lock, per round
    #[arg(long, default_value = "60us", value_parser = whole_us(Time::ZERO..=Time::s(1)))]
    pub outside: Time,
    /// When the threads cause page faults
    #[arg(long, default_value = "none")]
    pub fault: Fault,
    /// Memory pages to touch per round, if there are page faults. Most kernels have pages of 4 KiB
    #[arg(long, default_value = "16", value_parser = whole(1_u32..=512))]
    pub pages: u32,
    /// Whether these pages are parts of huge pages, which makes faults rare: yes or no
    #[arg(long, default_value = "no")]
    pub huge: YesNo,
    /// Whether a thread that holds the lock asks the kernel for a longer time slice: yes or no
    #[arg(long, default_value = "no")]
    pub slice_extension: YesNo,
    /// Fixes to try, separated by semicolons: spin-then-sleep, fewer-threads, slice-extension; with
    /// page faults also touch-before, huge-pages
    #[arg(
        long,
        default_value = "spin-then-sleep; fewer-threads; slice-extension; touch-before; huge-pages",
        default_value_if("quick", "true", "fewer-threads")
    )]
    pub fixes: List<LockFix>,
    /// How long the threads run in a trial
    #[arg(
        long,
        default_value = "400ms",
        default_value_if("quick", "true", "150ms"),
        value_parser = between(Time::ms(50)..=LONGEST)
    )]
    pub duration: Time,
}

impl Default for PreemptedHolderParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// A fix to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockFix {
    /// A lock that spins for a moment and then sleeps
    SpinThenSleep,
    /// As many threads as CPUs
    FewerThreads,
    /// A longer time slice for the thread that holds the lock
    SliceExtension,
    /// The same page faults, before the lock is taken
    TouchBefore,
    /// Huge pages for the memory that is touched with the lock held
    HugePages,
}

/// When a thread touches memory that is not mapped in yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// No page faults
    None,
    /// With the lock held
    Minor,
    /// Before the thread takes the lock
    Before,
}

choice!(LockKind, LockFix, Fault);
