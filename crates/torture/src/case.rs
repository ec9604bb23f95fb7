//! What is done to one run of tailback, and what came of it: as JSON, so that one can be run again
//! alone.

use serde::{Deserialize, Serialize};

/// One run of tailback, and what is done to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// Which command, by its name in the list of commands.
    pub command: String,
    /// What is done to it.
    #[serde(flatten)]
    pub blow: Blow,
}

/// What is done to a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "blow")]
pub enum Blow {
    /// Processes are killed at a moment.
    Moment {
        /// When, in milliseconds after the start.
        at_ms: u64,
        /// Which processes.
        whom: Whom,
        /// How long the tool may go on without them before it is killed too, in milliseconds.
        then_ms: u64,
        /// Chooses among the processes.
        seed: u64,
    },
    /// Every process that makes its n-th call of a kind is killed in it.
    Call {
        /// Of which kind.
        calls: Calls,
        /// The n-th, from 1.
        number: u64,
        /// What is started by the tool too, its helper included; else only its main thread.
        children: bool,
    },
    /// Tool and helper are killed, then `tailback restore` in its n-th call of a kind; the next
    /// `restore` has to put all of it right.
    Restore {
        /// When tool and helper are killed, in milliseconds after the start.
        at_ms: u64,
        /// Calls of which kind.
        calls: Calls,
        /// The n-th, from 1.
        number: u64,
    },
    /// The disk of the records is full.
    Full {
        /// Its size, in KiB.
        kib: u64,
        /// The folder for temporary files is on it too, so that there is no other place.
        everywhere: bool,
    },
    /// The n-th call of a kind by the tool's main thread fails.
    Fails {
        /// The system call, or several with commas between.
        calls: String,
        /// The error, as ENOSPC.
        error: String,
        /// The n-th, from 1; `3+` is the third and all later ones.
        number: String,
    },
}

/// Which processes are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whom {
    /// The tool alone.
    Tool,
    /// One of all, the helper too.
    One,
    /// Each with a chance of a half.
    Some,
    /// All but the helper.
    AllButHelper,
    /// All.
    All,
}

/// Kinds of system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Those that make, name or remove something.
    Changes,
    /// Those that write: settings, members of groups, journals, records.
    Writes,
    /// Those that open.
    Opens,
    /// Those that start, end and steer processes.
    Processes,
}

impl Calls {
    /// All kinds.
    pub const ALL: [Calls; 4] = [Calls::Changes, Calls::Writes, Calls::Opens, Calls::Processes];

    /// The calls, as strace takes them: a question mark before those that not every machine has.
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

/// What came of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// Who was killed by us, by role.
    pub victims: Vec<String>,
    /// Whether something was there to be put right once all had ended, and `tailback restore` did.
    pub restored: bool,
    /// What was left in spite of everything, or is wrong: a line each.
    pub wrong: Vec<String>,
    /// How the tool ended.
    pub end: String,
    /// How long the case took, in milliseconds.
    pub took_ms: u64,
}

impl Outcome {
    /// Whether a signal of ours was the end of something, or a call failed as it was to.
    pub fn hit(&self) -> bool {
        !self.victims.is_empty()
    }
}
