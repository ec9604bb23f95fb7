//! What is observed of an Erlang node from outside.

use super::program::Program;
use serde::{Deserialize, Serialize};

/// An Erlang node, observed from outside through its threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// Its process.
    pub program: Program,
    /// Its name, as `-name` or `-sname` gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of scheduler threads, including those that are not online.
    pub schedulers: u32,
    /// Schedulers that are online: the number that `+S` sets, otherwise the schedulers that ran.
    pub online: u32,
    /// Whether `+S` or `+SP` sets the number of schedulers online.
    pub set_by_flag: bool,
    /// Where its flags are set.
    pub configured: Configured,
    /// What its threads did, by role.
    pub roles: Vec<RoleTime>,
    /// Where its schedulers spent CPU time, most first; a bounded number of places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeTime>,
    /// The smallest quota of its group and of the groups above, in CPUs. A quota that throttles it
    /// for long comes before one that does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// Share of the periods of that quota in which the group was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<f64>,
}

impl Node {
    /// What the threads of a role did.
    pub fn role(&self, role: ThreadRole) -> Option<&RoleTime> {
        self.roles.iter().find(|one| one.role == role)
    }
}

/// The role of a thread of the VM.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThreadRole {
    /// A normal scheduler.
    #[default]
    Scheduler,
    /// A dirty CPU scheduler.
    DirtyCpu,
    /// A dirty IO scheduler.
    DirtyIo,
    /// A thread for asynchronous drivers.
    Async,
    /// The auxiliary thread.
    Aux,
    /// A thread that polls for input and output.
    Poll,
    /// All other threads: the main thread, and threads for signals, native functions and drivers.
    Other,
}

/// What the threads of one role did, all together; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleTime {
    /// The role.
    pub role: ThreadRole,
    /// Number of threads.
    pub threads: u32,
    /// Number of threads that ran.
    pub ran: u32,
    /// CPU time.
    pub ran_ns: u64,
    /// Part of that time: spinning, by samples.
    pub spun_ns: u64,
    /// Runnable but not on a CPU.
    pub ready_ns: u64,
    /// Part of that time: throttled.
    pub throttled_ns: u64,
    /// Asleep in a futex. Only sleeps that have ended count.
    pub futex_ns: u64,
    /// Asleep in poll. Only sleeps that have ended count.
    pub poll_ns: u64,
    /// Asleep in another system call.
    pub call_ns: u64,
}

/// A place where schedulers spent CPU time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeTime {
    /// The place.
    pub place: Place,
    /// Share of the samples of the schedulers.
    pub share: f64,
}

/// A place in the code of a thread of the VM.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The owner of the code.
    pub code: Code,
    /// The file name, for a library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The function, if the file has its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

/// The owner of some code.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Not known.
    #[default]
    Unknown,
    /// The VM's own code.
    Vm,
    /// The VM's own code, spinning.
    Waiting,
    /// Erlang code that the VM compiled when it loaded it.
    Erlang,
    /// A library: a native function, or a library that one uses.
    Library,
}

/// Where a node's flags are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Configured {
    /// ERL_FLAGS, or the command line.
    #[default]
    ErlFlags,
    /// vm.args of a release.
    VmArgs,
    /// RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS.
    RabbitMq,
    /// ERL_OPTIONS of ejabberdctl.cfg.
    Ejabberd,
}
