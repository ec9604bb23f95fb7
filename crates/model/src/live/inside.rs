//! Figures that an Erlang node reports about itself.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A node that was asked, with its figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inside {
    /// The name by which it was asked.
    pub name: String,
    /// Why the node is not asked, or why it no longer answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<NodeProblem>,
    /// Its figures; absent if it never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<NodeFigures>,
}

/// Why a node is not asked, or does not answer. A reason in text is the system's own message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NodeProblem {
    /// The connection is being set up.
    Connecting,
    /// The name of the host cannot be resolved.
    Host(String),
    /// No epmd answers.
    NoEpmd(String),
    /// epmd does not know the node.
    NotThere,
    /// No program answers at the node's port.
    Connect(String),
    /// The node is at this address of another machine, which was not allowed.
    Elsewhere(String),
    /// Its port belongs to another user than the cookie, and that user must not get a proof of
    /// the cookie.
    ForeignPort {
        /// The user of the port.
        port_user: u32,
        /// The owner of the cookie file.
        cookie_user: u32,
    },
    /// The owner of its port cannot be determined.
    UnknownOwner(String),
    /// It reports this other name.
    OtherName(String),
    /// It closed the connection at the check of the cookie.
    WrongCookie,
    /// It does not use plain distribution, but TLS.
    Tls,
    /// It refuses connections from this tool.
    Refused(String),
    /// It did not start the process that would have answered, for this reason.
    NoProcess(String),
    /// Its OTP release is too old to be asked.
    Release(String),
    /// It did not answer for this many milliseconds.
    Silent(u64),
    /// Its answer is not a valid answer of a node.
    Nonsense(String),
    /// Its answer does not fit into the memory for the answers of all nodes: this many MiB.
    Memory(u64),
    /// The connection ended.
    Ended,
}

/// Figures of a node. They are means over the time, unless the figure says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeFigures {
    /// Its OTP release.
    pub otp: String,
    /// Whether its release is newer than the releases that were tested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_untried: bool,
    /// How old the last answer is, in milliseconds.
    pub age_ms: f64,
    /// How long the slowest answer took, in milliseconds.
    pub took_ms: f64,
    /// Number of answers behind the figures.
    pub answers: u32,
    /// Schedulers that are online.
    pub online: u32,
    /// Number of processes.
    pub processes: u64,
    /// The utilization of each normal scheduler that is online, from 0 to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<f64>,
    /// Processes and ports that waited in the normal run queues, all queues together.
    pub run_queue: f64,
    /// Processes and ports that waited for dirty CPU schedulers.
    pub dirty_cpu_queue: f64,
    /// Processes and ports that waited for dirty IO schedulers.
    pub dirty_io_queue: f64,
    /// Share of the answers in which all normal run queues had work, or no queue had work.
    pub even: f64,
    /// Share of the answers in which more than half of the queues were empty while others had
    /// work.
    pub unbalanced: f64,
    /// Share of the answers in which five or more waited in one queue while another queue was
    /// empty.
    pub uneven: f64,
    /// The mean length of the longest queue in these answers.
    pub longest: f64,
    /// The largest ratio of the longest run queue to the median run queue that was seen.
    pub worst_ratio: f64,
    /// What its threads did, by kind of thread, from microstate accounting; empty if the VM did
    /// not count it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub micro: Vec<Micro>,
    /// Nodes for which data had to wait in the port of the connection, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<BusyLink>,
    /// The last reading of its memory, in bytes.
    pub memory: NodeMemory,
    /// How long the last scan of all mailboxes took, in milliseconds; absent before the first
    /// scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailboxes_took_ms: Option<f64>,
    /// The longest mailboxes, fastest growth first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mailboxes: Vec<Mailbox>,
}

/// What threads of one kind did, from the VM's microstate accounting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Micro {
    /// The kind of thread, by its name in the VM: `scheduler`, `dirty_cpu_scheduler`, ..
    pub threads: String,
    /// Share of their time in each state, from 0 to 1, by the state's name in the VM: `emulator`,
    /// `gc`, ..
    pub shares: BTreeMap<String, f64>,
}

/// Data for another node waited in the port of its connection, because the socket did not accept
/// it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyLink {
    /// The other node.
    pub node: String,
    /// Share of the answers in which data waited, from 0 to 1.
    pub waiting: f64,
    /// The most bytes that were seen waiting in the driver of the port. More bytes may have
    /// waited in the VM before the port; they are not visible.
    pub bytes: u64,
}

/// Memory of a node, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeMemory {
    /// All memory.
    pub total: u64,
    /// Memory of processes.
    pub processes: u64,
    /// Memory of binaries.
    pub binary: u64,
    /// Memory of ETS tables.
    pub ets: u64,
}

/// A process with a long mailbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mailbox {
    /// The process, as the node prints it.
    pub process: String,
    /// Its registered name or label, or its initial function.
    pub name: String,
    /// The last number of messages.
    pub length: u64,
    /// How many messages it grows by each second.
    pub growth_per_s: f64,
    /// Whether the messages are kept outside of the heap.
    pub off_heap: bool,
    /// Reductions a second.
    pub reductions_per_s: f64,
    /// Number of samples of the process.
    pub samples: u32,
    /// Share of the samples in which it neither waited for a message nor was suspended.
    pub running: f64,
    /// The function in which it was most often in the samples of `running`: `dets:req/2`.
    pub function: String,
    /// Share of the samples of `running` in which it was in that function.
    pub in_function: f64,
    /// Whether that function may scan the mailbox: its compiled file says so, or the file is not
    /// known and the process was seen waiting there.
    pub waits_there: bool,
    /// The callers of that function, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}
