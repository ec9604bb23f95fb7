//! The parameters of `group-move`.

use crate::params::{self, List, Time, between, choice, whole_us};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The parameters of `group-move`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct GroupMoveParams {
    /// The call that is timed. move makes the case; other-file makes the control; clone-into is the
    /// fix
    #[arg(long, default_value = "move")]
    pub by: By,
    /// Pause before each call. 0s: no pause
    #[arg(long, default_value = "100ms", value_parser = whole_us(Time::ZERO..=Time::s(1)))]
    pub gap: Time,
    /// Fixes to try, separated by semicolons: clone-into
    #[arg(long, default_value = "clone-into")]
    pub fixes: List<MoveFix>,
    /// How long the calls are repeated in a trial
    #[arg(
        long,
        default_value = "1s",
        default_value_if("quick", "true", "600ms"),
        value_parser = between(Time::ms(100)..=Time::s(600))
    )]
    pub duration: Time,
}

impl Default for GroupMoveParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// The call that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A write of a child's process ID to `cgroup.procs`, which moves the child
    Move,
    /// A clone3 that makes a child in the group (CLONE_INTO_CGROUP)
    CloneInto,
    /// A write to another file of the group, which moves nothing
    OtherFile,
}

/// A fix to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MoveFix {
    /// A child that begins in its group
    CloneInto,
}

choice!(By, MoveFix);

impl GroupMoveParams {
    /// The same groups, child and pauses, without a move. A pause begins when a call has returned,
    /// so slow moves are fewer than writes of the control.
    pub fn control(&self) -> Self {
        GroupMoveParams { by: By::OtherFile, ..self.clone() }
    }

    /// The same parameters with a fix.
    pub fn with(&self, fix: MoveFix) -> Self {
        match fix {
            MoveFix::CloneInto => GroupMoveParams { by: By::CloneInto, ..self.clone() },
        }
    }
}
