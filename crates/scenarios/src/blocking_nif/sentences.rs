//! The facts of `blocking-nif` and their sentences.

use model::prose::figures::listed;
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum BlockingNifFact {
    Stalls,
    Collapse {
        case: Estimate,
        control: Estimate,
        wall: Option<Estimate>,
        control_wall: Option<Estimate>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Name>,
    },
    Unfair {
        case: Estimate,
        control: Estimate,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Name>,
    },
    Late {
        case: Estimate,
        control: Estimate,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Name>,
    },
    Fair(Option<Box<Fair>>),
    Unsettled,
    WhyCollapse {
        blocks: bool,
    },
    WhyUnfair,
    WhyLate {
        blocks: bool,
    },
    NoneWaits {
        processes: u32,
        schedulers: u32,
    },
    LittleWork {
        arm: Name,
        work: Amount,
    },
    TooShort {
        wall: Amount,
    },
    MoreWork,
    MoreWorkEach {
        least: Amount,
    },
    BlockingForm,
    Dirty,
    Charges,
}

/// The figures of a case without a stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Fair {
    pub arm: Name,
    pub asleep: Option<Estimate>,
    pub late: Option<Estimate>,
}

impl Sentence for BlockingNifFact {
    fn sentence(&self) -> String {
        use BlockingNifFact as F;
        match self {
            F::Stalls => "Native functions stall the schedulers here.".into(),
            F::Collapse { case, control, wall, control_wall, also } => {
                let took = wall.as_ref().zip(control_wall.as_ref()).map(|(wall, instead)| {
                    format!(" The same work took {wall} of wall time instead of {instead}.")
                });
                format!(
                    "Schedulers sleep here while work is queued, for at least {case} of their \
                     time. With the same work in slices that yield, they do so for {control}.{}{}",
                    took.unwrap_or_default(),
                    as_well(also)
                )
            }
            F::Unfair { case, control, also } => format!(
                "Equal processes get very different run times here: the longest was {case} times \
                 the shortest, and {control} times with work in slices that yield.{}",
                as_well(also)
            ),
            F::Late { case, control, also } => format!(
                "Timers come late here: a timer process was overdue for {case}, and for {control} \
                 with work in slices that yield.{}",
                as_well(also)
            ),
            F::Fair(case) => fair(case.as_deref()),
            F::Unsettled => {
                "It is not settled whether native functions stall the schedulers here.".into()
            }
            F::WhyCollapse { blocks } => format!(
                "Collapse: a scheduler wakes a sleeping scheduler when it queues work or passes \
                 through its loop. While {} holds a scheduler, that scheduler does neither, so its \
                 queue waits although other schedulers sleep.",
                holder(*blocks)
            ),
            F::WhyUnfair => {
                "Unfair: the calls charge no reductions, so the first processes of a queue run to \
                 their end while the last wait for all of them."
                    .into()
            }
            F::WhyLate { blocks } => format!(
                "Late: schedulers serve timers and ports between two processes. While {} holds a \
                 scheduler, timers and ports wait, whatever their priority.",
                holder(*blocks)
            ),
            F::NoneWaits { processes, schedulers } => format!(
                "With no more processes ({processes}) than schedulers ({schedulers}), no process \
                 had to wait, so nothing could have stalled."
            ),
            F::LittleWork { arm, work } => format!(
                "In {arm} the calls of each process have {work} of work in all, too little to show \
                 a stall."
            ),
            F::TooShort { wall } => format!("A trial took {wall}, too short to show a stall."),
            F::MoreWork => "Run it with more work.".into(),
            F::MoreWorkEach { least } => format!(
                "Use a larger --work or more --calls, so that the calls of each process have \
                 {least} of work or more."
            ),
            F::BlockingForm => "Run it with work that blocks a scheduler.".into(),
            F::Dirty => "the native function on a dirty scheduler".into(),
            F::Charges => "the native function charges its reductions".into(),
        }
    }
}

/// Names the other stalls.
fn as_well(also: &[Name]) -> String {
    match also {
        [] => String::new(),
        also => format!(" The schedulers are {} as well.", listed(also)),
    }
}

/// What keeps a scheduler busy.
fn holder(blocks: bool) -> &'static str {
    if blocks { "a call that does not yield" } else { "the work" }
}

fn fair(case: Option<&Fair>) -> String {
    let asleep = case.and_then(|case| case.asleep.as_ref().map(|time| (&case.arm, time)));
    let asleep = asleep.map(|(arm, time)| {
        format!(": with {arm} they slept {time} of the time in which work was queued")
    });
    let late = case.and_then(|case| case.late.as_ref());
    let late = late.map(|late| format!(", and a timer process was overdue for {late}"));
    format!(
        "The schedulers kept working and stayed fair here{}{}.",
        asleep.unwrap_or_default(),
        late.unwrap_or_default()
    )
}
