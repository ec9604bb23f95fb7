//! The part of a reproducer that belongs to one scenario.

use super::settings::{Defines, Read};

/// The part of a scenario.
pub struct Part {
    /// The scenario.
    pub scenario: &'static str,
    /// Its source code.
    pub source: &'static str,
    /// Its language.
    pub language: Language,
    /// The control groups that it makes.
    pub groups: Groups,
    /// Its definitions, computed from the control and the arm with the cause.
    pub defines: fn(Read, Read) -> Result<Defines, String>,
}

/// The language of a reproducer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, for stalls of the kernel.
    C,
    /// An escript, for stalls of the Erlang VM.
    Escript,
}

/// The control groups that a reproducer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// None.
    None,
    /// Of version 1 or 2.
    Any,
    /// Of version 2 only.
    Version2,
}

impl Groups {
    /// How to run a program that makes these groups. None if it makes none.
    pub fn need(self) -> Option<&'static str> {
        match self {
            Groups::None => None,
            Groups::Any => Some("Run it as root: it makes control groups."),
            Groups::Version2 => Some("Run it as root, with cgroup v2: it makes control groups."),
        }
    }
}
