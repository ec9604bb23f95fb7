//! The facts of `quota-blind` and their sentences.

use model::prose::figures::plural;
use model::{Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum QuotaBlindFact {
    Costs {
        runtime: Name,
        #[serde(flatten)]
        both: Option<Box<Compared>>,
    },
    CostsNothing {
        runtime: Name,
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
            F::Costs { runtime, both } => format!(
                "{runtime} runs more threads than its quota allows, and that slows its requests{}",
                compared(both)
            ),
            F::CostsNothing { runtime, both } => format!(
                "The number of CPUs that {runtime} chooses by itself does not slow its requests \
                 here{}",
                compared(both)
            ),
            F::Unsettled => {
                "It is not settled whether the number of CPUs that the runtime chooses by itself \
                 slows its requests here."
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

fn used(seen: &Seen) -> String {
    let Seen { runtime, release, .. } = seen;
    format!("By its own default {runtime} {release} used {}", plural(seen.cpus.into(), "CPU"))
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let cpus = both.cpus.map(|count| format!(" of {}", plural(count, "CPU")));
    let control = both.control.as_ref().map(|control| {
        let count = both
            .control_cpus
            .map_or_else(|| "another number of CPUs".into(), |count| plural(count, "CPU"));
        format!(", and {control} when configured for {count}")
    });
    let throttled = both.throttled.as_ref().map(|throttled| {
        let control = both.control_throttled.as_ref();
        let control = control.map(|throttled| format!(", and in {throttled} when configured"));
        format!(" It was throttled in {throttled} of the periods{}.", control.unwrap_or_default())
    });
    format!(
        ": with its own default{}, 1 in 100 requests took {} or longer{}.{}",
        cpus.unwrap_or_default(),
        both.p99,
        control.unwrap_or_default(),
        throttled.unwrap_or_default()
    )
}
