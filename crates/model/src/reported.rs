//! A problem that a part of tailback reported in its own words.

use serde::{Deserialize, Serialize};

/// A problem that a part reported in its own words: a node, the search for an OTP, the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {
    /// The part that reported it.
    pub by: Part,
    /// The kind of trouble.
    pub trouble: Trouble,
    /// The file or call that the message is about, if the message does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The message as it was reported, in the words of the kernel, the node or the program.
    pub message: String,
}

/// A part that reports what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The kernel: a call failed.
    Kernel,
    /// An Erlang node, or the code that drives it.
    Node,
    /// The code that finds an OTP and compiles for it.
    Otp,
    /// The code that fetches Debian packages.
    Debian,
}

/// A kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// The file or program does not exist.
    Absent,
    /// It cannot be executed, read, written or created.
    Failed,
    /// A value was refused.
    Refused,
    /// Other users could have changed it.
    Unsafe,
    /// It is too old.
    TooOld,
    /// It does not compile.
    NotCompiled,
    /// A deadline passed.
    Late,
    /// A process ended that should still run.
    Died,
    /// An answer cannot be understood.
    Protocol,
    /// The disk is full.
    Full,
}
