//! The options for starting a node.

use crate::otp::Flags;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The options for starting a node; the default is a plain node.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Emulator flags.
    pub flags: Flags,
    /// Variables that are set in the node's environment. The `ERL_*` variables of the tool are
    /// removed before that, see [`Otp`](crate::Otp).
    pub env: Vec<(OsString, OsString)>,
    /// The CPUs that the node may use; None for those that the calling thread may use.
    ///
    /// The VM counts `logical_processors_available` from them.
    pub cpus: Option<Vec<u32>>,
    /// Files into which the new process writes its id before it becomes the VM: `cgroup.procs` of
    /// each control group that it is to be in. The files must exist.
    pub join: Vec<PathBuf>,
    /// The working folder; None for the tool's.
    pub dir: Option<PathBuf>,
    /// The niceness, -20 to 19; None for that of the calling thread.
    pub nice: Option<i32>,
    /// The folder for a crash dump, created if missing; None for no dump. A dump has at most 64
    /// MiB and takes at most 10 s. It is kept only if the node's end is an error.
    pub dumps: Option<PathBuf>,
    /// Files that the node finds open with the same numbers, at `/proc/self/fd/N`.
    pub open: Vec<Arc<OwnedFd>>,
    /// How long the node may take until it sends its hello message.
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
