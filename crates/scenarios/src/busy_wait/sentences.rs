//! The facts of `busy-wait` and their sentences.

use model::prose::figures::{percent, plural};
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum BusyWaitFact {
    CostsLatency(Option<Box<Compared>>),
    CostsNoLatency(Option<Box<Compared>>),
    Unsettled,
    ControlThrottled { used: Estimate, most: f64 },
    RateBeyondMachine { backlog: Estimate },
    LowerRate(Option<Served>),
    LowerRateAlone(Option<Served>),
    RequestsFailed { failed: Amount },
    FewerFailures,
    LoadFillsQuota { quota: Amount, used: Estimate, most: f64 },
    RoomToSpin { quota: Amount, used: Estimate, least: f64 },
    HigherRate(Option<Served>),
    StudyOfEachQuota,
    FewPeriods { arm: Name, periods: Estimate, least: u32 },
    MorePeriods,
    QuotaOfAllCpus { arm: Name, quota: Amount, cpus: u32 },
    SmallerQuota,
    FewRequests { arm: Name, requests: u64, least: u32 },
    MoreRequests,
    NoQuota,
    WithQuota,
    Background { defaults: Estimate, flags: Estimate },
    Detected { quota: Amount, found: Option<Amount>, schedulers: u32 },
    Spun { quota: bool, spun: Estimate, active: Option<Estimate> },
    Environment { flags: Name },
    QuotaAlone,
    OneOtp,
    OneOtpALevel,
    NoCost,
    NotReady { limit: Amount },
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub case: Estimate,
    pub control: Estimate,
    pub quota: Option<Amount>,
    pub flags: Option<Name>,
    pub control_flags: Option<Name>,
}

/// The rate that the control served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Served {
    pub served: Estimate,
}

impl Sentence for BusyWaitFact {
    fn sentence(&self) -> String {
        use BusyWaitFact as F;
        match self {
            F::CostsLatency(both) => {
                format!("Busy waiting of schedulers costs latency here{}", compared(both))
            }
            F::CostsNoLatency(both) => {
                format!("Busy waiting of schedulers cost no latency here{}", compared(both))
            }
            F::Unsettled => {
                "It is not settled whether busy waiting of schedulers costs latency here.".into()
            }
            F::ControlThrottled { used, most } => format!(
                "The control itself used {used} of its quota. Above {} the load alone may be \
                 throttled, so the study cannot say what busy waiting adds.",
                percent(*most)
            ),
            F::RateBeyondMachine { backlog } => format!(
                "The control did not finish {backlog} of its requests: the rate is more than this \
                 machine can serve."
            ),
            F::LowerRate(rate) => {
                format!("Use a lower --rate{} or a larger --quota.", served(rate))
            }
            F::LowerRateAlone(rate) => format!("Use a lower --rate{}.", served(rate)),
            F::RequestsFailed { failed } => format!(
                "In the median trial of the control, {failed} of the requests failed: they got an \
                 error, or no answer in time. So the study cannot say what busy waiting adds."
            ),
            F::FewerFailures => "Find out why requests fail, or use another --load.".into(),
            F::LoadFillsQuota { quota, used, most } => format!(
                "The control used {used} of the CPU time that a quota of {quota} CPUs allows. \
                 Above {} the load alone may be throttled under such a quota, so the study cannot \
                 say what busy waiting adds there.",
                percent(*most)
            ),
            F::RoomToSpin { quota, used, least } => format!(
                "The control used only {used} of the CPU time that a quota of {quota} CPUs allows. \
                 Below {} such a quota has room for both spinning and requests, so a negative \
                 result means little.",
                percent(*least)
            ),
            F::HigherRate(rate) => format!("Use a higher --rate{}.", served(rate)),
            F::StudyOfEachQuota => {
                "Measure each quota in a study of its own, so that the rate fits the quota.".into()
            }
            F::FewPeriods { arm, periods, least } => format!(
                "The number of periods of the quota in a trial of {arm} was {periods:#}. With \
                 fewer than {least}, even a node that spins may not use up its quota."
            ),
            F::MorePeriods => "Use a longer --duration or a shorter --period.".into(),
            F::QuotaOfAllCpus { arm, quota, cpus } => format!(
                "The quota of {arm} is {quota} CPUs, and the node may use no more than {}. So the \
                 node cannot exceed its quota and is never throttled.",
                plural((*cpus).into(), "CPU")
            ),
            F::SmallerQuota => "Use a --quota of fewer CPUs than the node may use.".into(),
            F::FewRequests { arm, requests, least } => format!(
                "The median trial of {arm} had {}. Fewer than {least} do not show what the \
                 slowest 1 in 100 takes.",
                plural(*requests, "request")
            ),
            F::MoreRequests => "Use a higher --rate or a longer --duration.".into(),
            F::NoQuota => {
                "A case without a CPU quota does not show what busy waiting costs under a quota."
                    .into()
            }
            F::WithQuota => {
                "Measure the cost under a quota; this needs root or a delegated cpu controller."
                    .into()
            }
            F::Background { defaults, flags } => format!(
                "Under the quota, background work ran at {defaults} with the VM's defaults, and \
                 at {flags} with the flags."
            ),
            F::Detected { quota, found, schedulers } => {
                let found = found
                    .map_or_else(|| "no quota".into(), |found| format!("a quota of {found} CPUs"));
                format!(
                    "Under the quota of {quota} CPUs the VM itself detected {found}. It had {}, as \
                     configured.",
                    plural((*schedulers).into(), "scheduler")
                )
            }
            F::Spun { quota, spun, active } => {
                let quota = if *quota { "Under the quota" } else { "Without a quota" };
                let beside = active.as_ref().map(|active| format!(", and worked for {active:#}"));
                let beside = beside.unwrap_or_default();
                format!(
                    "{quota}, schedulers with the VM's defaults spun for {spun} of CPU \
                         time{beside}."
                )
            }
            F::Environment { flags } => {
                format!("Put the flags into the node's environment: ERL_FLAGS=\"{flags}\".")
            }
            F::QuotaAlone => "other flags are tried only under a quota".into(),
            F::OneOtp => "--otp: name one OTP; to compare several, make a study (tailback study \
                 --help)"
                .into(),
            F::OneOtpALevel => "otp: name one OTP per level; for several OTPs, give the factor \
                                several levels"
                .into(),
            F::NoCost => {
                "the cost of a request could not be measured on this machine; give --rate N".into()
            }
            F::NotReady { limit } => format!("the node was not ready for requests after {limit}"),
        }
    }
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let flags = |flags: &Option<Name>| {
        flags.as_ref().map_or_else(|| "the VM's defaults".into(), Name::to_string)
    };
    let quota = match both.quota {
        Some(quota) => format!("under a quota of {quota} CPUs"),
        None => "without a CPU quota".into(),
    };
    format!(
        ": {quota} 1 in 100 requests took {} or longer with {}, and {} or longer with {}.",
        both.case,
        flags(&both.flags),
        both.control,
        flags(&both.control_flags)
    )
}

fn served(rate: &Option<Served>) -> String {
    rate.as_ref().map(|rate| format!(" (the control served {:#})", rate.served)).unwrap_or_default()
}
