//! The error where the kernel takes no program.

use crate::ProbeError;

pub(crate) fn refused(what: &str, why: &dyn std::fmt::Display) -> ProbeError {
    ProbeError::Refused { what: what.to_owned(), why: why.to_string() }
}
