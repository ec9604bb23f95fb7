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
    NotHeldUp { arm: Name, off_cpu: Estimate },
    SmallerQuota,
    MoreRivals,
    PauseTooLong { every: Name, duration: Name, most: Name },
    TooFewSections { inside: Name, rest: Name, duration: Name, least: Name },
    NoRivals,
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
            F::NotHeldUp { arm, off_cpu } => format!(
                "The holder of {arm} held the mutex without a CPU for {off_cpu} only. So nothing \
                 held it up, and the trials could not have shown a stall."
            ),
            F::SmallerQuota => {
                "Use a smaller --quota, a shorter --rest or a longer --duration, so that the \
                 holder uses up its quota."
                    .into()
            }
            F::MoreRivals => {
                "Use more --rivals, or a longer --inside, so that the holder loses its CPU while \
                 it holds the mutex."
                    .into()
            }
            F::PauseTooLong { every, duration, most } => format!(
                "--every {every}: more than a tenth of the --duration of {duration}, so a trial \
                 would have too few calls; take {most} or less, or a longer --duration"
            ),
            F::TooFewSections { inside, rest, duration, least } => format!(
                "--duration {duration}: too short for three sections with an --inside of {inside} \
                 and a --rest of {rest}; take {least} or more, or a shorter --inside or --rest"
            ),
            F::NoRivals => {
                "--rivals 0: without a rival the holder keeps its CPU; take 1 or more, or use \
                 --by quota"
                    .into()
            }
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
