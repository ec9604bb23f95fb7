//! One run of tailback, the trouble it gets, and the result. A case is JSON, so that it can be
//! run again alone.

use serde::{Deserialize, Serialize};

/// One run of tailback, and the trouble it gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// The command, by its name in the list of commands.
    pub command: String,
    /// The trouble.
    #[serde(flatten)]
    pub blow: Fault,
}

/// The trouble that a run gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "blow")]
pub enum Fault {
    /// Processes are killed at a moment.
    Moment {
        /// The moment, in milliseconds after the start.
        at_ms: u64,
        /// The processes to kill.
        whom: Whom,
        /// How long the tool may continue without them before it is killed too, in milliseconds.
        then_ms: u64,
        /// Seed for the choice of the processes.
        seed: u64,
    },
    /// Every traced process is killed in its n-th call of a kind.
    Call {
        /// The kind of calls.
        calls: Calls,
        /// The number n, from 1.
        number: u64,
        /// Whether all processes that the tool starts are traced too, including its helper.
        /// Otherwise only its main thread is.
        children: bool,
    },
    /// Tool and helper are killed. Then `tailback restore` is killed in its n-th call of a kind.
    /// The next `restore` has to restore everything.
    Restore {
        /// When tool and helper are killed, in milliseconds after the start.
        at_ms: u64,
        /// The kind of calls.
        calls: Calls,
        /// The number n, from 1.
        number: u64,
    },
    /// The disk of the records is full.
    Full {
        /// Its size, in KiB.
        kib: u64,
        /// Whether the folder for temporary files is on it too, so that there is no other place.
        everywhere: bool,
    },
    /// The n-th call of a kind in the tool's main thread fails.
    Fails {
        /// The system call, or several with commas between them.
        calls: String,
        /// The error, for example ENOSPC.
        error: String,
        /// The number n, from 1. `3+` means the third call and all later ones.
        number: String,
    },
}

/// The processes to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whom {
    /// Only the tool.
    Tool,
    /// One of all processes, which may be the helper.
    One,
    /// Each process with a probability of one half.
    Some,
    /// All except the helper.
    AllButHelper,
    /// All processes.
    All,
}

/// Kinds of system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Calls that make, name or remove something.
    Changes,
    /// Calls that write: settings, members of groups, journals, records.
    Writes,
    /// Calls that open something.
    Opens,
    /// Calls that start, end and control processes.
    Processes,
}

impl Calls {
    /// All kinds.
    pub const ALL: [Calls; 4] = [Calls::Changes, Calls::Writes, Calls::Opens, Calls::Processes];

    /// The names of the calls for strace. A question mark precedes names that not every machine
    /// has.
    pub fn names(self) -> &'static str {
        match self {
            Calls::Changes => {
                "?mkdir,mkdirat,?rmdir,?unlink,unlinkat,?rename,?renameat,renameat2,?link,linkat,?symlink,\
                 symlinkat,mount,umount2,mount_setattr,move_mount,ftruncate,fsync,fdatasync,?chmod,fchmod,\
                 fchmodat,flock"
            }
            Calls::Writes => "write,writev,pwrite64",
            Calls::Opens => "openat",
            Calls::Processes => {
                "clone,clone3,?fork,?vfork,execve,prctl,kill,pidfd_send_signal,wait4,waitid,setpgid,\
                 sched_setaffinity,exit_group"
            }
        }
    }
}

/// The result of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// The processes that this program killed, by role.
    pub victims: Vec<String>,
    /// Whether something was left after all processes had ended, and `tailback restore` had to
    /// undo it.
    pub restored: bool,
    /// What was left anyway, or is wrong: one line each.
    pub wrong: Vec<String>,
    /// How the tool ended.
    pub end: String,
    /// How long the case took, in milliseconds.
    pub took_ms: u64,
}

impl Outcome {
    /// Whether a signal killed something, or a call failed as planned.
    pub fn hit(&self) -> bool {
        !self.victims.is_empty()
    }
}
