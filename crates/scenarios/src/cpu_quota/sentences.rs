//! The facts of `cpu-quota` and their sentences.

use model::prose::figures::plural;
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum CpuQuotaFact {
    Under(Option<Box<Got>>),
    Over(Option<Box<Got>>),
    GetsIt(Option<Box<Got>>),
    Unsettled,
    WouldHaveLost { arm: Name, most: Amount },
    TooLittleToLose { arm: Name, most: Amount },
    SeldomThrottled { arm: Name, share: Amount },
    MoreToLose,
    MoreCpuTime,
    LargerMachine,
    FewerCpus { cpus: u32 },
    Burst { burst: Name },
    NoBurst,
    TooManyFast { fast: u32, threads: u32 },
    UnusedQuota { quota: Name, usable: u32, cpus: Amount, raise: Name },
}

/// What case and control got of their quota.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Got {
    pub got: Estimate,
    pub cpus: Option<u64>,
    pub control: Option<Estimate>,
    pub control_cpus: Option<u64>,
}

impl Sentence for CpuQuotaFact {
    fn sentence(&self) -> String {
        use CpuQuotaFact as F;
        match self {
            F::Under(got) => {
                format!("A group is throttled below its CPU quota here{}", compared(got))
            }
            F::Over(got) => format!("A group gets more than its CPU quota here{}", compared(got)),
            F::GetsIt(got) => format!("A group gets its CPU quota here{}", compared(got)),
            F::Unsettled => {
                "This study does not say whether a group gets its CPU quota here.".into()
            }
            F::WouldHaveLost { arm, most } => {
                format!(
                    "On a kernel whose quota slices expire, {arm} would have lost up to \
                         {most} of its quota."
                )
            }
            F::TooLittleToLose { arm, most } => format!(
                "Even on a kernel whose quota slices expire, {arm} would lose at most {most} of \
                 its quota with these settings, too little to measure."
            ),
            F::MoreToLose => {
                "Use more CPUs (--on-cpus) with a thread on each (--threads), a smaller --quota, \
                 or a longer --wake that is still below the period."
                    .into()
            }
            F::SeldomThrottled { arm, share } => format!(
                "In {arm} the group was throttled in {share} of its periods only. In the others it \
                 did not use up its quota, so it would not have missed a slice that expires."
            ),
            F::MoreCpuTime => {
                "Run it again when other programs, and on a virtual machine the host, take less \
                 CPU time; or use a smaller --quota."
                    .into()
            }
            F::LargerMachine => "Simulate the rules of this kernel on a larger machine.".into(),
            F::FewerCpus { cpus } => {
                format!("the same threads on {}, as with a cpuset", plural((*cpus).into(), "CPU"))
            }
            F::Burst { burst } => format!("a burst of {burst}"),
            F::NoBurst => "this kernel has no burst for CPU quotas; that needs Linux 5.14".into(),
            F::TooManyFast { fast, threads } => {
                format!("--fast {fast}: there are only {threads} threads; raise --threads")
            }
            F::UnusedQuota { quota, usable, cpus, raise } => format!(
                "--quota {quota}: {usable} busy threads, each on its own CPU, cannot use {cpus} \
                 CPUs; lower --quota or raise {raise}"
            ),
        }
    }
}

fn compared(got: &Option<Box<Got>>) -> String {
    let Some(got) = got else { return ".".into() };
    let cpus = |count: Option<u64>, other: &str| {
        count.map_or_else(|| other.to_owned(), |count| plural(count, "CPU"))
    };
    let control = got.control.as_ref().map(|control| {
        let cpus = cpus(got.control_cpus, "fewer CPUs");
        format!("; with the same threads on {cpus} it got {control}")
    });
    format!(
        ": with threads on {} it got {} of its quota{}.",
        cpus(got.cpus, "its CPUs"),
        got.got,
        control.unwrap_or_default()
    )
}
