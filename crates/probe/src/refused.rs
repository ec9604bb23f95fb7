//! The error where the kernel takes no program.

use model::not_seen::NoPrograms;

pub(crate) fn refused(what: &str, why: &dyn std::fmt::Display) -> NoPrograms {
    NoPrograms::Refused { what: what.to_owned(), why: why.to_string() }
}
