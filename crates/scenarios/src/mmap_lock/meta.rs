//! The declaration of `mmap-lock`.

use super::sentences::SENTENCES;
use model::scenario::{FixMeta, MeasureMeta, Tag};
use model::{Judging, Kind, Knob, Meta, Needs, Unit};
use std::borrow::Cow;

const SECOND_NS: u64 = 1_000_000_000;

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
}

/// What `mmap-lock` says of itself.
pub const META: Meta = Meta {
    id: "mmap-lock",
    title: "readers of /proc/PID block the memory mapping of process PID",
    about: "A process maps and unmaps single pages and times each call, alone on a CPU. On another \
            CPU scanners of low priority read a file of its /proc directory from start to end, \
            again and again, among spinners of ordinary priority. A scanner that is preempted \
            while it holds the mmap lock for reading keeps every mmap and munmap of the process \
            waiting, and the page faults that queue behind them, for as long as the spinners run. In the control as \
            many scanners read an idle twin of the process, among as many spinners. Judged is the time lost in calls longer than a millisecond, in \
            each second, trial by trial.",
    who: "hosts where monitoring agents, ps, top, smem or heap profilers read smaps, maps or \
          numa_maps of busy processes, above all at low priority or under a CPU limit: databases, \
          JVMs and Erlang nodes that map memory all the time",
    fixes: &[
        FixMeta {
            id: "priority",
            what: "Give readers no lower priority than the process that they read, and no CPU limit: \
                   a reader that is preempted keeps the lock.",
            parameters: &[("nice", "0")],
        },
        FixMeta {
            id: "file",
            what: "Read another file: from Linux 6.17 on, maps takes the locks of single mappings \
                   where smaps takes that of the whole map.",
            parameters: &[("procfile", "maps")],
        },
        FixMeta {
            id: "fewer-readers",
            what: "Have fewer readers, and let them read less often.",
            parameters: &[("busy", "1")],
        },
    ],
    sentences: SENTENCES,
    needs: Needs { cpus: 2, root: false },
    knobs: &[
        Knob {
            name: "procfile",
            kind: Kind::ProcFile,
            default: "smaps",
            quick: None,
            help: "File of /proc/PID that the scanners read: smaps, maps, smaps_rollup, numa_maps and others",
        },
        Knob {
            name: "busy",
            kind: Kind::Numbers { min: 0, max: 10_000, most: 20 },
            default: "0,10",
            quick: Some("10"),
            help: "Scanners, and as many spinners; each value is a case with its own control, 0 is the process alone",
        },
        Knob {
            name: "target",
            kind: Kind::Choice(&["mapper", "twin"]),
            default: "mapper",
            quick: None,
            help: "Whom the scanners of the cases read: the process that maps, or its idle twin as in the controls, where no stall may show",
        },
        Knob {
            name: "lead",
            kind: Kind::Duration { min_ns: 0, max_ns: 60 * SECOND_NS },
            default: "50ms",
            quick: None,
            help: "Scanners read so long before spinners and mapper begin",
        },
        Knob {
            name: "duration",
            kind: Kind::Duration { min_ns: 10_000_000, max_ns: 3600 * SECOND_NS },
            default: "250ms",
            quick: None,
            help: "How long a trial maps and unmaps",
        },
        Knob {
            name: "hang-after",
            kind: Kind::Duration { min_ns: 10_000_000, max_ns: 600 * SECOND_NS },
            default: "250ms",
            quick: Some("100ms"),
            help: "A call that outlasts the trial by so much is a hang; it is freed by ending the load",
        },
        Knob {
            name: "size",
            kind: Kind::Size { min: 64 << 10, max: 1 << 44 },
            default: "128MiB",
            quick: None,
            help: "Region that is mapped",
        },
        Knob {
            name: "pause",
            kind: Kind::Duration { min_ns: 0, max_ns: SECOND_NS },
            default: "10us",
            quick: None,
            help: "Pause after each call",
        },
        Knob {
            name: "busyduration",
            kind: Kind::Duration { min_ns: 0, max_ns: 3600 * SECOND_NS },
            default: "0s",
            quick: None,
            help: "Spin so long (whole milliseconds), then sleep 1 ms; 0 spins always",
        },
        Knob {
            name: "nice",
            kind: Kind::Number { min: -20, max: 19 },
            default: "15",
            quick: None,
            help: "Nice value of the scanners",
        },
        Knob {
            name: "cpu-mapper",
            kind: Kind::Cpu,
            default: "auto",
            quick: None,
            help: "CPU of the process that maps",
        },
        Knob {
            name: "cpu-load",
            kind: Kind::Cpu,
            default: "auto",
            quick: None,
            help: "CPU of scanners and spinners",
        },
        Knob {
            name: "cpu-tool",
            kind: Kind::Cpu,
            default: "auto",
            quick: None,
            help: "CPU of tailback itself",
        },
    ],
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
            knobs: &[("procfile", "maps")],
        },
        Tag {
            commit: "ff9f47f6f00c",
            since: "5.10",
            what: "smaps_rollup lets waiting writers in",
            knobs: &[("procfile", "smaps_rollup")],
        },
    ],
};
