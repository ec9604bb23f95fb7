//! The facts of `held-mutex` and their sentences.

use model::{Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum HeldMutexFact {
    Stalls(Option<Box<Compared>>),
    Passes(Option<Box<Compared>>),
    Unsettled,
    Usual,
    Short,
    Inherit,
    OwnWeight,
    UsualWeight,
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub holder: Holder,
    pub lost: Estimate,
    pub control: Option<Estimate>,
    pub worst: Option<Estimate>,
}

/// How the holder is held up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Holder {
    Usual,
    Nice(u32),
    Idle,
    Quota(Name),
}

impl Sentence for HeldMutexFact {
    fn sentence(&self) -> String {
        use HeldMutexFact as F;
        match self {
            F::Stalls(both) => {
                format!("The holder of a mutex keeps others asleep here{}", compared(both))
            }
            F::Passes(both) => {
                let start = "The holder of a mutex does not keep others asleep much longer here \
                             than in the control";
                format!("{start}{}", compared(both))
            }
            F::Unsettled => {
                "It is not settled whether the holder of a mutex keeps others asleep here.".into()
            }
            F::Usual => "the same weight for the holder as for the others, and no quota".into(),
            F::Short => "the same work in sections of 100 us".into(),
            F::Inherit => "a mutex with priority inheritance".into(),
            F::OwnWeight => {
                "tailback itself runs at a nice value other than 0 or under a policy other than \
                 SCHED_OTHER, and so would the holder's rivals"
                    .into()
            }
            F::UsualWeight => "run it at nice 0, without nice and chrt".into(),
        }
    }
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let holder = match &both.holder {
        Holder::Usual => "like its rivals".to_owned(),
        Holder::Nice(nice) => format!("at nice {nice}"),
        Holder::Idle => "of the policy SCHED_IDLE".to_owned(),
        Holder::Quota(quota) => format!("under a CPU quota of {quota}"),
    };
    let control = both.control.as_ref();
    let control = control.map(|lost| format!(", and {lost} in the control"));
    let worst = both.worst.as_ref();
    let worst = worst.map(|worst| format!(" In the median trial, the longest wait was {worst}."));
    format!(
        ": a thread that shares the mutex with a holder {holder} lost {} in waits (not counting \
         the work of a section){}.{}",
        both.lost,
        control.unwrap_or_default(),
        worst.unwrap_or_default()
    )
}
