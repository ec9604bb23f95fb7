//! The error where the kernel takes no program.

use model::not_seen::{NoPrograms, ProgramPart};

pub(crate) fn refused(what: ProgramPart, why: &dyn std::fmt::Display) -> NoPrograms {
    NoPrograms::Refused { what, why: why.to_string() }
}
