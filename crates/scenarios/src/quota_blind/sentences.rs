//! The facts of `quota-blind` and their sentences.

use super::params::Runtime;
use model::prose::figures::plural;
use model::{Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum QuotaBlindFact {
    Costs {
        runtime: Name,
        /// The setting of the case. None: the runtime's own default.
        told: Option<u32>,
        #[serde(flatten)]
        both: Option<Box<Compared>>,
    },
    CostsNothing {
        runtime: Name,
        /// The setting of the case. None: the runtime's own default.
        told: Option<u32>,
        #[serde(flatten)]
        both: Option<Box<Compared>>,
    },
    Unsettled,
    Told {
        setting: Name,
    },
    Release(Release),
    Blind(Seen),
    Sees(Seen),
    NeverThrottled,
    MoreLoad,
    FewRequests {
        arm: Name,
        requests: u64,
    },
    MoreRequests {
        least: u64,
    },
    NoJob {
        arm: Name,
    },
    MoreJobs,
    NoRuntime,
    Install {
        command: Name,
    },
    NoProgram {
        path: Name,
    },
    NotOnPath {
        program: Name,
    },
    InstallOrName {
        command: Name,
    },
    NoJavac,
    OneProgram {
        flag: Name,
    },
    StrangeVersion {
        program: Name,
        version: Name,
    },
    OwnWords {
        error: Name,
    },
    ForItsUser,
    NotAsRoot,
    OwnFolders,
    RootAlone,
    BeRoot,
    QuotaOfAllCpus {
        quota: Name,
        whole: u32,
        allowed: u64,
    },
    LessQuota,
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub p99: Estimate,
    pub control: Option<Estimate>,
    pub cpus: Option<u64>,
    pub control_cpus: Option<u64>,
    pub throttled: Option<Estimate>,
    pub control_throttled: Option<Estimate>,
}

/// The runtime and its version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Release {
    pub runtime: Name,
    pub release: Name,
}

/// The number of CPUs that a runtime chose, and the number that fits its quota.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub runtime: Name,
    pub release: Name,
    pub cpus: u32,
    pub quota: Name,
    pub place: Name,
}

impl Sentence for QuotaBlindFact {
    fn sentence(&self) -> String {
        use QuotaBlindFact as F;
        match self {
            F::Costs { runtime, told: told_cpus, both } => {
                costs(runtime, *told_cpus, both) + &compared(runtime, *told_cpus, both)
            }
            F::CostsNothing { runtime, told: told_cpus, both } => format!(
                "{} does not slow its requests here{}",
                choice(runtime, *told_cpus),
                compared(runtime, *told_cpus, both)
            ),
            F::Unsettled => {
                "It is not settled whether the number of the runtime's threads slows its requests \
                 here."
                    .into()
            }
            F::Told { setting } => setting.to_string(),
            F::Release(Release { runtime, release }) => format!("This was {runtime} {release}."),
            F::Blind(seen) => format!(
                "{}, although its quota is {} ({}).",
                used(seen),
                seen.quota,
                place(&seen.place)
            ),
            F::Sees(seen) => format!(
                "{}, as its quota of {} ({}) allows.",
                used(seen),
                seen.quota,
                place(&seen.place)
            ),
            F::NeverThrottled => {
                "The group was hardly ever throttled, so it had quota left for more threads.".into()
            }
            F::MoreLoad => "Use a longer --job, or a smaller --quota.".into(),
            F::FewRequests { arm, requests } => format!(
                "Half of the trials of {arm} had {} or fewer, too few for the latency that 1 in \
                 100 requests exceeds.",
                plural(*requests, "request")
            ),
            F::MoreRequests { least } => format!(
                "Use a longer --duration or a higher --rate, so that a trial has {least} requests \
                 or more."
            ),
            F::NoJob { arm } => format!(
                "In half or more of the trials of {arm}, no job ended. So these trials do not show \
                 what the threads of a job cost."
            ),
            F::MoreJobs => {
                "Use a longer --duration or a shorter --every, so that a job ends in each trial."
                    .into()
            }
            F::NoRuntime => "no erl, java, go or node on the PATH".into(),
            F::Install { command } => format!("install it: {command}"),
            F::NoProgram { path } => format!("{path}: not a program that can be run"),
            F::NotOnPath { program } => format!("no {program} on the PATH"),
            F::InstallOrName { command } => {
                format!("install it: {command}; or name it with --program PATH")
            }
            F::NoJavac => "no javac beside java or on the PATH".into(),
            F::OneProgram { flag } => {
                format!(
                    "{flag}: name only one; to compare several, make a study (tailback study \
                         --help)"
                )
            }
            F::StrangeVersion { program, version } => {
                format!("{program}: not a version of Go: {version}")
            }
            F::OwnWords { error } => error.to_string(),
            F::ForItsUser => {
                "name a runtime with --program that this user may execute (not in /root)".into()
            }
            F::NotAsRoot => {
                "as root, tailback runs no program that other users could have put there: name \
                 another with --program"
                    .into()
            }
            F::OwnFolders => {
                "set XDG_CACHE_HOME and TMPDIR to folders that only the caller may write to".into()
            }
            F::RootAlone => "--limit-at namespace: only root can create a cgroup namespace".into(),
            F::QuotaOfAllCpus { quota, whole, allowed } => format!(
                "--quota {quota}: a program can keep {} busy with it, and this process may use {}, \
                 so no runtime could use too many",
                plural(u64::from(*whole), "CPU"),
                allowed
            ),
            F::LessQuota => "take a smaller --quota, or a machine with more CPUs".into(),
            F::BeRoot => "run as root, or use --limit-at leaf or parent".into(),
        }
    }
}

/// Where the quota is, from the name of the parameter. An older record has the words themselves.
fn place(limit_at: &Name) -> String {
    match limit_at.0.as_str() {
        "leaf" => "at its own group".into(),
        "parent" => "at the group above its own".into(),
        "namespace" => "at the root of its cgroup namespace".into(),
        _ => limit_at.to_string(),
    }
}

/// What the number of CPUs of a runtime counts. Node.js has only the size of its pool.
fn counted(runtime: &Name) -> &'static str {
    if is_node(runtime) { "pool thread" } else { "CPU" }
}

fn is_node(runtime: &Name) -> bool {
    runtime.0 == Runtime::Node.name()
}

/// The number of CPUs that a runtime used by its own default.
fn used(seen: &Seen) -> String {
    let Seen { runtime, release, cpus, .. } = seen;
    let used = match is_node(runtime) {
        true => format!("had a pool of {}", plural(u64::from(*cpus), "thread")),
        false => format!("used {}", plural(u64::from(*cpus), "CPU")),
    };
    format!("By its own default {runtime} {release} {used}")
}

/// Whose choice the number of CPUs in the case was.
fn choice(runtime: &Name, told_cpus: Option<u32>) -> String {
    let counted = counted(runtime);
    match told_cpus {
        Some(count) => format!("Configuring {runtime} for {}", plural(u64::from(count), counted)),
        None => format!("The number of {counted}s that {runtime} chooses by itself"),
    }
}

/// What slows the requests. With --told, these may be fewer CPUs than the quota allows.
fn costs(runtime: &Name, told_cpus: Option<u32>, both: &Option<Box<Compared>>) -> String {
    let cpus = both.as_ref().and_then(|both| both.cpus.zip(both.control_cpus));
    match cpus.is_some_and(|(case, control)| case <= control) {
        true => format!("{} slows its requests here", choice(runtime, told_cpus)),
        false => format!(
            "{runtime} runs more threads than its quota allows, and that slows its requests"
        ),
    }
}

fn compared(runtime: &Name, told_cpus: Option<u32>, both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let counted = counted(runtime);
    let case = match told_cpus {
        Some(count) => format!("a setting of {}", plural(u64::from(count), counted)),
        None => {
            let cpus = both.cpus.map(|count| format!(" of {}", plural(count, counted)));
            format!("its own default{}", cpus.unwrap_or_default())
        }
    };
    let configured = both
        .control_cpus
        .map_or_else(|| format!("another number of {counted}s"), |count| plural(count, counted));
    let control =
        both.control.as_ref().map(|p99| format!(", and {p99} when configured for {configured}"));
    let throttled = both.throttled.as_ref().map(|throttled| {
        let control = both.control_throttled.as_ref();
        let control =
            control.map(|share| format!(", and in {share} when configured for {configured}"));
        format!(" It was throttled in {throttled} of the periods{}.", control.unwrap_or_default())
    });
    format!(
        ": with {case}, 1 in 100 requests took {} or longer{}.{}",
        both.p99,
        control.unwrap_or_default(),
        throttled.unwrap_or_default()
    )
}
