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
    pub const NO_FILE: &str = "no-file";
    pub const TOO_LARGE: &str = "too-large";
    pub const TOO_MANY_MAPPINGS: &str = "too-many-mappings";
    pub const TOO_MANY_PROCESSES: &str = "too-many-processes";
    pub const QUOTA_OF_A_CPU: &str = "quota-of-a-cpu";
    pub const PERIOD_TOO_LONG: &str = "period-too-long";
    pub const NO_READERS: &str = "no-readers";
    pub const ONE_CPU: &str = "one-cpu";
    pub const TOOL_ON_LOAD: &str = "tool-on-load";
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
    Sentence {
        id: say::NO_FILE,
        text: "--procfile {{ file }}: {{ path }}: {% if error %}{{ error }}{% else %}not a file that can \
               be read{% endif %}; name a file that this kernel has, such as smaps, maps or status",
    },
    Sentence {
        id: say::TOO_LARGE,
        text: "--size {{ size }}: {% if twin %}twice that, for the mapper and its twin, is {% endif %}more \
               than {{ most }} of the {{ mib }} MiB of memory available here; take a smaller region",
    },
    Sentence {
        id: say::TOO_MANY_MAPPINGS,
        text: "--size {{ size }}: the region would split into more mappings than vm.max_map_count \
               ({{ most }}) allows; take a smaller region, or sysctl vm.max_map_count={{ enough }}",
    },
    Sentence {
        id: say::TOO_MANY_PROCESSES,
        text: "--busy {{ busy }}: {{ wanted }} processes are more than half of what kernel.pid_max \
               ({{ limit }}) allows on the whole machine; take fewer",
    },
    Sentence {
        id: say::QUOTA_OF_A_CPU,
        text: "--reader-quota {{ quota }}: the readers share one CPU, so a quota of a whole one limits \
               nothing; take 10ms/100ms",
    },
    Sentence {
        id: say::PERIOD_TOO_LONG,
        text: "--reader-quota {{ quota }}: a trial (--duration) is shorter than a period, so it may see no \
               throttling; take 10ms/100ms",
    },
    Sentence {
        id: say::NO_READERS,
        text: "--reader-quota {{ quota }}: --busy 0 has no readers to limit; take more",
    },
    Sentence {
        id: say::ONE_CPU,
        text: "--cpu-mapper {{ mapper }} and --cpu-load {{ load }} are the same: the mapper would wait for \
               the CPU and not for the lock; name two CPUs, or neither",
    },
    Sentence {
        id: say::TOOL_ON_LOAD,
        text: "--cpu-tool {{ load }} is the CPU of the load: tailback would starve behind it; name another",
    },
];
