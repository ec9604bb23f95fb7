//! Splits a stream of bytes into texts of limited length.

use super::entries::entries;
use super::item::{Begin, Form, Item};
use super::source::{Source, is_archive, is_packed, whole, why};
use super::unpack::Unpacked;
use model::census::Why;
use model::record::MOST_TEXT;
use std::io::{BufRead, BufReader, Read};

/// Bytes of lines that are parsed together.
const BLOCK: usize = 1 << 20;

/// Number of bytes that are used to detect the form of a file.
const START: usize = 1024;

/// Splits a stream into items.
pub(super) fn stream(bytes: &mut dyn Read, of: &Source, take: &mut dyn FnMut(Item)) {
    let mut bytes = BufReader::with_capacity(BLOCK, bytes);
    let packed = bytes.fill_buf().is_ok_and(is_packed);
    if packed {
        let unpacked = Unpacked::new(bytes);
        unpacked_stream(&mut BufReader::with_capacity(BLOCK, unpacked), of, take);
    } else {
        unpacked_stream(&mut bytes, of, take);
    }
}

fn unpacked_stream(bytes: &mut dyn Read, of: &Source, take: &mut dyn FnMut(Item)) {
    let begins = || Some(Begin::file(of.name));
    let mut start = Vec::new();
    // A single read may return fewer bytes than are available.
    let begun = bytes.take(START as u64).read_to_end(&mut start);
    if let Err(error) = begun {
        return take(Item::Failed { begins: begins(), why: why(&error) });
    }
    let (archive, form) = (is_archive(&start), Form::of(&start));
    let mut bytes = std::io::Cursor::new(start).chain(bytes);
    match (archive, form) {
        (true, _) => entries(&mut bytes, of, take),
        (false, Form::Lines) => lines(&mut bytes, of, take),
        (false, form) => take(match whole(&mut bytes) {
            Ok(bytes) => of.text(begins(), form, bytes),
            Err(why) => Item::Failed { begins: begins(), why },
        }),
    }
}

/// Splits a source into blocks of whole lines. A line that is too long is counted and skipped.
fn lines(bytes: &mut dyn Read, of: &Source, take: &mut dyn FnMut(Item)) {
    let mut begins = Some(Begin::file(of.name));
    let mut rest: Vec<u8> = Vec::new();
    let mut skips = false;
    loop {
        let held = rest.len();
        let more = bytes.take(BLOCK as u64).read_to_end(&mut rest);
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
        let mut block = std::mem::replace(&mut rest, tail);
        if skips {
            // The rest of the line that was too long, without its line feed, so that line numbers
            // stay correct.
            let end = block.iter().position(|byte| *byte == b'\n').unwrap_or(block.len());
            block.drain(..end);
            skips = false;
        }
        if !block.is_empty() || begins.is_some() {
            take(of.text(begins.take(), Form::Lines, block));
        }
        if let Err(error) = more {
            take(Item::Failed { begins: None, why: why(&error) });
        }
        if ended {
            return;
        }
    }
}
