//! The declaration of `mmap-lock`.

use super::params::{LOCK_FREE, MmapLockParams};
use super::sentences::MmapLockFact;
use crate::params::{self, Auto, Counts, OrNone, Params, changed, literal};
use model::scenario::{FixMeta, MeasureMeta, Tag};
use model::{Judging, Meta, Needs, Settings, Unit};
use std::borrow::Cow;

/// Names of the figures.
pub(super) mod measure {
    pub const STALL: &str = "stall";
    pub const WORST: &str = "worst";
    pub const WAIT_P99: &str = "wait_p99";
    pub const WAIT_P999: &str = "wait_p999";
    pub const OVER: [&str; 3] = ["over_1ms", "over_10ms", "over_100ms"];
    pub const OPERATIONS: &str = "operations";
    pub const SCANS: &str = "scans";
    pub const SCAN_BYTES: &str = "scan_bytes";
    pub const SPINS: &str = "spins";
    pub const THROTTLED: &str = "throttled";
}

/// The description of `mmap-lock`.
pub const META: Meta = Meta {
    id: "mmap-lock",
    title: "readers of /proc/PID block the memory mapping of process PID",
    about: "A process maps and unmaps single pages, alone on a CPU, and times each call. On \
            another CPU scanners of low priority read a file of its /proc directory from start to \
            end, again and again, among spinners of normal priority. A scanner that is preempted \
            while it holds the mmap lock blocks every mmap and munmap of the process, and the page \
            faults that queue behind them, for as long as the spinners run. In the control as many \
            scanners read an idle twin of the process, among as many spinners. Judged is the time \
            lost in calls longer than a millisecond, per second.",
    who: "hosts where monitoring agents, ps, top, smem or heap profilers read smaps, maps or \
          numa_maps of busy processes, above all at low priority or under a CPU limit: databases, \
          JVMs and Erlang nodes that map memory all the time",
    fixes: &[
        FixMeta {
            id: "lock-free-file",
            what: "Read status or statm where the size of a process is enough: they take no mmap \
                   lock.",
            change: |settings| {
                changed(settings, |params: &mut MmapLockParams| {
                    if !params.is_lock_free() {
                        params.procfile = literal(LOCK_FREE[0]);
                    }
                })
            },
        },
        FixMeta {
            id: "no-limit",
            what: "Take the readers out of the group with a CPU limit: up to Linux 6.17 a reader that \
                   is throttled keeps the lock until the next period.",
            change: |settings| {
                changed(settings, |params: &mut MmapLockParams| {
                    // The load stays the same as under the limit.
                    if params.reader_quota.value().is_some() {
                        params.spinners = params.spinners.or(0);
                    }
                    params.reader_quota = OrNone::None;
                })
            },
        },
        FixMeta {
            id: "priority",
            what: "Give readers no lower priority than the process that they read: a reader that \
                   is preempted keeps the lock.",
            change: |settings| {
                changed(settings, |params: &mut MmapLockParams| {
                    // Without spinners, readers wait only for each other.
                    if params.spinners_beside(params.busy.most()) > 0 {
                        params.nice = params.nice.min(0);
                    }
                })
            },
        },
        FixMeta {
            id: "file",
            what: "Read another file: maps takes the locks of single mappings from Linux 6.17 on, smaps \
                   only from 7.2 on.",
            change: |settings| {
                // Compared with a file without the lock, maps is worse. So an arm with such a file
                // does not count as this fix either.
                let params = MmapLockParams::of(settings)?;
                let procfile = literal("maps");
                (!params.is_lock_free()).then(|| MmapLockParams { procfile, ..params }.settings())
            },
        },
        FixMeta {
            id: "fewer-readers",
            what: "Have one reader in place of several. Reading less often helps too, but no run \
                   tries that.",
            change: |settings| changed(settings, fewer_readers),
        },
    ],
    sentence: model::fact::sentence::<MmapLockFact>,
    series: &[],
    needs: Needs { cpus: 2, root: false },
    parameters: params::of::<MmapLockParams>(),
    measures: &[
        MeasureMeta {
            name: measure::STALL,
            heading: "stalled",
            unit: Unit::MillisecondsPerSecond,
            help: "time in calls longer than 1 ms, in each second of the trial",
            column: true,
        },
        MeasureMeta {
            name: measure::WORST,
            heading: "worst call",
            unit: Unit::Milliseconds,
            help: "longest call of a trial",
            column: true,
        },
        MeasureMeta {
            name: measure::WAIT_P99,
            heading: "wait p99",
            unit: Unit::Milliseconds,
            help: "what 1 in 100 requests arriving at random moments would wait for the call under \
                   way; free of coordinated omission",
            column: false,
        },
        MeasureMeta {
            name: measure::WAIT_P999,
            heading: "wait p99.9",
            unit: Unit::Milliseconds,
            help: "the same for 1 in 1000",
            column: false,
        },
        MeasureMeta {
            name: measure::OVER[0],
            heading: "> 1 ms",
            unit: Unit::Count,
            help: "calls longer than 1 ms in a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::OVER[1],
            heading: "> 10 ms",
            unit: Unit::Count,
            help: "calls longer than 10 ms in a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::OVER[2],
            heading: "> 100 ms",
            unit: Unit::Count,
            help: "calls longer than 100 ms in a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::OPERATIONS,
            heading: "calls",
            unit: Unit::PerSecond,
            help: "calls of mmap and munmap a second",
            column: true,
        },
        MeasureMeta {
            name: measure::SCANS,
            heading: "scans",
            unit: Unit::PerSecond,
            help: "scans from start to end a second, of all scanners",
            column: false,
        },
        MeasureMeta {
            name: measure::SCAN_BYTES,
            heading: "scanned",
            unit: Unit::Bytes,
            help: "bytes that the scanners read in a trial",
            column: false,
        },
        MeasureMeta {
            name: measure::SPINS,
            heading: "spins",
            unit: Unit::PerSecond,
            help: "looks of all spinners a second",
            column: false,
        },
        MeasureMeta {
            name: measure::THROTTLED,
            heading: "throttled",
            unit: Unit::Count,
            help: "periods of a trial in which the quota throttled the readers' group",
            column: false,
        },
    ],
    judging: Judging {
        measure: Cow::Borrowed(measure::STALL),
        margin: 1.0,
        control_limit: 50.0,
        wants_cpu: true,
        error_rate: model::record::ERROR_RATE,
        confidence: 0.95,
    },
    tags: &[
        Tag {
            commit: "5631da56c9a8",
            since: "6.17",
            what: "maps takes the locks of single mappings",
            matters: |settings| reads(settings, "maps"),
        },
        Tag {
            commit: "ff9f47f6f00c",
            since: "5.10",
            what: "smaps_rollup lets waiting writers in",
            matters: |settings| reads(settings, "smaps_rollup"),
        },
        Tag {
            commit: "e1fad12dcb66",
            since: "6.18",
            what: "a throttled reader goes on to the end of its system call, and lets go of the lock",
            matters: readers_have_a_quota,
        },
    ],
};

/// Leaves one scanner, and as many spinners as the case with the most scanners has. A study with a
/// case of one scanner stays as it is.
fn fewer_readers(params: &mut MmapLockParams) {
    let most = params.busy.most();
    if most <= 1 || params.busy.all().contains(&1) {
        return;
    }
    let spinners = params.spinners_beside(most);
    params.busy = Counts::one(1);
    if params.spinners_beside(1) != spinners {
        params.spinners = Auto::Is(spinners);
    }
}

/// Whether the scanners have a CPU quota.
fn readers_have_a_quota(settings: &Settings) -> bool {
    MmapLockParams::of(settings).is_some_and(|params| params.reader_quota.value().is_some())
}

/// Whether the scanners read this file.
fn reads(settings: &Settings, file: &str) -> bool {
    MmapLockParams::of(settings).is_some_and(|params| params.procfile.as_str() == file)
}
