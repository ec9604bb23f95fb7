//! The declaration of `io-journal`.

use super::params::{IoJournalParams, JournalFix};
use super::sentences::IoJournalFact;
use crate::params::{self, changed};
use model::scenario::{FixMeta, MeasureMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const LOST: &str = "lost";
    pub const CALL: &str = "call";
    pub const WORST: &str = "worst";
    pub const CALLS: &str = "calls";
    pub const OVER: &str = "over_50ms";
    pub const ROUNDS: &str = "rounds";
    pub const WRITER: &str = "writer_fsync";
    pub const BEHIND: &str = "behind_writer";
    pub const LOCKED: &str = "locked";
}

/// How much case and control may differ, in milliseconds per second.
///
/// This is one call of 50 ms in each second. By hand, the victim lost more than 960 ms/s behind the
/// writer, and nothing in the control (Linux 6.12 and 6.18, 2026-11-29).
const MARGIN: f64 = 50.0;

const fn figure(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    help: &'static str,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column: true }
}

const fn detail(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    help: &'static str,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column: false }
}

/// The description of `io-journal`.
pub const META: Meta = Meta {
    id: "io-journal",
    title: "a program under io.max holds up every fsync on its file system",
    about: "A writer in a control group with a low io.max writes to a file, begins its write-back, \
            writes the last block again and one into a hole, and calls fsync. That fsync opens a \
            transaction of ext4's journal for the new block, and with it open waits for the last \
            block, whose write-back the cap holds back. A commit of the journal waits for the \
            writer, and everybody's fsync on that file system waits for the commit. A victim \
            without a cap appends 4 KiB and calls fsync, again and again. In the control the same \
            writer uses another file system of the same disk. The disk is in memory (a loop \
            device), and its file systems are ext4. Judged is the time in calls longer than 50 ms, \
            per second.",
    who: "machines on which a container or a service with io.max (IOWriteBandwidthMax= of systemd, \
          docker --device-write-bps) shares an ext4 file system with others: the root file system \
          of containers, a log, a database",
    fixes: &[
        FixMeta {
            id: "own-file-system",
            what: "Give the capped work a file system of its own. Another partition of the same \
                   disk is enough.",
            change: |settings| {
                changed(settings, |params: &mut IoJournalParams| *params = params.control())
            },
        },
        FixMeta {
            id: "larger-cap",
            what: "Raise the cap (wbps in io.max), so that what is written between two calls of \
                   fsync waits for less than 50 ms.",
            change: |settings| {
                changed(settings, |params: &mut IoJournalParams| {
                    *params = params.with(JournalFix::LargerCap);
                })
            },
        },
        FixMeta {
            id: "written-once",
            what: "Do not write a block again between the start of its write-back \
                   (sync_file_range) and fsync.",
            change: |settings| {
                changed(settings, |params: &mut IoJournalParams| {
                    *params = params.with(JournalFix::WrittenOnce);
                })
            },
        },
    ],
    sentence: model::fact::sentence::<IoJournalFact>,
    series: &[],
    needs: Needs { cpus: 1, root: true },
    parameters: params::of::<IoJournalParams>(),
    measures: &[
        figure(
            measure::LOST,
            "lost",
            Unit::MillisecondsPerSecond,
            "time of the victim in calls longer than 50 ms, in each second of the trial",
        ),
        figure(
            measure::CALL,
            "call p50",
            Unit::Milliseconds,
            "what half of the calls took at most; a call appends 4 KiB and calls fsync",
        ),
        figure(measure::WORST, "worst call", Unit::Milliseconds, "longest call of a trial"),
        figure(measure::CALLS, "calls", Unit::PerSecond, "calls of the victim a second"),
        figure(
            measure::WRITER,
            "writer's fsync",
            Unit::Milliseconds,
            "the writer's longest fsync in a trial; one that had not returned counts with its time \
             so far",
        ),
        detail(
            measure::OVER,
            "> 50 ms",
            Unit::Count,
            "calls of the victim longer than 50 ms in a trial",
        ),
        detail(
            measure::ROUNDS,
            "rounds",
            Unit::Count,
            "calls of fsync of the writer in a trial, with one that had not returned",
        ),
        detail(
            measure::BEHIND,
            "behind writer",
            Unit::Percent,
            "part of the lost time in which the writer was in fsync; absent if nothing was lost",
        ),
        detail(
            measure::LOCKED,
            "locked",
            Unit::Milliseconds,
            "mean time for which a commit of the victim's journal waited for those who had the \
             transaction open, as /proc/fs/jbd2 counts it",
        ),
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::LOST),
        margin: MARGIN,
        control_limit: 100.0,
        // A victim without a CPU does not wait for the journal.
        wants_cpu: true,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[],
};
