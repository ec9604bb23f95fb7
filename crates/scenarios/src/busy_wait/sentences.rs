//! The sentences of `busy-wait`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const COSTS: &str = "costs-latency";
    pub const COSTS_NONE: &str = "costs-no-latency";
    pub const UNSETTLED: &str = "unsettled";
    pub const THROTTLED: &str = "control-throttled";
    pub const BEYOND: &str = "rate-beyond-machine";
    pub const LOWER_RATE: &str = "lower-rate";
    pub const ROOM: &str = "room-to-spin";
    pub const HIGHER_RATE: &str = "higher-rate";
    pub const NO_QUOTA: &str = "no-quota";
    pub const WITH_QUOTA: &str = "with-quota";
    pub const BACKGROUND: &str = "background";
    pub const DETECTED: &str = "detected";
    pub const SPUN: &str = "spun";
    pub const ENVIRONMENT: &str = "environment";
    pub const QUOTA_ALONE: &str = "quota-alone";
    pub const ONE_OTP: &str = "one-otp";
    pub const ONE_OTP_A_LEVEL: &str = "one-otp-a-level";
    pub const NO_COST: &str = "no-cost";
    pub const NOT_READY: &str = "not-ready";
}

/// What case and control show.
macro_rules! compared {
    () => {
        "{% if case %}: {% if quota %}under a quota of {{ quota }} CPUs{% else %}without a CPU \
         quota{% endif %} the slowest of 100 requests took {{ case }} with {% if flags %}\
         {{ flags }}{% else %}the VM's defaults{% endif %}, and {{ control }} with \
         {% if control_flags %}{{ control_flags }}{% else %}the VM's defaults{% endif %}\
         {% endif %}."
    };
}

/// The rate that the control served.
macro_rules! served {
    () => {
        "{% if served %} (it served {{ served|figure }}){% endif %}"
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::COSTS,
        text: concat!("Busy waiting of schedulers costs latency here", compared!()),
    },
    Sentence {
        id: say::COSTS_NONE,
        text: concat!("Busy waiting of schedulers cost no latency here", compared!()),
    },
    Sentence {
        id: say::UNSETTLED,
        text: "It is not settled whether busy waiting of schedulers costs latency here.",
    },
    Sentence {
        id: say::THROTTLED,
        text: "The control itself used {{ used }} of its quota, and above {{ most }} the load alone \
               may be throttled, so what busy waiting adds cannot be told.",
    },
    Sentence {
        id: say::BEYOND,
        text: "The control left {{ backlog }} of its requests undone: the rate is beyond this \
               machine.",
    },
    Sentence {
        id: say::LOWER_RATE,
        text: concat!("Take a lower --rate", served!(), " or a larger --quota."),
    },
    Sentence {
        id: say::ROOM,
        text: "The control used only {{ used }} of its quota, and below {{ least }} spinning has \
               room beside the requests.",
    },
    Sentence { id: say::HIGHER_RATE, text: concat!("Take a higher --rate", served!(), ".") },
    Sentence {
        id: say::NO_QUOTA,
        text: "No arm had a CPU quota: busy waiting cost no latency without one, and what it costs \
               under one was not measured.",
    },
    Sentence {
        id: say::WITH_QUOTA,
        text: "Measure it under a quota; that takes root or a delegated cpu controller.",
    },
    Sentence {
        id: say::BACKGROUND,
        text: "Under the quota the VM's defaults left {{ defaults }} of background work, the flags \
               {{ flags }}.",
    },
    Sentence {
        id: say::DETECTED,
        text: "Under the quota of {{ quota }} CPUs the VM itself detected {% if found %}a quota of \
               {{ found }}{% else %}no quota{% endif %}, and had {{ schedulers|count('scheduler') }}, \
               as it was told.",
    },
    Sentence {
        id: say::SPUN,
        text: "{% if quota %}Under the quota{% else %}Without a quota{% endif %} the VM's defaults \
               spun {{ spun }} of CPU time{% if active %} beside {{ active|figure }} of work\
               {% endif %}.",
    },
    Sentence {
        id: say::ENVIRONMENT,
        text: "Put the flags into the node's environment: ERL_FLAGS=\"{{ flags }}\".",
    },
    Sentence { id: say::QUOTA_ALONE, text: "other flags are tried under a quota alone" },
    Sentence {
        id: say::ONE_OTP,
        text: "--otp: one OTP at a time; several make a study (tailback study --help)",
    },
    Sentence {
        id: say::ONE_OTP_A_LEVEL,
        text: "otp: one OTP in a level; several are levels of a factor",
    },
    Sentence {
        id: say::NO_COST,
        text: "what a request costs could not be measured on this machine; give --rate N",
    },
    Sentence { id: say::NOT_READY, text: "the node was not ready for requests after {{ limit }}" },
];
