//! The facts of `memory-high` and their sentences.

use model::prose::figures::plural;
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum MemoryHighFact {
    Stands(Option<Box<Compared>>),
    Runs(Option<Box<Compared>>),
    Unsettled,
    Raised,
    MemoryMax,
    Swap,
    NoSwap,
    NoSwapLimit,
    SwitchOn,
    KillPanics,
    WithoutPanic,
    NotAtLimit { need: Name, limit: Name },
    HardlyAbove { need: Name, limit: Name, over: Amount },
    FillFaster,
    FewUnits { need: Name, two: Name },
    NoRoom { needed: u64, available: u64 },
    OfV1,
    InAGuest,
    NoPressure,
    WithPsi,
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub file: Name,
    pub limit: Name,
    pub need: Name,
    pub lost: Estimate,
    pub control: Option<Estimate>,
    pub units: Option<Estimate>,
    pub control_units: Option<Estimate>,
    pub kills: Option<u64>,
}

impl Sentence for MemoryHighFact {
    fn sentence(&self) -> String {
        use MemoryHighFact as F;
        match self {
            F::Stands(both) => {
                format!("Work above its memory limit stands still here{}", compared(both))
            }
            F::Runs(both) => {
                format!("The memory limit does not make the work stand still{}", compared(both))
            }
            F::Unsettled => {
                "It is not settled whether the memory limit makes the work stand still.".into()
            }
            F::Raised => "memory.high above what the work needs".into(),
            F::MemoryMax => "memory.max instead, and a restart after each kill".into(),
            F::Swap => "swap for the group".into(),
            F::NoSwap => {
                "swap is off here (/proc/swaps), and tailback does not switch it on".into()
            }
            F::NoSwapLimit => {
                "this kernel has no memory.swap.max, so swap cannot be denied to the group in one \
                 arm and allowed in another"
                    .into()
            }
            F::SwitchOn => {
                "switch swap on (swapon: a partition, a file or zram), and do not boot with \
                 swapaccount=0: that option removes the swap limit"
                    .into()
            }
            F::KillPanics => {
                "a kill at memory.max would panic this machine (vm.panic_on_oom is 2)".into()
            }
            F::WithoutPanic => "sysctl vm.panic_on_oom=1: the machine then panics only when its \
                                own memory is used up"
                .into(),
            F::NotAtLimit { need, limit } => format!(
                "The worker needs {need}, but its group was not seen at its limit of {limit}, in \
                 half of the trials or more."
            ),
            F::HardlyAbove { need, limit, over } => format!(
                "The worker needs {need}, but in half of the trials or more its group was at most \
                 {over} above its limit of {limit}. The kernel makes a task sleep from about \
                 1.25% on."
            ),
            F::FillFaster => {
                "Use a longer --duration, a shorter --every, or a larger --unit, so that the \
                 worker fills more memory than its limit in a trial."
                    .into()
            }
            F::FewUnits { need, two } => format!(
                "--need {need}: the worker has to keep at least two units, {two}; raise --need or \
                 lower --unit"
            ),
            F::NoRoom { needed, available } => format!(
                "--need: the run needs {needed} MiB, more than half of the {available} MiB that \
                 are available; lower --need"
            ),
            F::OfV1 => {
                "this machine has the memory controller of cgroup v1, which has no memory.high"
                    .into()
            }
            F::InAGuest => {
                "run it in a guest: tailback vm --kernel debian:6.12 -- run memory-high".into()
            }
            F::NoPressure => {
                "the kernel does not count how long a group waits for memory (memory.pressure)"
                    .into()
            }
            F::WithPsi => "boot a kernel with CONFIG_PSI, and psi=1".into(),
        }
    }
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let Compared { file, limit, need, lost, .. } = both.as_ref();
    let control = both.control.as_ref();
    let control =
        control.map(|lost| format!(". With a limit above its need it stood still for {lost}"));
    let units = both.units.as_ref().zip(both.control_units.as_ref());
    let units = units.map(|(units, without)| {
        format!(". It did {units} units of work, and {without} in the control")
    });
    let kills = both.kills.map(|kills| {
        format!(" It was killed and started again {} a trial.", plural(kills, "time"))
    });
    format!(
        ": under {file} = {limit} a worker that needs {need} stood still for {lost} of the \
         time{}{}.{}",
        control.unwrap_or_default(),
        units.unwrap_or_default(),
        kills.unwrap_or_default()
    )
}
