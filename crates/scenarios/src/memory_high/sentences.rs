//! The sentences of `memory-high`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const STANDS: &str = "stands";
    pub const RUNS: &str = "runs";
    pub const UNSETTLED: &str = "unsettled";
    pub const RAISED: &str = "raised";
    pub const MEMORY_MAX: &str = "memory-max";
    pub const SWAP: &str = "swap";
    pub const NO_SWAP: &str = "no-swap";
    pub const NO_SWAP_LIMIT: &str = "no-swap-limit";
    pub const SWITCH_ON: &str = "switch-on";
    pub const FEW_UNITS: &str = "few-units";
    pub const NO_ROOM: &str = "no-room";
    pub const OF_V1: &str = "of-v1";
    pub const IN_A_GUEST: &str = "in-a-guest";
    pub const NO_PRESSURE: &str = "no-pressure";
    pub const WITH_PSI: &str = "with-psi";
}

/// What case and control did.
macro_rules! compared {
    () => {
        "{% if lost %}: under {{ file }} = {{ limit }} a worker that needs {{ need }} stood still for \
         {{ lost }} of the time{% if control %}, and with a limit above its need for {{ control }}\
         {% endif %}{% if units and control_units %}; it did {{ units }} units of work, and \
         {{ control_units }} without the limit{% endif %}{% endif %}.{% if kills %} It was killed and \
         started again {{ kills|count('time') }} a trial.{% endif %}"
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::STANDS,
        text: concat!("Work above its limit of memory stands still here", compared!()),
    },
    Sentence {
        id: say::RUNS,
        text: concat!("The limit of memory does not make the work stand still", compared!()),
    },
    Sentence {
        id: say::UNSETTLED,
        text: "It is not settled whether the limit of memory makes the work stand still.",
    },
    Sentence { id: say::RAISED, text: "memory.high above what the work needs" },
    Sentence { id: say::MEMORY_MAX, text: "memory.max instead, and a restart after each kill" },
    Sentence { id: say::SWAP, text: "swap for the group" },
    Sentence {
        id: say::NO_SWAP,
        text: "no swap is switched on here (/proc/swaps); tailback switches none on",
    },
    Sentence {
        id: say::NO_SWAP_LIMIT,
        text: "this kernel has no memory.swap.max, so the group cannot be kept from swap and given \
               it in turn",
    },
    Sentence {
        id: say::SWITCH_ON,
        text: "switch some on (swapon): a partition, a file or zram; swapaccount=0 takes its limit away",
    },
    Sentence {
        id: say::FEW_UNITS,
        text: "--need {{ need }}: the worker has to keep two units at least, {{ two }}; raise it or \
               lower --unit",
    },
    Sentence {
        id: say::NO_ROOM,
        text: "--need: {{ needed }} MiB with room to spare are more than half of the \
               {{ available }} MiB that are available; lower it",
    },
    Sentence {
        id: say::OF_V1,
        text: "the memory controller of this machine is that of cgroup v1, which has no memory.high",
    },
    Sentence {
        id: say::IN_A_GUEST,
        text: "run it in a guest: tailback vm --kernel debian:6.12 -- run memory-high",
    },
    Sentence {
        id: say::NO_PRESSURE,
        text: "the kernel does not count how long a group waits for memory (memory.pressure)",
    },
    Sentence { id: say::WITH_PSI, text: "boot a kernel with CONFIG_PSI, and psi=1" },
];
