//! A record with what is needed to show it.

use model::{Explanation, Judged, Meta};

/// A record and what belongs to it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The record.
    pub record: &'a Judged,
    /// The description of its scenario, if this version knows it.
    pub meta: Option<&'a Meta>,
    /// The name that the user gave: its file.
    pub name: &'a str,
    /// The explanation of who held up whom, if there is one.
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
