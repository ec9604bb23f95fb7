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
    /// Whether it creates a control group.
    pub groups: bool,
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
