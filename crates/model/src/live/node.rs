//! What is seen of an Erlang node.

use super::program::Program;
use serde::{Deserialize, Serialize};

/// An Erlang node, as its threads were seen from outside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// Its process.
    pub program: Program,
    /// Its name, as `-name` or `-sname` gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Threads that are schedulers; those that are not online among them.
    pub schedulers: u32,
    /// Schedulers that are online: the number that `+S` sets, or those that ran.
    pub online: u32,
    /// Whether `+S` or `+SP` sets how many are online.
    pub set_by_flag: bool,
    /// Where its flags are set.
    pub configured: Configured,
    /// What its threads did, by what they are for.
    pub roles: Vec<RoleTime>,
    /// Where the CPU time of its schedulers went, most first: a bounded number of places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeTime>,
    /// The least quota of its group and those above, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// Share of the periods of that quota in which it was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<f64>,
}

impl Node {
    /// What the threads of a role did.
    pub fn role(&self, role: Role) -> Option<&RoleTime> {
        self.roles.iter().find(|one| one.role == role)
    }
}

/// What a thread of the VM is for.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A normal scheduler.
    #[default]
    Scheduler,
    /// A dirty CPU scheduler.
    DirtyCpu,
    /// A dirty IO scheduler.
    DirtyIo,
    /// For asynchronous drivers.
    Async,
    /// The auxiliary thread.
    Aux,
    /// It polls for input and output.
    Poll,
    /// All others: the main thread, those of signals, of native functions and of drivers.
    Other,
}

/// What the threads of one role did, all together; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleTime {
    /// What they are for.
    pub role: Role,
    /// How many there are.
    pub threads: u32,
    /// How many of them ran.
    pub ran: u32,
    /// CPU time.
    pub ran_ns: u64,
    /// Of that: spinning, by samples.
    pub spun_ns: u64,
    /// Ready and without a CPU.
    pub ready_ns: u64,
    /// Of that: held by a quota.
    pub throttled_ns: u64,
    /// Asleep in a futex, in sleeps that are over.
    pub futex_ns: u64,
    /// Asleep in poll, in sleeps that are over.
    pub poll_ns: u64,
    /// Asleep in another system call.
    pub call_ns: u64,
}

/// Where CPU time of schedulers went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeTime {
    /// Where.
    pub place: Place,
    /// Share of their samples.
    pub share: f64,
}

/// Where a thread of the VM stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// Whose code it is.
    pub code: Code,
    /// The name of its file, for a library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The function, where the file names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

/// Whose code it is.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Not known.
    #[default]
    Unknown,
    /// The VM's own.
    Vm,
    /// The VM, spinning.
    Waiting,
    /// Erlang, compiled by the VM as it loads it.
    Erlang,
    /// A library: a native function, or what one uses.
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
