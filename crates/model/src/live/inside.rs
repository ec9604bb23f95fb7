//! Figures that an Erlang node gives about itself.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A node that was asked, with its figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inside {
    /// The name that it was asked by.
    pub name: String,
    /// Why it is not asked, or no longer answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Its figures; absent where it never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<NodeFigures>,
}

/// Why a node is not asked, or does not answer. A reason in it is that of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// It is being connected to.
    Connecting,
    /// The host's name leads nowhere.
    Host(String),
    /// Nothing answers as epmd.
    NoEpmd(String),
    /// epmd knows no such node.
    NotThere,
    /// Nothing answers at the node's port.
    Connect(String),
    /// It is at this address of another machine, which was not allowed.
    Elsewhere(String),
    /// Its port belongs to a user who gets no proof of the cookie.
    ForeignPort {
        /// The user of the port.
        port_user: u32,
        /// The owner of the cookie file.
        cookie_user: u32,
    },
    /// Whose port it is cannot be found out.
    UnknownOwner(String),
    /// It announces itself under this other name.
    OtherName(String),
    /// It closed the connection where it checks the cookie.
    WrongCookie,
    /// It does not speak plain distribution: TLS.
    Tls,
    /// It wants none of us.
    Refused(String),
    /// Its release of OTP is too old to be asked.
    Release(String),
    /// It did not answer for this many milliseconds.
    Silent(u64),
    /// It answered what no node answers.
    Nonsense(String),
    /// The connection ended.
    Ended,
}

/// Figures of a node; means over the time, unless the figure says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeFigures {
    /// Its release of OTP.
    pub otp: String,
    /// Whether that is newer than those that were tried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_untried: bool,
    /// How old the last answer is, in milliseconds.
    pub age_ms: f64,
    /// How long the slowest answer took, in milliseconds.
    pub took_ms: f64,
    /// Answers that the figures are of.
    pub answers: u32,
    /// Schedulers that are online.
    pub online: u32,
    /// Processes that there are.
    pub processes: u64,
    /// How much each normal scheduler that is online was used, from 0 to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<f64>,
    /// Processes and ports that waited in normal run queues, all together.
    pub run_queue: f64,
    /// Those that waited for dirty CPU schedulers.
    pub dirty_cpu_queue: f64,
    /// Those that waited for dirty IO schedulers.
    pub dirty_io_queue: f64,
    /// Share of the answers in which all normal run queues had work, or none had.
    pub even: f64,
    /// Share of those in which more than half of them had none while others had.
    pub unbalanced: f64,
    /// Share of the answers in which five and more waited in one queue while another had none.
    pub uneven: f64,
    /// The longest queue in these, in the mean.
    pub longest: f64,
    /// The longest run queue over the middle one, the largest that was seen.
    pub worst_ratio: f64,
    /// What its threads did, by kind of thread, by microstate accounting; empty where the VM did
    /// not count it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub micro: Vec<Micro>,
    /// Nodes to which data had to wait in the port of the connection, the most often so first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<BusyLink>,
    /// Memory, in bytes, as it was last.
    pub memory: NodeMemory,
    /// How long the last look at all mailboxes took, in milliseconds; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailboxes_took_ms: Option<f64>,
    /// The longest mailboxes, those that grew longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mailboxes: Vec<Mailbox>,
}

/// What threads of a kind did, by the VM's microstate accounting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Micro {
    /// Kind of thread, as the VM calls it: `scheduler`, `dirty_cpu_scheduler`, ..
    pub threads: String,
    /// Share of their time in each state, from 0 to 1, by the VM's names: `emulator`, `gc`, ..
    pub shares: BTreeMap<String, f64>,
}

/// Data for another node waited in the port of its connection: the socket did not take it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyLink {
    /// The other node.
    pub node: String,
    /// Share of the answers in which something waited, from 0 to 1.
    pub waiting: f64,
    /// Bytes that waited in the driver of the port, the most that were seen. More may have waited
    /// in the VM before it, which does not show.
    pub bytes: u64,
}

/// Memory of a node, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeMemory {
    /// All of it.
    pub total: u64,
    /// Of processes.
    pub processes: u64,
    /// Of binaries.
    pub binary: u64,
    /// Of tables.
    pub ets: u64,
}

/// A process with a long mailbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mailbox {
    /// The process, as the node writes it.
    pub process: String,
    /// Its registered name or label, or the function that it began with.
    pub name: String,
    /// Messages, as they were last.
    pub length: u64,
    /// How many more there are each second.
    pub growth_per_s: f64,
    /// Whether they are kept outside of its heap.
    pub off_heap: bool,
    /// Reductions a second.
    pub reductions_per_s: f64,
    /// How often it was looked at.
    pub samples: u32,
    /// Share of these in which it did not wait for a message.
    pub running: f64,
    /// The function that it was mostly in while it did not wait, as `dets:req/2`.
    pub function: String,
    /// Share of the samples without waiting in which it was in that function.
    pub in_function: f64,
    /// Whether it was seen to wait for a message in that function.
    pub waits_there: bool,
    /// Who called that function, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}
