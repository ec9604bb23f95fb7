//! The facts of `preempted-holder` and their sentences.

use model::prose::figures::plural;
use model::{Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum PreemptedHolderFact {
    Burns(Option<Box<Compared>>),
    BurnsNone(Option<Box<Compared>>),
    Unsettled,
    Sleep,
    SpinThenSleep,
    FewerThreads,
    SliceExtension,
    TouchBefore,
    HugePages,
    NoExtension,
    ExtensionOff,
    NoHugePages,
    HugePagesTooLarge {
        mib: u64,
        most: u64,
    },
    TakeExtension,
    SwitchExtensionOn,
    AllowHugePages,
    TakeSmallPages,
    TooMuchMemory {
        threads: u32,
        fault: Name,
        mib: u64,
    },
    RoundsTooLong {
        threads: u32,
        inside: Name,
        outside: Name,
        duration: Name,
        /// The shortest duration. None if no allowed one is long enough.
        least: Option<Name>,
    },
    HolderRan {
        arm: Name,
        preempted: Estimate,
    },
    MoreThreads,
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub lost: Estimate,
    pub threads: u64,
    pub cpus: u64,
    pub control: Option<Estimate>,
    pub rounds: Option<Estimate>,
    pub control_rounds: Option<Estimate>,
    pub preempted: Option<Estimate>,
}

impl Sentence for PreemptedHolderFact {
    fn sentence(&self) -> String {
        use PreemptedHolderFact as F;
        match self {
            F::Burns(both) => {
                format!("Threads that spin for a lock burn CPU time here{}", compared(both))
            }
            F::BurnsNone(both) => {
                format!("Threads that wait for a lock burn no CPU time here{}", compared(both))
            }
            F::Unsettled => {
                "It is not settled whether threads that wait for a lock burn CPU time here.".into()
            }
            F::Sleep => "a lock that sleeps".into(),
            F::SpinThenSleep => "a lock that spins for 20 us and then sleeps".into(),
            F::FewerThreads => "as many threads as CPUs".into(),
            F::SliceExtension => "a longer time slice for the thread that holds the lock".into(),
            F::TouchBefore => "the page faults before the lock is taken".into(),
            F::HugePages => "huge pages".into(),
            F::NoExtension => "this kernel has no time-slice extension".into(),
            F::TakeExtension => {
                "run it on Linux 7.0 or later, built with CONFIG_RSEQ_SLICE_EXTENSION".into()
            }
            F::ExtensionOff => {
                "the time-slice extension is switched off on the kernel's command line".into()
            }
            F::SwitchExtensionOn => "start the kernel without rseq_slice_ext=0".into(),
            F::NoHugePages => "there are no transparent huge pages here".into(),
            F::HugePagesTooLarge { mib, most } => format!(
                "a huge page of this kernel has {mib} MiB, more than the {most} MiB of memory that \
                 each thread gets"
            ),
            F::TakeSmallPages => "run it on a kernel with pages of 4 KiB".into(),
            F::AllowHugePages => {
                "write madvise to /sys/kernel/mm/transparent_hugepage/enabled, and on Linux 6.8 \
                 and later also write inherit to hugepages-2048kB/enabled in the same folder"
                    .into()
            }
            F::TooMuchMemory { threads, fault, mib } => format!(
                "--threads {threads} with --fault {fault}: the threads would need {mib} MiB, more \
                 than a quarter of the machine's memory; lower --threads"
            ),
            F::RoundsTooLong { threads, inside, outside, duration, least } => {
                let longer = least.as_ref();
                let longer = longer.map(|least| format!("a --duration of {least} or more, "));
                format!(
                    "--inside {inside}: one round of each of {threads} threads, with an --outside \
                     of {outside}, takes longer than the --duration of {duration}; take {}fewer \
                     --threads, or a shorter --inside or --outside",
                    longer.unwrap_or_default()
                )
            }
            F::HolderRan { arm, preempted } => format!(
                "In {arm} a thread without a CPU held the lock for {preempted} only. So the \
                 threads spun for a holder that ran."
            ),
            F::MoreThreads => {
                "Use more threads than CPUs (--threads, --on-cpus), so that a thread loses its CPU \
                 while it holds the lock."
                    .into()
            }
        }
    }
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let control = both.control.as_ref();
    let control = control.map(|control| format!(", and {control} with a lock that sleeps"));
    let rounds = both.rounds.as_ref().zip(both.control_rounds.as_ref());
    let rounds = rounds.map(|(rounds, of_control)| {
        format!(". They made {rounds} rounds, and {of_control} with a lock that sleeps")
    });
    let preempted = both.preempted.as_ref();
    let preempted =
        preempted.map(|time| format!(" A thread without a CPU held the lock for {time}."));
    format!(
        ": {} on {} spent {} of their CPU time on something other than their work{}{}.{}",
        plural(both.threads, "thread"),
        plural(both.cpus, "CPU"),
        both.lost,
        control.unwrap_or_default(),
        rounds.unwrap_or_default(),
        preempted.unwrap_or_default()
    )
}
