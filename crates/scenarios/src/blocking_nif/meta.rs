//! The declaration of `blocking-nif`.

use super::params::{BlockingNifParams, Mode};
use super::sentences::BlockingNifFact;
use crate::params::{self, ErlFlags, Params, changed, literal};
use model::scenario::{FixMeta, MeasureMeta, SeriesMeta};
use model::{Judging, Meta, Needs, Settings, Unit};
use std::borrow::Cow;

/// Names of series.
pub(super) mod series {
    pub const RUN_QUEUES: &str = "run_queues";
    pub const SCHEDULER_THREADS: &str = "scheduler_threads";
}

/// Names of the figures.
pub(super) mod measure {
    pub const ASLEEP: &str = "asleep";
    pub const LATE: &str = "late";
    pub const UNFAIRNESS: &str = "unfairness";
    pub const WALL: &str = "wall";
    pub const STRETCH: &str = "stretch";
    pub const SHORTEST: &str = "shortest";
    pub const LONGEST: &str = "longest";
    pub const JAIN: &str = "jain";
    pub const WORST_TICK: &str = "worst_tick";
    pub const USE_LEAST: &str = "use_least";
    pub const USE_MOST: &str = "use_most";
    pub const CPU: &str = "cpu";
    pub const UNBALANCED: &str = "unbalanced";
}

/// The first judged figure: schedulers that sleep while work is queued.
pub(super) const ASLEEP: Judging = Judging {
    measure: Cow::Borrowed(measure::ASLEEP),
    margin: 10.0,
    control_limit: 30.0,
    // The VM decides whether a scheduler sleeps, and a late tick is not time that one thread lost.
    wants_cpu: false,
    error_rate: model::record::ERROR_RATE,
    confidence: 0.95,
};

/// The second judged figure: how much the run times of equal processes differ.
pub(super) const UNFAIRNESS: Judging = Judging {
    measure: Cow::Borrowed(measure::UNFAIRNESS),
    margin: 4.0,
    // Work that yields is distributed at random. Its own ratio was 2.1 to 7.1 with 2 to 16
    // schedulers on 2 CPUs. Within each study, the range of the ratio was at most 1.5.
    control_limit: 16.0,
    ..ASLEEP
};

/// The last judged figure: a timer process that has to wait.
pub(super) const LATE: Judging =
    Judging { measure: Cow::Borrowed(measure::LATE), margin: 50.0, control_limit: 300.0, ..ASLEEP };

/// The same work on dirty schedulers. None if there is no such form of it.
fn on_dirty_schedulers(settings: &Settings) -> Option<Settings> {
    let params = BlockingNifParams::of(settings)?;
    let mode = match params.mode {
        Mode::NifDirty | Mode::NifBusyDirty => params.mode,
        mode => mode.dirty()?,
    };
    Some(BlockingNifParams { mode, ..params }.settings())
}

/// The id of the fix that wakes up schedulers. It helps only where schedulers sleep.
pub(super) const FORCED_WAKE_UP: &str = "forced-wake-up";

/// The same work on a node that also looks for sleeping schedulers. The node keeps its own flags.
fn with_forced_wake_up(settings: &Settings) -> Option<Settings> {
    changed(settings, |params: &mut BlockingNifParams| {
        if !wakes_every_10_ms(&params.flags) {
            // Of a flag that stands twice, the emulator uses the last one.
            params.flags = params.flags.and(&literal("+sfwi 10"));
        }
    })
}

/// Whether the last `+sfwi` of these flags is the one of the fix.
fn wakes_every_10_ms(flags: &ErlFlags) -> bool {
    let last = flags.as_str().rsplit_once("+sfwi");
    last.is_some_and(|(_, rest)| rest.split_whitespace().next() == Some("10"))
}

/// The description of `blocking-nif`.
pub const META: Meta = Meta {
    id: "blocking-nif",
    title: "native functions make the Erlang VM's schedulers unfair or put them to sleep",
    about: "A process of an Erlang node starts others, all in its own run queue. Each calls a \
            native function that neither yields nor charges reductions. While it runs, its \
            scheduler cannot be interrupted and wakes no other scheduler. So other schedulers \
            sleep while work is queued (collapse), equal processes get very different run times \
            (unfair), and timers come late (late). The control does the same work in slices of a \
            millisecond that charge reductions and yield, in as many calls of as many processes: \
            all three effects are gone. --fixes charge adds an arm whose calls are as long, charge \
            reductions and do not yield. It has no collapse: the collapse comes from not charging, \
            late timers from not yielding. Judged are the share of time in which schedulers slept \
            while work was queued, the longest run time over the shortest, and how long a timer \
            process was overdue, as seen from outside the VM.",
    who: "nodes that call native code (NIFs, port drivers, long BIFs) on ordinary schedulers: \
          databases with storage engines, crypto, compression, JSON and regular expressions, \
          arithmetic on large integers",
    fixes: &[
        FixMeta {
            id: "dirty",
            what: "Run native code that takes longer than a millisecond on a dirty scheduler \
                   (ERL_NIF_DIRTY_JOB_CPU_BOUND or ERL_NIF_DIRTY_JOB_IO_BOUND).",
            change: on_dirty_schedulers,
        },
        FixMeta {
            id: "yield",
            what: "Do the work in slices and yield between them (enif_consume_timeslice, \
                   enif_schedule_nif).",
            change: |settings| {
                changed(settings, |params: &mut BlockingNifParams| {
                    params.mode = params.mode.gentle();
                })
            },
        },
        FixMeta {
            id: FORCED_WAKE_UP,
            what: "Where the code cannot be changed, let the VM look for sleeping schedulers every \
                   10 ms and wake them up.",
            change: with_forced_wake_up,
        },
    ],
    sentence: model::fact::sentence::<BlockingNifFact>,
    series: &[
        SeriesMeta { name: series::RUN_QUEUES, title: "processes in the run queue" },
        SeriesMeta {
            name: series::SCHEDULER_THREADS,
            title: "scheduler threads at work, seen from outside",
        },
    ],
    tags: &[],
    needs: Needs { cpus: 1, root: false },
    parameters: params::of::<BlockingNifParams>(),
    measures: &[
        MeasureMeta {
            name: measure::ASLEEP,
            heading: "asleep",
            unit: Unit::Percent,
            help: "part of the time in which online schedulers slept while more processes were \
                   ready than there are schedulers, at least",
            column: true,
        },
        MeasureMeta {
            name: measure::UNFAIRNESS,
            heading: "longest/shortest",
            unit: Unit::Ratio,
            help: "longest run time of a process over the shortest",
            column: true,
        },
        MeasureMeta {
            name: measure::LATE,
            heading: "timer late",
            unit: Unit::MillisecondsPerSecond,
            help: "time that a timer process of high priority was overdue by more than 5 ms, seen \
                   from outside the VM, in each second",
            column: true,
        },
        MeasureMeta {
            name: measure::WALL,
            heading: "wall",
            unit: Unit::Milliseconds,
            help: "time from the first go message to the end of the last process",
            column: true,
        },
        MeasureMeta {
            name: measure::STRETCH,
            heading: "wall/ideal",
            unit: Unit::Ratio,
            help: "that time over what it takes when every scheduler works all the time",
            column: true,
        },
        MeasureMeta {
            name: measure::SHORTEST,
            heading: "shortest",
            unit: Unit::Milliseconds,
            help: "shortest run time of a process",
            column: false,
        },
        MeasureMeta {
            name: measure::LONGEST,
            heading: "longest",
            unit: Unit::Milliseconds,
            help: "longest run time of a process",
            column: false,
        },
        MeasureMeta {
            name: measure::JAIN,
            heading: "Jain index",
            unit: Unit::Ratio,
            help: "fairness of the run times: 1 where all are equal, 1/n where one has all (Jain, \
                   Chiu and Hawe 1984)",
            column: false,
        },
        MeasureMeta {
            name: measure::WORST_TICK,
            heading: "worst tick",
            unit: Unit::Milliseconds,
            help: "most that a tick of the timer process was overdue, seen from outside",
            column: false,
        },
        MeasureMeta {
            name: measure::USE_LEAST,
            heading: "least used",
            unit: Unit::Percent,
            help: "scheduler wall time in use, of the scheduler that was used least",
            column: false,
        },
        MeasureMeta {
            name: measure::USE_MOST,
            heading: "most used",
            unit: Unit::Percent,
            help: "scheduler wall time in use, of the scheduler that was used most",
            column: false,
        },
        MeasureMeta {
            name: measure::CPU,
            heading: "CPU",
            unit: Unit::MillisecondsPerSecond,
            help: "CPU time of all scheduler threads in the kernel, in each second",
            column: false,
        },
        MeasureMeta {
            name: measure::UNBALANCED,
            heading: "unbalanced",
            unit: Unit::Percent,
            help: "part of the samples in which most run queues were empty and some were not",
            column: false,
        },
    ],
    judging: ASLEEP,
};
