//! The error for a program that the kernel refuses.

use model::not_seen::{NoPrograms, ProgramPart};

pub(crate) fn refused(what: ProgramPart, why: &dyn std::fmt::Display) -> NoPrograms {
    NoPrograms::Refused { what, why: why.to_string() }
}
