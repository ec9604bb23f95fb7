//! A record about to be shown.

use model::{Explanation, Judged, Meta};

/// A record with what is to be known beside it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The record.
    pub record: &'a Judged,
    /// What its scenario says of itself, where this version knows it.
    pub meta: Option<&'a Meta>,
    /// What the user calls it: its file.
    pub name: &'a str,
    /// Who held up whom, where that was worked out.
    pub explanation: Option<&'a Explanation>,
}

impl<'a> Shown<'a> {
    /// A record in a file, without an explanation.
    pub fn new(record: &'a Judged, meta: Option<&'a Meta>, name: &'a str) -> Self {
        Shown { record, meta, name, explanation: None }
    }

    /// The sentences about it.
    pub(crate) fn prose(&self) -> crate::prose::Prose<'a> {
        crate::prose::Prose::new(self.record, self.meta)
    }
}
