//! The ways in which a guest can end, each with a name.

use std::time::Duration;

/// How a guest ended, if it did not end with the result of its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It did not boot.
    BootFailure {
        /// What was observed instead.
        why: String,
    },
    /// Its kernel panicked.
    Panic {
        /// The line of the panic.
        line: String,
        /// Whether the guest was already up.
        up: bool,
    },
    /// It was up, but its command exceeded its time limit.
    TimeOut {
        /// The limit.
        limit: Duration,
    },
    /// It was up, and then sent nothing more.
    Hang {
        /// The time since its last frame.
        silence: Duration,
    },
    /// It was up, and ended before its command did.
    Died {
        /// What was observed.
        why: String,
    },
    /// It sent invalid data.
    Garbled {
        /// What is wrong with the data.
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

    /// A sentence on what happened and what to do.
    pub fn sentence(&self) -> String {
        match self {
            Ending::BootFailure { why } => {
                format!("it did not boot: {why}; try fewer CPUs or another kernel")
            }
            Ending::Panic { line, up } => {
                let when = if *up { "while its command ran" } else { "before it was up" };
                format!("its kernel panicked {when}: {}", line.trim())
            }
            Ending::TimeOut { limit } => {
                format!("its command did not end within {limit:?}; allow more time with --limit")
            }
            Ending::Hang { silence } => format!(
                "it was up, then sent nothing for {} s; its kernel or QEMU hangs",
                silence.as_secs()
            ),
            Ending::Died { why } => format!("it ended before its command ended: {why}"),
            Ending::Garbled { why } => format!("its data cannot be read: {why}"),
        }
    }
}
