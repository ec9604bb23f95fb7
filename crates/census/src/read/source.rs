//! A file to split, and the kind of its content.

use super::item::{Begin, Form, Item, Text};
use crate::file_host::{FileHost, Hashing};
use model::census::Why;
use model::record::MOST_TEXT;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// A file to split.
#[derive(Debug, Clone)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    /// The host that it is named after.
    pub(super) file_host: Arc<FileHost>,
    /// The hash of host names.
    pub(super) hashing: Option<Hashing<'a>>,
}

impl Source<'_> {
    /// A text of the file; `begins` is set if the file begins there.
    pub(super) fn text(&self, begins: Option<Begin>, form: Form, bytes: Vec<u8>) -> Item {
        Item::Text(Text { begins, file_host: Arc::clone(&self.file_host), form, bytes })
    }
}

/// Whether the bytes are gzip data.
pub(super) fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// Whether the bytes are a tar archive.
pub(super) fn is_archive(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

/// The whole source, unless it is longer than a record may be.
pub(super) fn whole(source: &mut dyn Read) -> Result<Vec<u8>, Why> {
    let mut bytes = Vec::new();
    source.take(MOST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(|error| why(&error))?;
    if bytes.len() > MOST_TEXT { Err(Why::TooLarge) } else { Ok(bytes) }
}

/// The reason why a source ended.
pub(super) fn why(error: &std::io::Error) -> Why {
    match error.kind() {
        ErrorKind::UnexpectedEof => Why::Truncated,
        ErrorKind::FileTooLarge => Why::TooLarge,
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Why::Damaged,
        _ => Why::Unreadable,
    }
}
