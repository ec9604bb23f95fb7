//! The sentences of `cpu-quota`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const UNDER: &str = "under";
    pub const OVER: &str = "over";
    pub const GETS_IT: &str = "gets-it";
    pub const UNSETTLED: &str = "unsettled";
    pub const WOULD_HAVE_LOST: &str = "would-have-lost";
    pub const TOO_LITTLE: &str = "too-little-to-lose";
    pub const MORE_TO_LOSE: &str = "more-to-lose";
    pub const LARGER: &str = "larger-machine";
    pub const BURST: &str = "burst";
    pub const TOO_MANY_FAST: &str = "too-many-fast";
    pub const UNUSED_QUOTA: &str = "unused-quota";
}

/// What case and control got.
macro_rules! compared {
    () => {
        "{% if got %}: with threads on {% if cpus %}{{ cpus|count('CPU') }}{% else %}its CPUs\
         {% endif %} it got {{ got }} of its quota{% if control %}, with the same threads on \
         {% if control_cpus %}{{ control_cpus|count('CPU') }}{% else %}fewer CPUs{% endif %} \
         {{ control }}{% endif %}{% endif %}."
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::UNDER,
        text: concat!("A group is throttled below its CPU quota here", compared!()),
    },
    Sentence {
        id: say::OVER,
        text: concat!("A group gets more than its CPU quota here", compared!()),
    },
    Sentence { id: say::GETS_IT, text: concat!("A group gets its CPU quota here", compared!()) },
    Sentence {
        id: say::UNSETTLED,
        text: "This study does not say whether a group gets its CPU quota here.",
    },
    Sentence {
        id: say::WOULD_HAVE_LOST,
        text: "If slices expired, {{ arm }} would have lost up to {{ most }} of its quota.",
    },
    Sentence {
        id: say::TOO_LITTLE,
        text: "If slices expired, {{ arm }} would lose {{ most }} of its quota at most with these \
               settings, too little to tell it from none.",
    },
    Sentence {
        id: say::MORE_TO_LOSE,
        text: "Take more CPUs (--on-cpus), a smaller --quota, or a longer --wake below the period.",
    },
    Sentence {
        id: say::LARGER,
        text: "See what the rules of this kernel give on a larger machine.",
    },
    Sentence { id: say::BURST, text: "a burst of {{ burst }}" },
    Sentence {
        id: say::TOO_MANY_FAST,
        text: "--fast {{ fast }}: there are {{ threads }} threads in all; raise --threads",
    },
    Sentence {
        id: say::UNUSED_QUOTA,
        text: "--quota {{ quota }}: {{ usable }} busy threads on CPUs of their own cannot use {{ cpus }} \
               CPUs; lower it or raise {{ raise }}",
    },
];
