//! The facts of `mmap-lock` and their sentences.

use model::prose::figures::{percent, plural};
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum MmapLockFact {
    Stalls {
        file: Name,
        worst: Option<Estimate>,
        #[serde(flatten)]
        losses: Option<Box<Losses>>,
    },
    NoStall {
        file: Name,
        #[serde(flatten)]
        losses: Option<Box<Losses>>,
    },
    Unsettled {
        file: Name,
    },
    ReadersReadNothing {
        arm: Name,
        idle: u64,
        trials: u64,
    },
    NeverThrottled {
        arm: Name,
        trials: u64,
    },
    ThrottledReadersKeepTheLock,
    MoreTime,
    LocksLongest,
    MapperLost,
    NoLimit,
    Burst,
    NoBurst,
    LockFree,
    NoFile {
        file: Name,
        path: Name,
        error: Option<Name>,
    },
    EmptyFile {
        file: Name,
        path: Name,
    },
    TooLarge {
        size: Name,
        twin: bool,
        most: f64,
        mib: u64,
    },
    TooManyMappings {
        size: Name,
        most: u64,
        enough: u64,
    },
    TooManyProcesses {
        busy: u32,
        wanted: u64,
        limit: u64,
    },
    QuotaOfACpu {
        quota: Name,
    },
    PeriodTooLong {
        quota: Name,
    },
    NoReaders {
        quota: Name,
    },
    MarginTooLarge {
        quota: Name,
        throttled: Amount,
        margin: Amount,
        longer: Option<Name>,
    },
    PauseTooLong {
        pause: Name,
        duration: Name,
        most: Name,
    },
    OneCpu {
        mapper: u32,
        load: u32,
    },
    ToolOnLoad {
        load: u32,
    },
}

/// The time that the process lost with the load, with the load of its control, and alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Losses {
    pub lost: Estimate,
    pub readers: u64,
    pub twin: bool,
    pub quota: Option<Name>,
    /// The number of spinners, if it differs from the number of readers.
    pub spinners: Option<u64>,
    pub no_spinners: bool,
    pub control: Option<Estimate>,
    pub alone: Option<Estimate>,
}

impl Sentence for MmapLockFact {
    fn sentence(&self) -> String {
        use MmapLockFact as F;
        match self {
            F::Stalls { file, worst, losses } => {
                let lost = losses.as_ref().map(|losses| format!(": {}", lost(losses)));
                let worst = worst.as_ref();
                let worst = worst.map(|worst| format!(" The worst call of a trial took {worst}."));
                format!(
                    "Readers of /proc/PID/{file} stall memory mapping here{}{}",
                    lost.unwrap_or(".".into()),
                    worst.unwrap_or_default()
                )
            }
            F::NoStall { file, losses } => {
                let lost = losses.as_ref().map(|losses| format!(": {}", lost(losses)));
                format!(
                    "Readers of /proc/PID/{file} did not stall memory mapping here{}",
                    lost.unwrap_or(".".into())
                )
            }
            F::Unsettled { file } => format!(
                "It is not settled whether readers of /proc/PID/{file} stall memory mapping here."
            ),
            F::ReadersReadNothing { arm, idle, trials } => format!(
                "The readers of {arm} read nothing in {idle} of {}, so those trials could not have \
                 shown a stall.",
                plural(*trials, "trial")
            ),
            F::NeverThrottled { arm, trials } => format!(
                "The readers of {arm} were throttled in none of {}, so their CPU limit could not \
                 have shown a stall.",
                plural(*trials, "trial")
            ),
            F::ThrottledReadersKeepTheLock => {
                "On this kernel, which is older than 6.18, a reader under a CPU limit keeps the \
                 lock while it is throttled; this run measures that."
                    .into()
            }
            F::MoreTime => "Give the readers more time.".into(),
            F::LocksLongest => "Read the file that holds the lock longest.".into(),
            F::MapperLost => {
                "The process that maps memory hung even after its load had ended, and was killed. \
                 Its latencies are lost, its counters are not."
                    .into()
            }
            F::NoLimit => "readers without a CPU limit".into(),
            F::Burst => "a burst for the readers' CPU limit".into(),
            F::NoBurst => "this kernel has no burst for CPU quotas; that needs Linux 5.14".into(),
            F::LockFree => "readers of status, which takes no mmap lock".into(),
            F::NoFile { file, path, error } => {
                let no_file = || "not a file that can be read".into();
                let error = error.as_ref().map_or_else(no_file, Name::to_string);
                format!(
                    "--procfile {file}: {path}: {error}; name a file that this kernel has, such as \
                     smaps, maps or status"
                )
            }
            F::EmptyFile { file, path } => format!(
                "--procfile {file}: {path} is empty, so its readers would read nothing; name \
                 another file, such as smaps, maps or status"
            ),
            F::TooLarge { size, twin, most, mib } => {
                let twin = if *twin { "twice that, for the mapper and its twin, is " } else { "" };
                let most = percent(*most);
                format!(
                    "--size {size}: {twin}more than {most} of the {mib} MiB of memory available \
                     here; take a smaller region"
                )
            }
            F::TooManyMappings { size, most, enough } => format!(
                "--size {size}: the region would split into more mappings than vm.max_map_count \
                 ({most}) allows; take a smaller region, or run sysctl vm.max_map_count={enough}"
            ),
            F::TooManyProcesses { busy, wanted, limit } => format!(
                "--busy {busy}: {wanted} processes are more than half of what kernel.pid_max \
                 ({limit}) allows on the whole machine; lower --busy or --spinners"
            ),
            F::QuotaOfACpu { quota } => format!(
                "--reader-quota {quota}: the readers share one CPU, so a quota of a whole CPU \
                 limits nothing; take 10ms/100ms"
            ),
            F::PeriodTooLong { quota } => format!(
                "--reader-quota {quota}: a trial (--duration) is shorter than a period, so it may \
                 see no throttling; take a shorter period or a longer --duration"
            ),
            F::NoReaders { quota } => {
                format!("--reader-quota {quota}: --busy 0 has no readers to limit; raise --busy")
            }
            F::MarginTooLarge { quota, throttled, margin, longer } => {
                let longer = longer.as_ref();
                let longer = longer.map(|longer| format!(", or a --duration of {longer}"));
                format!(
                    "--reader-quota {quota}: the readers are throttled for {throttled} at most, \
                     too little for a margin of {margin}; take a smaller quota, such as \
                     10ms/100ms{}",
                    longer.unwrap_or_default()
                )
            }
            F::PauseTooLong { pause, duration, most } => format!(
                "--pause {pause}: more than a tenth of the --duration of {duration}, so a trial \
                 would have too few calls; take {most} or less, or a longer --duration"
            ),
            F::OneCpu { mapper, load } => format!(
                "--cpu-mapper {mapper} and --cpu-load {load} are the same: the mapper would wait \
                 for the CPU and not for the lock; name two CPUs, or neither"
            ),
            F::ToolOnLoad { load } => format!(
                "--cpu-tool {load} is the CPU of the load: tailback would starve behind it; name \
                 another CPU"
            ),
        }
    }
}

/// Example: `with 10 readers and 10 spinners on another CPU, a process lost 980 ms/s to calls over
/// 1 ms.`
fn lost(losses: &Losses) -> String {
    let Losses { lost, control, alone, .. } = losses;
    let control = control.as_ref();
    let control =
        control.map(|lost| format!(" With as many readers of an idle twin it lost {lost}."));
    let alone = alone.as_ref().map(|alone| format!(" Alone it lost {alone}."));
    format!(
        "with {}, a process lost {lost} to calls over 1 ms.{}{}",
        load(losses),
        control.unwrap_or_default(),
        alone.unwrap_or_default()
    )
}

/// Example: `10 readers and 10 spinners on another CPU`.
fn load(losses: &Losses) -> String {
    if losses.readers == 0 {
        let count = losses.spinners;
        let spinners =
            count.map(|count| format!(" and {} on another CPU", plural(count, "spinner")));
        return format!("no readers{}", spinners.unwrap_or_default());
    }
    let twin = if losses.twin { " of an idle twin process" } else { "" };
    let quota = losses.quota.as_ref();
    let quota = quota.map(|quota| format!(" under a shared CPU limit of {quota}"));
    let spinners = match losses.no_spinners {
        true => String::new(),
        false => {
            let count = losses.spinners.unwrap_or(losses.readers);
            format!(" and {}", plural(count, "spinner"))
        }
    };
    let readers = plural(losses.readers, "reader");
    format!("{readers}{twin}{}{spinners} on another CPU", quota.unwrap_or_default())
}
