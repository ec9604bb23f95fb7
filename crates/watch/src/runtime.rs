//! Runtimes of languages, and the settings that limit their threads.

use serde::{Deserialize, Serialize};

/// The runtime of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveRuntime {
    /// A Java virtual machine.
    Jvm,
    /// Node.js.
    Node,
    /// The runtime of Go.
    Go,
    /// The Erlang VM.
    Beam,
}

/// The settings that a runtime was started with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of threads that it was told to run at once.
    pub cpus: Option<Setting>,
    /// Number of threads of a JVM that collect garbage at once.
    pub collectors: Option<Setting>,
}

/// A setting and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// `-XX:ActiveProcessorCount` of a JVM.
    ActiveProcessorCount(u32),
    /// `-XX:ParallelGCThreads` of a JVM.
    ParallelGcThreads(u32),
    /// `UV_THREADPOOL_SIZE` of Node.js.
    UvThreadpoolSize(u32),
    /// `GOMAXPROCS` of Go.
    GoMaxProcs(u32),
    /// The schedulers of a BEAM that `+S` sets online.
    Schedulers(u32),
}

impl Setting {
    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Setting::ActiveProcessorCount(count)
            | Setting::ParallelGcThreads(count)
            | Setting::UvThreadpoolSize(count)
            | Setting::GoMaxProcs(count)
            | Setting::Schedulers(count) => count,
        }
    }

    /// The setting as it is written.
    pub fn written(self) -> String {
        match self {
            Setting::ActiveProcessorCount(count) => format!("-XX:ActiveProcessorCount={count}"),
            Setting::ParallelGcThreads(count) => format!("-XX:ParallelGCThreads={count}"),
            Setting::UvThreadpoolSize(count) => format!("UV_THREADPOOL_SIZE={count}"),
            Setting::GoMaxProcs(count) => format!("GOMAXPROCS={count}"),
            Setting::Schedulers(count) => format!("+S {count}:{count}"),
        }
    }
}
