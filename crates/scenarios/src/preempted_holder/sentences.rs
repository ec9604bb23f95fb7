//! The sentences of `preempted-holder`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const BURNS: &str = "burns";
    pub const BURNS_NONE: &str = "burns-none";
    pub const UNSETTLED: &str = "unsettled";
    pub const SLEEP: &str = "sleep";
    pub const SPIN_THEN_SLEEP: &str = "spin-then-sleep";
    pub const FEWER_THREADS: &str = "fewer-threads";
    pub const SLICE_EXTENSION: &str = "slice-extension";
    pub const TOUCH_BEFORE: &str = "touch-before";
    pub const HUGE_PAGES: &str = "huge-pages";
    pub const NO_EXTENSION: &str = "no-extension";
    pub const EXTENSION_OFF: &str = "extension-off";
    pub const NO_HUGE_PAGES: &str = "no-huge-pages";
    pub const TAKE_EXTENSION: &str = "take-extension";
    pub const SWITCH_EXTENSION_ON: &str = "switch-extension-on";
    pub const ALLOW_HUGE_PAGES: &str = "allow-huge-pages";
    pub const TOO_MUCH_MEMORY: &str = "too-much-memory";
}

/// What case and control did.
macro_rules! compared {
    () => {
        "{% if lost %}: {{ threads|count('thread') }} on {{ cpus|count('CPU') }} spent {{ lost }} of \
         their CPU time on other things than their work{% if control %}, and with a lock that sleeps \
         {{ control }}{% endif %}{% if rounds and control_rounds %}; they made {{ rounds }} rounds, \
         and {{ control_rounds }} with it{% endif %}{% endif %}.{% if preempted %} A thread without a \
         CPU held the lock for {{ preempted }}.{% endif %}"
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::BURNS,
        text: concat!("Threads that spin for a lock burn CPU time here", compared!(),),
    },
    Sentence {
        id: say::BURNS_NONE,
        text: concat!("Threads that wait for a lock burn no CPU time here", compared!()),
    },
    Sentence {
        id: say::UNSETTLED,
        text: "It is not settled whether threads that wait for a lock burn CPU time here.",
    },
    Sentence { id: say::SLEEP, text: "a lock that sleeps" },
    Sentence { id: say::SPIN_THEN_SLEEP, text: "a lock that spins for 20 us and then sleeps" },
    Sentence { id: say::FEWER_THREADS, text: "as many threads as CPUs" },
    Sentence {
        id: say::SLICE_EXTENSION,
        text: "a longer time slice for the thread that holds the lock",
    },
    Sentence { id: say::TOUCH_BEFORE, text: "the page faults before the lock is taken" },
    Sentence { id: say::HUGE_PAGES, text: "huge pages" },
    Sentence { id: say::NO_EXTENSION, text: "this kernel has no time-slice extension" },
    Sentence {
        id: say::TAKE_EXTENSION,
        text: "run it on Linux 7.0 or later that is built with CONFIG_RSEQ_SLICE_EXTENSION",
    },
    Sentence {
        id: say::EXTENSION_OFF,
        text: "the time-slice extension is switched off on the kernel's command line",
    },
    Sentence { id: say::SWITCH_EXTENSION_ON, text: "start the kernel without rseq_slice_ext=0" },
    Sentence { id: say::NO_HUGE_PAGES, text: "there are no transparent huge pages here" },
    Sentence {
        id: say::ALLOW_HUGE_PAGES,
        text: "write madvise to /sys/kernel/mm/transparent_hugepage/enabled",
    },
    Sentence {
        id: say::TOO_MUCH_MEMORY,
        text: "--threads {{ threads }} with --fault {{ fault }}: they would touch {{ mib }} MiB, \
               more than a quarter of the machine's memory; ask for fewer",
    },
];
