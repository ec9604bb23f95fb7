//! How a guest came to its end, each way with its own name.

use std::time::Duration;

/// How a guest ended, where it did not end with the result of its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It never came up.
    BootFailure {
        /// What was seen instead.
        why: String,
    },
    /// Its kernel gave up.
    Panic {
        /// The kernel's line.
        line: String,
        /// Whether the guest had come up before.
        up: bool,
    },
    /// It was up, and its command took longer than it was given.
    TimeOut {
        /// How long it was given.
        limit: Duration,
    },
    /// It was up, and fell silent.
    Hang {
        /// For how long it was silent.
        silence: Duration,
    },
    /// It was up, and ended before its command did.
    Died {
        /// What was seen.
        why: String,
    },
    /// It sent something that makes no sense.
    Garbled {
        /// What is wrong with it.
        why: String,
    },
}

impl Ending {
    /// Its name, for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Ending::BootFailure { .. } => "boot-failure",
            Ending::Panic { .. } => "panic",
            Ending::TimeOut { .. } => "time-out",
            Ending::Hang { .. } => "hang",
            Ending::Died { .. } => "died",
            Ending::Garbled { .. } => "garbled",
        }
    }

    /// What happened, and what next, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Ending::BootFailure { why } => {
                format!("it did not come up: {why}; try fewer CPUs or another kernel")
            }
            Ending::Panic { line, up } => {
                let when = if *up { "while its command ran" } else { "before it was up" };
                format!("its kernel gave up {when}: {}", line.trim())
            }
            Ending::TimeOut { limit } => {
                format!("its command did not end within {limit:?}; give it more with --limit")
            }
            Ending::Hang { silence } => format!(
                "it was up and then silent for {} s; its kernel or QEMU hangs",
                silence.as_secs()
            ),
            Ending::Died { why } => format!("it ended before its command did: {why}"),
            Ending::Garbled { why } => format!("its data cannot be read: {why}"),
        }
    }
}
