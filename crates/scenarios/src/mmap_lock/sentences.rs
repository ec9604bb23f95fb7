//! The sentences of `mmap-lock`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const STALLS: &str = "stalls";
    pub const NO_STALL: &str = "no-stall";
    pub const TOO_FEW: &str = "too-few-trials";
    pub const READ_NOTHING: &str = "readers-read-nothing";
    pub const MORE_TIME: &str = "more-time";
    pub const LOCKS_LONGEST: &str = "locks-longest";
    pub const MAPPER_LOST: &str = "mapper-lost";
    pub const NEVER_THROTTLED: &str = "never-throttled";
    pub const THROTTLED_KEEP: &str = "throttled-readers-keep-the-lock";
    pub const NO_LIMIT: &str = "no-limit";
    pub const BURST: &str = "burst";
    pub const NO_BURST: &str = "no-burst";
    pub const LOCK_FREE: &str = "lock-free";
}

/// What the process lost with the load, with the load of its control, and alone.
macro_rules! losses {
    () => {
        "with {% if readers %}{{ readers|count('reader') }}{% if twin %} of an idle twin process\
         {% endif %}{% if quota %} that share a CPU limit of {{ quota }}{% endif %}\
         {% if no_spinners %}{% elif spinners %} and {{ spinners|count('spinner') }}\
         {% else %} and {{ readers|count('spinner') }}{% endif %} on another CPU{% else %}no readers\
         {% endif %} a process lost {{ lost }} to calls over 1 ms{% if control %}; with as many \
         readers of an idle twin process {{ control }}{% endif %}{% if alone %}; alone {{ alone }}\
         {% endif %}"
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::STALLS,
        text: concat!(
            "Readers of /proc/PID/{{ file }} stall memory mapping here{% if lost %}: ",
            losses!(),
            "{% endif %}{% if worst %}; the worst call of a trial took {{ worst }}{% endif %}."
        ),
    },
    Sentence {
        id: say::NO_STALL,
        text: concat!(
            "Readers of /proc/PID/{{ file }} did not stall memory mapping here{% if lost %}; ",
            losses!(),
            "{% endif %}."
        ),
    },
    Sentence {
        id: say::TOO_FEW,
        text: "Too few trials to say whether readers of /proc/PID/{{ file }} stall memory mapping \
               here.",
    },
    Sentence {
        id: say::READ_NOTHING,
        text: "The readers of {{ arm }} read nothing in {{ idle }} of {{ trials|count('trial') }}, \
               which could not have shown a stall.",
    },
    Sentence {
        id: say::NEVER_THROTTLED,
        text: "The readers of {{ arm }} were throttled in none of {{ trials|count('trial') }}, so their \
               CPU limit could not have shown a stall.",
    },
    Sentence {
        id: say::THROTTLED_KEEP,
        text: "This kernel is older than 6.18, where a reader under a CPU limit keeps the lock while \
               it is throttled; this measures that.",
    },
    Sentence { id: say::MORE_TIME, text: "Give the readers more time." },
    Sentence { id: say::LOCKS_LONGEST, text: "Read the file that holds the lock longest." },
    Sentence {
        id: say::MAPPER_LOST,
        text: "The process that maps did not come back even without its load and was killed; its \
               latencies are lost, its counters are not.",
    },
    Sentence { id: say::NO_LIMIT, text: "readers without a CPU limit" },
    Sentence { id: say::BURST, text: "a burst for the readers' CPU limit" },
    Sentence {
        id: say::NO_BURST,
        text: "this kernel knows no burst of a CPU quota; that needs 5.14",
    },
    Sentence { id: say::LOCK_FREE, text: "readers of status, which takes no mmap lock" },
];
