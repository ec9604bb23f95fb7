//! The sentences of `blocking-nif`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const STALLS: &str = "stalls";
    pub const COLLAPSE: &str = "collapse";
    pub const UNFAIR: &str = "unfair";
    pub const LATE: &str = "late";
    pub const FAIR: &str = "fair";
    pub const TOO_FEW: &str = "too-few-trials";
    pub const WHY_COLLAPSE: &str = "why-collapse";
    pub const WHY_UNFAIR: &str = "why-unfair";
    pub const WHY_LATE: &str = "why-late";
    pub const NONE_WAITS: &str = "none-waits";
    pub const TOO_SHORT: &str = "too-short";
    pub const MORE_WORK: &str = "more-work";
    pub const BLOCKING_FORM: &str = "blocking-form";
    pub const DIRTY: &str = "dirty";
    pub const CHARGES: &str = "charges";
    pub const RUN_QUEUES: &str = "run_queues";
    pub const SCHEDULER_THREADS: &str = "scheduler_threads";
}

/// What other stalls there are.
macro_rules! also {
    () => {
        "{% if also %} It is {{ also }} as well.{% endif %}"
    };
}

/// What holds a scheduler.
macro_rules! held {
    () => {
        "{% if blocks %}a call that does not yield{% else %}the work{% endif %}"
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence { id: say::STALLS, text: "Native functions stall the schedulers here." },
    Sentence {
        id: say::COLLAPSE,
        text: concat!(
            "Schedulers sleep here while work is queued: for {{ case }} of their time at least, and \
             in slices that yield {{ control }}{% if wall %}; the same work took {{ wall }} of wall \
             time instead of {{ control_wall }}{% endif %}.",
            also!()
        ),
    },
    Sentence {
        id: say::UNFAIR,
        text: concat!(
            "Equal processes fare very differently here: the longest run time over the shortest was \
             {{ case }}, and in slices that yield {{ control }}.",
            also!()
        ),
    },
    Sentence {
        id: say::LATE,
        text: concat!(
            "Timers come late here: a timer process was overdue for {{ case }}, and with work in \
             slices that yield for {{ control }}.",
            also!()
        ),
    },
    Sentence {
        id: say::FAIR,
        text: "The schedulers kept working and stayed fair here{% if asleep %}: with {{ arm }} they \
               slept {{ asleep }} of the time in which work was queued{% endif %}{% if late %}, and \
               a timer process was overdue for {{ late }}{% endif %}.",
    },
    Sentence {
        id: say::TOO_FEW,
        text: "Too few trials to say whether native functions stall the schedulers here.",
    },
    Sentence {
        id: say::WHY_COLLAPSE,
        text: concat!(
            "Collapse: a scheduler wakes a sleeping one when it queues work or passes through its \
             loop; while ",
            held!(),
            " holds it, it does neither, and what waits in its queue waits on, though other \
             schedulers sleep."
        ),
    },
    Sentence {
        id: say::WHY_UNFAIR,
        text: concat!(
            "Unfair: ",
            held!(),
            " charges few reductions or none, so the first processes of a queue run to their end \
             while the last wait for all of them."
        ),
    },
    Sentence {
        id: say::WHY_LATE,
        text: concat!(
            "Late: timers and ports are served by the schedulers between two processes, so while ",
            held!(),
            " holds a scheduler they wait, whatever their priority."
        ),
    },
    Sentence {
        id: say::NONE_WAITS,
        text: "With no more processes ({{ processes }}) than schedulers ({{ schedulers }}) none had to \
               wait, so nothing could have stalled.",
    },
    Sentence { id: say::TOO_SHORT, text: "A trial took {{ wall }}, too short to show a stall." },
    Sentence { id: say::MORE_WORK, text: "Give it more work." },
    Sentence { id: say::BLOCKING_FORM, text: "Try the same work in a form that blocks." },
    Sentence { id: say::DIRTY, text: "the native function on a dirty scheduler" },
    Sentence { id: say::CHARGES, text: "the native function charges its reductions" },
    Sentence { id: say::RUN_QUEUES, text: "processes in the run queue" },
    Sentence { id: say::SCHEDULER_THREADS, text: "scheduler threads at work, seen from outside" },
];
