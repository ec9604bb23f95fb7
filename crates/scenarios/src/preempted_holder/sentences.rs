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
];
