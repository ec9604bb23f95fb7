//! How a node is to be started.

use crate::otp::Flags;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a node is to be started; the default is a plain one.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Emulator flags.
    pub flags: Flags,
    /// Variables that are set in the node's environment; `ERL_*` of the tool's are taken away
    /// before, see [`Otp`](crate::Otp).
    pub env: Vec<(OsString, OsString)>,
    /// The CPUs that the node may use; absent: those that the calling thread may use.
    ///
    /// The VM counts `logical_processors_available` from them.
    pub cpus: Option<Vec<u32>>,
    /// Files into which the VM writes its own process id before it is the VM: `cgroup.procs` of
    /// each control group that it is to be in. They have to exist.
    pub join: Vec<PathBuf>,
    /// The working folder; absent: the tool's.
    pub dir: Option<PathBuf>,
    /// The niceness, -20 to 19; absent: the calling thread's.
    pub nice: Option<i32>,
    /// The folder for a crash dump, made where it is missing; absent: none is written. A dump has
    /// at most 64 MiB and takes at most 10 s; it stays only where the node's end is an error.
    pub dumps: Option<PathBuf>,
    /// Files that the node finds open by the same numbers, at `/proc/self/fd/N`.
    pub open: Vec<Arc<OwnedFd>>,
    /// How long the node may take until it sends its hello.
    pub hello_within: Duration,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            flags: Flags::none(),
            env: Vec::new(),
            cpus: None,
            join: Vec::new(),
            dir: None,
            nice: None,
            dumps: None,
            open: Vec::new(),
            hello_within: Duration::from_secs(120),
        }
    }
}
