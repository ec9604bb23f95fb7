//! What a thread that parses is given, and what it gives back.

use super::blocks;
use super::item::{Form, Item, Job, Text, open};
use crate::answer::Answer;
use crate::parse::Reader;
use flate2::read::MultiGzDecoder;
use model::census::Why;
use model::record::MOST_TEXT;
use serde_json::value::RawValue;
use std::io::Read;
use std::path::Path;

/// What a job found.
pub(super) struct Done {
    pub(super) place: u64,
    pub(super) parts: Vec<Part>,
}

/// What a file, or a block of it, holds.
pub(super) struct Part {
    pub(super) begins: Option<Box<str>>,
    pub(super) is_file: bool,
    pub(super) host: Box<str>,
    /// Each record with its line from the begin of the part, or 0 where it is the whole file.
    pub(super) found: Vec<(u32, Result<Answer, Why>)>,
    /// Lines of the part.
    pub(super) lines: u32,
    pub(super) bytes: u64,
}

impl Part {
    fn failed(begins: Option<Box<str>>, why: Why) -> Self {
        let found = vec![(0, Err(why))];
        Part { is_file: begins.is_some(), begins, host: "".into(), found, lines: 0, bytes: 0 }
    }
}

/// Parses all of a job.
pub(super) fn done(job: Job, reader: &mut Reader) -> Done {
    let mut parts = Vec::new();
    for item in job.items {
        match item {
            Item::File { path, host } => parts.extend(of_file(&path, host, reader)),
            Item::Text(text) => parts.push(of_text(text, reader)),
            Item::Failed { begins, why } => parts.push(Part::failed(begins, why)),
        }
    }
    Done { place: job.place, parts }
}

fn of_file(path: &Path, host: Box<str>, reader: &mut Reader) -> Vec<Part> {
    let name: Box<str> = path.display().to_string().into();
    let failed = |why| vec![Part::failed(Some(name.clone()), why)];
    let mut bytes = Vec::new();
    let most = MOST_TEXT as u64 + 1;
    let read = open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    if read.is_err() {
        return failed(Why::Unreadable);
    }
    if blocks::is_packed(&bytes) {
        let mut whole = Vec::new();
        let read = MultiGzDecoder::new(bytes.as_slice()).take(most).read_to_end(&mut whole);
        if read.is_err() {
            return failed(Why::Truncated);
        }
        bytes = whole;
    }
    if bytes.len() > MOST_TEXT {
        return failed(Why::TooLarge);
    }
    if !blocks::is_archive(&bytes) {
        let form = Form::of(&bytes);
        let text = Text { begins: Some(name), is_file: true, host, form, bytes };
        return vec![of_text(text, reader)];
    }
    let mut parts = Vec::new();
    blocks::entries(bytes.as_slice(), &name, &mut |item| match item {
        Item::Text(text) => parts.push(of_text(text, reader)),
        Item::Failed { begins, why } => parts.push(Part::failed(begins, why)),
        Item::File { .. } => {}
    });
    parts
}

fn of_text(text: Text, reader: &mut Reader) -> Part {
    let mut found = Vec::new();
    let mut lines = 0;
    match text.form {
        Form::Lines => {
            for line in text.bytes.split_inclusive(|byte| *byte == b'\n') {
                lines += 1;
                if !line.trim_ascii().is_empty() {
                    found.push((lines, reader.read(line)));
                }
            }
        }
        Form::One => found.push((0, reader.read(&text.bytes))),
        Form::List => match serde_json::from_slice::<Vec<&RawValue>>(&text.bytes) {
            Ok(all) => {
                found.extend(all.into_iter().map(|one| (0, reader.read(one.get().as_bytes()))));
            }
            Err(error) if error.is_eof() => found.push((0, Err(Why::Truncated))),
            Err(_) => found.push((0, Err(Why::Damaged))),
        },
    }
    let bytes = text.bytes.len() as u64;
    Part { begins: text.begins, is_file: text.is_file, host: text.host, found, lines, bytes }
}
