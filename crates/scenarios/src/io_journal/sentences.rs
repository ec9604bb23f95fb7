//! The facts of `io-journal` and their sentences.

use super::params::{By, On};
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum IoJournalFact {
    Stalls(Option<Box<Compared>>),
    Passes(Option<Box<Compared>>),
    Unsettled,
    OwnFileSystem,
    LargerCap { cap: Name },
    WrittenOnce,
    Holder,
    HeldOpen { writer: Estimate, behind: Option<Estimate>, locked: Option<Estimate> },
    NoRound { arm: Name },
    CapNotReached { arm: Name, writer: Estimate, wait: Amount },
    WriteMore,
    ShortWait { wait: Amount },
    UseWeight,
    OfV1,
    NoController { path: Name },
    Occupied { path: Name, processes: u64 },
    NoGroup { path: Name },
    NoLimits,
    NoLoop { path: Name },
    LoopDenied { error: Name },
    NoFileSystem { error: Name },
    MayNotMount { error: Name },
    NoProgram,
    UnsafeProgram { error: Name },
    BeRoot,
    InAGuest,
    LoadDriver,
    Install,
    NoRoom { needed: u64, available: u64 },
    PauseTooLong { pause: Name, duration: Name, most: Name },
    RoundTooLong { burst: Name, cap: Name, wait: Name, longest: Name },
    NotWholePages { burst: Name, page: Name, least: Name },
}

/// The figures of case and control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub by: By,
    /// The file system of the writer.
    pub on: On,
    /// The cap, in bytes a second.
    pub cap: Name,
    pub lost: Estimate,
    pub control: Option<Estimate>,
    pub worst: Option<Estimate>,
    pub writer: Option<Estimate>,
}

impl Sentence for IoJournalFact {
    fn sentence(&self) -> String {
        use IoJournalFact as F;
        match self {
            F::Stalls(both) => format!("{}{}", stalls(both), compared(both)),
            F::Passes(both) => format!(
                "A program under io.max did not hold up the fsync of others{} while this ran{}",
                elsewhere(both),
                compared(both)
            ),
            F::Unsettled => {
                "It is not settled whether a program under io.max holds up the fsync of others \
                 here."
                    .into()
            }
            F::OwnFileSystem => "a file system of its own for the capped work".into(),
            F::LargerCap { cap } => format!("a cap of {cap}/s"),
            F::WrittenOnce => {
                "no block is written again between the start of its write-back and fsync".into()
            }
            F::Holder => {
                "The writer (the process journal-writer, in a control group of tailback with \
                 io.max) was in fsync during at least 90% of the time that the victim lost."
                    .into()
            }
            F::HeldOpen { writer, behind, locked } => {
                held_open(writer, behind.as_ref(), locked.as_ref())
            }
            F::NoRound { arm } => format!(
                "The writer of {arm} called fsync in less than half of the trials. So the trials \
                 show little."
            ),
            F::CapNotReached { arm, writer, wait } => format!(
                "The longest fsync of the writer of {arm} took {writer}, less than half of the \
                 {wait} for which its cap should have held it back. So the cap did not hold it \
                 back, and the trials show little."
            ),
            F::WriteMore => "Run it again with a larger --burst or a smaller --cap.".into(),
            F::ShortWait { wait } => format!(
                "Under this cap, a round of the writer waits for {wait}. A call counts as a stall \
                 from 50 ms on, so this run does not show how long calls wait for such a round."
            ),
            F::UseWeight => {
                "Use io.weight instead of io.max, where the disk has the scheduler bfq or io.cost: \
                 a weight holds a group back only while others use the disk. Not tested: tailback \
                 does not try it."
                    .into()
            }
            F::OfV1 => {
                "this machine has the memory controller of cgroup v1; only with cgroup v2 does the \
                 kernel count write-back for the group that wrote the data"
                    .into()
            }
            F::NoController { path } => format!(
                "{path}: no io controller; the kernel has none (CONFIG_BLK_CGROUP), or a group \
                 above does not pass it on"
            ),
            F::Occupied { path, processes } => format!(
                "{path}: holds {processes} processes itself, so it cannot give its children the io \
                 controller"
            ),
            F::NoGroup { path } => {
                format!("no control group can be made here: {path} cannot be written")
            }
            F::NoLimits => {
                "this kernel has no io.max for control groups (CONFIG_BLK_DEV_THROTTLING)".into()
            }
            F::NoLoop { path } => {
                format!("there are no loop devices here: {path} is missing or has no driver")
            }
            F::LoopDenied { error } => format!(
                "no loop device with partitions can be made here, which needs Linux 5.8 or later: \
                 {error}"
            ),
            F::NoFileSystem { error } => {
                format!("ext4 cannot be mounted here, which needs Linux 5.2 or later: {error}")
            }
            F::MayNotMount { error } => format!("this process may not mount ext4: {error}"),
            F::NoProgram => "there is no program mkfs.ext4 here".into(),
            F::UnsafeProgram { error } => {
                format!("as root, tailback does not run this mkfs.ext4: {error}")
            }
            F::BeRoot => {
                "run it as root and outside of a container, or in a guest: tailback vm --kernel \
                 debian:6.12 -- run io-journal"
                    .into()
            }
            F::InAGuest => {
                "run it in a guest: tailback vm --kernel debian:6.12 -- run io-journal".into()
            }
            F::LoadDriver => {
                "load the driver (modprobe loop) and run it outside of a container, or in a guest: \
                 tailback vm --kernel debian:6.12 -- run io-journal"
                    .into()
            }
            F::Install => "install e2fsprogs (apt-get install e2fsprogs)".into(),
            F::NoRoom { needed, available } => format!(
                "the disk in memory needs {needed} MiB, more than half of the {available} MiB that \
                 are available"
            ),
            F::PauseTooLong { pause, duration, most } => format!(
                "--pause {pause}: more than a fifth of the --duration of {duration}, so a trial \
                 would have too few calls; take {most} or less, or a longer --duration"
            ),
            F::RoundTooLong { burst, cap, wait, longest } => format!(
                "--cap {cap}: it holds a round of --burst {burst} back for {wait}, and the sync of \
                 other programs too; take a larger cap or a smaller burst: {longest} at most"
            ),
            F::NotWholePages { burst, page, least } => format!(
                "--burst {burst}: this kernel has pages of {page}, and a round is whole pages; \
                 take a multiple of {page}, {least} at least"
            ),
        }
    }
}

fn held_open(writer: &Estimate, behind: Option<&Estimate>, locked: Option<&Estimate>) -> String {
    let behind = behind.map(|behind| {
        format!(" Of the time that the victim lost, {behind} passed while the writer was in fsync.")
    });
    let locked = locked.map(|locked| {
        format!(
            " A commit of the journal waited for {locked} on average until nobody had its \
             transaction open."
        )
    });
    format!(
        "The writer's longest fsync under the cap took {writer}.{}{}",
        behind.unwrap_or_default(),
        locked.unwrap_or_default()
    )
}

/// Whether the user asked for a writer on another file system than the victim's.
fn is_elsewhere(both: &Option<Box<Compared>>) -> bool {
    both.as_ref().is_some_and(|both| both.on == On::Other)
}

/// What stalls, as the start of a sentence.
fn stalls(both: &Option<Box<Compared>>) -> &'static str {
    match is_elsewhere(both) {
        true => "The fsync of others on another file system stalled beside a program under io.max",
        false => "A program under io.max holds up every fsync on its file system here",
    }
}

/// Which calls of fsync were looked at, if they are not those on the file system of the writer.
fn elsewhere(both: &Option<Box<Compared>>) -> &'static str {
    if is_elsewhere(both) { " on another file system" } else { "" }
}

fn compared(both: &Option<Box<Compared>>) -> String {
    let Some(both) = both else { return ".".into() };
    let Compared { cap, lost, .. } = both.as_ref();
    let writes = match both.by {
        By::Rewritten => "a writer that writes a block again during its write-back",
        By::Once => "a writer that writes no block again",
        By::Ordered => "a writer of a file without extents",
    };
    let control = both.control.as_ref().map(|lost| match both.on {
        On::Same => format!(", and {lost} when the writer used another file system"),
        On::Other => format!(", and {lost} in the control, which does the same"),
    });
    let worst = both.worst.as_ref().zip(both.writer.as_ref());
    let worst = worst.map(|(worst, writer)| {
        format!(
            " In the median trial, its longest call took {worst}, and the writer's longest fsync \
             {writer}."
        )
    });
    format!(
        ": beside {writes}, with a cap of {cap}/s, the victim lost {lost} in calls longer than 50 \
         ms{}.{}",
        control.unwrap_or_default(),
        worst.unwrap_or_default()
    )
}
