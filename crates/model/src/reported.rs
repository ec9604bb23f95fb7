//! What a part reported that speaks for itself.

use serde::{Deserialize, Serialize};

/// What a part reported that speaks for itself: a node, the search for an OTP, the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {
    /// Who reported it.
    pub by: Part,
    /// What sort of trouble it is.
    pub trouble: Trouble,
    /// What it is about, where the message does not name it: a file, a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The message as it was reported, with the kernel's, the node's or the program's own words.
    pub message: String,
}

/// A part that reports what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The kernel, by a call that failed.
    Kernel,
    /// An Erlang node, or what drives it.
    Node,
    /// What finds an OTP and compiles for it.
    Otp,
    /// What fetches packages of Debian.
    Debian,
}

/// A sort of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// It is not there.
    Absent,
    /// It cannot be executed, read, written or made.
    Failed,
    /// It refuses a value.
    Refused,
    /// Others could have changed it.
    Unsafe,
    /// It is too old.
    TooOld,
    /// It does not compile.
    NotCompiled,
    /// It was not done in time.
    Late,
    /// A process ended that was not asked to.
    Died,
    /// An answer that cannot be understood.
    Protocol,
    /// The disk is full.
    Full,
}
