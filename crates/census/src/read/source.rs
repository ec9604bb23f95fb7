//! A file to cut, and what its bytes are.

use super::item::{Begin, Form, Item, Text};
use crate::speaker::{Hashing, Speaker};
use model::census::Why;
use model::record::MOST_TEXT;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// A file to cut.
#[derive(Debug, Clone)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    /// The host that it is named after.
    pub(super) speaker: Arc<Speaker>,
    /// What makes hashes of names.
    pub(super) hashing: Option<Hashing<'a>>,
}

impl Source<'_> {
    /// Text of it; `begins` where it begins there.
    pub(super) fn text(&self, begins: Option<Begin>, form: Form, bytes: Vec<u8>) -> Item {
        Item::Text(Text { begins, speaker: Arc::clone(&self.speaker), form, bytes })
    }
}

/// Whether bytes are packed with gzip.
pub(super) fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// Whether bytes are an archive of tar.
pub(super) fn is_archive(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

/// All of a source that is no longer than a record may be.
pub(super) fn whole(source: impl Read) -> Result<Vec<u8>, Why> {
    let mut bytes = Vec::new();
    source.take(MOST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(|error| why(&error))?;
    if bytes.len() > MOST_TEXT { Err(Why::TooLarge) } else { Ok(bytes) }
}

/// Why a source ended.
pub(super) fn why(error: &std::io::Error) -> Why {
    match error.kind() {
        ErrorKind::UnexpectedEof => Why::Truncated,
        ErrorKind::FileTooLarge => Why::TooLarge,
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Why::Damaged,
        _ => Why::Unreadable,
    }
}
