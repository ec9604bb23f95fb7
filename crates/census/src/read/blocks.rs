//! From a stream of bytes to texts of bearable length.

use super::host::host_of;
use super::item::{Form, Item, Text};
use flate2::read::MultiGzDecoder;
use model::census::Why;
use model::record::MOST_TEXT;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of lines that are parsed at a time.
const BLOCK: usize = 1 << 20;

/// Bytes by which the form of a file is told.
const START: usize = 1024;

/// The most that one stream is read of, in bytes, once it is unpacked: a packed one may be a
/// thousand times as large as its file.
const MOST_STREAM: u64 = 64 << 30;

/// The longest name of an entry of an archive that is shown, in characters.
const LONGEST_NAME: usize = 255;

/// Whether bytes are packed with gzip.
pub(super) fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// Whether bytes are an archive of tar.
pub(super) fn is_archive(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

/// Cuts a stream into items; its file has this name, and is of this host where a record does not
/// say.
pub(super) fn stream(source: impl Read, name: &str, host: &str, take: &mut dyn FnMut(Item)) {
    let mut source = BufReader::with_capacity(BLOCK, source);
    let packed = source.fill_buf().is_ok_and(is_packed);
    if packed {
        let unpacked = MultiGzDecoder::new(source).take(MOST_STREAM);
        unpacked_stream(BufReader::with_capacity(BLOCK, unpacked), name, host, take);
    } else {
        unpacked_stream(source, name, host, take);
    }
}

fn unpacked_stream(mut source: impl BufRead, name: &str, host: &str, take: &mut dyn FnMut(Item)) {
    let mut start = Vec::new();
    // A reader may give less than there is.
    let begun = source.by_ref().take(START as u64).read_to_end(&mut start);
    if let Err(error) = begun {
        return take(Item::Failed { begins: Some(name.into()), why: why(&error) });
    }
    let (archive, form) = (is_archive(&start), Form::of(&start));
    let source = std::io::Cursor::new(start).chain(source);
    match (archive, form) {
        (true, _) => entries(source, name, take),
        (false, Form::Lines) => lines(source, name, host, take),
        (false, form) => {
            let text = whole(source).map(|bytes| {
                let begins = Some(name.into());
                Item::Text(Text { begins, is_file: true, host: host.into(), form, bytes })
            });
            take(text.unwrap_or_else(|why| Item::Failed { begins: Some(name.into()), why }));
        }
    }
}

/// All of a source that is no longer than a record may be.
fn whole(source: impl Read) -> Result<Vec<u8>, Why> {
    let mut bytes = Vec::new();
    source.take(MOST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(|error| why(&error))?;
    if bytes.len() > MOST_TEXT { Err(Why::TooLarge) } else { Ok(bytes) }
}

fn why(error: &std::io::Error) -> Why {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Why::Truncated,
        std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => Why::Damaged,
        _ => Why::Unreadable,
    }
}

/// Cuts a source into blocks of whole lines; a line that is too long is counted and skipped.
fn lines(mut source: impl Read, name: &str, host: &str, take: &mut dyn FnMut(Item)) {
    let mut begins: Option<Box<str>> = Some(name.into());
    let mut rest: Vec<u8> = Vec::new();
    let mut skips = false;
    loop {
        let held = rest.len();
        let more = source.by_ref().take(BLOCK as u64).read_to_end(&mut rest);
        let ended = more.as_ref().map_or(true, |more| *more == 0);
        let cut = match rest[held..].iter().rposition(|byte| *byte == b'\n') {
            _ if ended => rest.len(),
            Some(last) => held + last + 1,
            None if rest.len() > MOST_TEXT => {
                if !skips {
                    take(Item::Failed { begins: begins.take(), why: Why::TooLarge });
                }
                skips = true;
                rest.clear();
                continue;
            }
            None => continue,
        };
        let tail = rest.split_off(cut);
        let mut bytes = std::mem::replace(&mut rest, tail);
        if skips {
            // What is left of the line that was too long, but for its line feed: lines keep their
            // numbers.
            let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
            bytes.drain(..end);
            skips = false;
        }
        if !bytes.is_empty() || begins.is_some() {
            let begins = begins.take();
            let is_file = begins.is_some();
            let form = Form::Lines;
            take(Item::Text(Text { begins, is_file, host: host.into(), form, bytes }));
        }
        if let Err(error) = more {
            take(Item::Failed { begins: None, why: why(&error) });
        }
        if ended {
            return;
        }
    }
}

/// The files of an archive of tar; their names are shown, and never used.
pub(super) fn entries(source: impl Read, name: &str, take: &mut dyn FnMut(Item)) {
    let mut archive = tar::Archive::new(source);
    // Counted as one file, whatever is in it.
    let begins = || Some(Box::from(name));
    let text = Text {
        begins: begins(),
        is_file: true,
        host: "".into(),
        form: Form::Lines,
        bytes: Vec::new(),
    };
    take(Item::Text(text));
    // As they stand: a long name of an entry would be read into memory, however long it is.
    let Ok(all) = archive.entries().map(|entries| entries.raw(true)) else {
        return take(Item::Failed { begins: None, why: Why::Damaged });
    };
    for entry in all {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return take(Item::Failed { begins: None, why: why(&error) }),
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path: String = path.chars().take(LONGEST_NAME).collect();
        let begins = Some(format!("{name}:{path}").into());
        let size = entry.size();
        take(match whole(&mut entry) {
            // Nothing within an archive is unpacked once more: what it may grow to has no bound.
            Ok(bytes) if is_packed(&bytes) || is_archive(&bytes) => {
                Item::Failed { begins, why: Why::Damaged }
            }
            // The archive ends within it.
            Ok(bytes) if (bytes.len() as u64) < size => {
                return take(Item::Failed { begins, why: Why::Truncated });
            }
            Ok(bytes) => {
                let host = host_of(Path::new(&path)).into();
                Item::Text(Text { begins, is_file: false, host, form: Form::of(&bytes), bytes })
            }
            Err(why) => Item::Failed { begins, why },
        });
    }
}
