//! The part that a scenario has in a reproducer.

use super::settings::{Defines, Read};

/// The part of a scenario.
pub struct Part {
    /// The scenario.
    pub scenario: &'static str,
    /// Its source.
    pub source: &'static str,
    /// What it is written in.
    pub language: Language,
    /// Whether it makes a control group.
    pub groups: bool,
    /// Its parameters, from the control and the arm with the cause.
    pub defines: fn(Read, Read) -> Result<Defines, String>,
}

/// What a reproducer is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, for stalls of the kernel.
    C,
    /// A script of Erlang's escript, for stalls of its VM.
    Escript,
}
