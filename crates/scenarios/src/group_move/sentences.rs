//! The facts of `group-move` and their sentences.

use super::params::By;
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum GroupMoveFact {
    Waits(Option<Box<Compared>>),
    Passes(Option<Box<Compared>>),
    Unsettled,
    CloneInto,
    NoCloneInV1,
    NoClone { error: Name },
    NoGroup { path: Name },
    BeRoot,
    InAGuest,
    FewCalls { arm: Name, calls: Estimate, fits: Amount },
    LeaveCpu,
    OtherMovers,
    FavorDynmods,
    CloseMoves { gap: Name },
    SwitchOn,
    SwitchOnAtBoot,
    GapTooLong { gap: Name, duration: Name, most: Name },
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub by: By,
    /// The pause before each call. None: no pause.
    pub gap: Option<Name>,
    pub lost: Estimate,
    pub control: Option<Estimate>,
    pub call: Option<Estimate>,
    pub worst: Option<Estimate>,
}

impl Sentence for GroupMoveFact {
    fn sentence(&self) -> String {
        use GroupMoveFact as F;
        match self {
            F::Waits(both) => format!("{} waits in the kernel here{}", doing(both), compared(both)),
            F::Passes(both) => format!(
                "{} did not wait for long while this ran{} A wait of up to 5 ms in a call does not \
                 count.",
                doing(both),
                compared(both)
            ),
            F::Unsettled => {
                "It is not settled whether moving a process between control groups waits here."
                    .into()
            }
            F::CloneInto => "a child that begins in its group (CLONE_INTO_CGROUP)".into(),
            F::NoCloneInV1 => {
                "the control groups here are of v1, and a child can begin in a group of v2 only \
                 (CLONE_INTO_CGROUP)"
                    .into()
            }
            F::NoClone { error } => {
                format!("the kernel does not let a child begin in a group: clone3: {error}")
            }
            F::NoGroup { path } => {
                format!("no control group can be made here: {path} cannot be written")
            }
            F::BeRoot => {
                "run it as root and outside of a container, or in a guest: tailback vm --kernel \
                 debian:6.12 -- run group-move"
                    .into()
            }
            F::InAGuest => {
                "run it in a guest, where control groups are of v2: tailback vm --kernel \
                 debian:6.12 -- run group-move --by clone-into"
                    .into()
            }
            F::FewCalls { arm, calls, fits } => format!(
                "The mover of {arm} made {calls} calls, less than half of the {fits} for which it \
                 had time. So something kept it from running, and the trials show little."
            ),
            F::LeaveCpu => {
                "Run it again when other programs leave the mover a CPU, or with a longer \
                 --duration."
                    .into()
            }
            F::OtherMovers => {
                "A move is cheap shortly after another one. If other programs (systemd, a \
                 container runtime) moved processes during the run, their moves made the moves of \
                 this run cheap. Without them a move may wait here."
                    .into()
            }
            F::FavorDynmods => {
                "Control groups are mounted with favordynmods here. Then a move does not wait for \
                 a grace period."
                    .into()
            }
            F::CloseMoves { gap } => format!(
                "Of moves that follow each other closely, only the first one waits. With a --gap \
                 of {gap} this run does not show what a single move costs; --gap 100ms does."
            ),
            F::SwitchOn => {
                "Mount the control groups with favordynmods: mount -o remount,favordynmods \
                 /sys/fs/cgroup (the mount of cgroup v2, Linux 6.0). The kernel's documentation \
                 says that forks and exits then cost more. From Linux 6.18 on it stays until the \
                 next boot. tailback does not try it."
                    .into()
            }
            F::SwitchOnAtBoot => {
                "Boot with the kernel's parameter cgroup_favordynmods=true (Linux 6.7): the \
                 control groups here are of v1, which does not take favordynmods in a remount. \
                 The kernel's documentation says that forks and exits then cost more. tailback \
                 has not tried it."
                    .into()
            }
            F::GapTooLong { gap, duration, most } => format!(
                "--gap {gap}: more than a fifth of the --duration of {duration}, so a trial would \
                 have too few calls; take {most} or less, or a longer --duration"
            ),
        }
    }
}

/// What the timed call does, at the start of a sentence.
fn doing(both: &Option<Box<Compared>>) -> &'static str {
    match both.as_ref().map_or(By::Move, |both| both.by) {
        By::Move => "Moving a process between control groups",
        By::CloneInto => "Making a process in a control group",
        By::OtherFile => "Writing to another file of a control group",
    }
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let pause = match &both.gap {
        Some(gap) => format!("a pause of {gap} before each call"),
        None => "no pause between the calls".to_owned(),
    };
    let control = both.control.as_ref();
    let control = control.map(|lost| format!(", and {lost} in the control"));
    let call = both.call.as_ref().zip(both.worst.as_ref());
    let call = call.map(|(call, worst)| {
        format!(" In the median trial, half of the calls took {call} or less, the longest {worst}.")
    });
    format!(
        ": with {pause}, the mover lost {} in calls longer than 5 ms{}.{}",
        both.lost,
        control.unwrap_or_default(),
        call.unwrap_or_default()
    )
}
