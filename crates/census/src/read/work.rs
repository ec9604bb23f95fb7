//! What a thread that parses is given, and what it gives back.

use super::blocks;
use super::item::{Form, Item, Job, Text, open};
use crate::answer::Answer;
use crate::fleet::MOST_EXAMPLES;
use crate::parse::Reader;
use flate2::read::MultiGzDecoder;
use model::census::Why;
use model::record::MOST_TEXT;
use serde::Deserializer;
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
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
    pub(super) found: Found,
    /// Lines of the part.
    pub(super) lines: u32,
    pub(super) bytes: u64,
}

/// What a text holds. What is no record takes two bytes of text, so it is counted and not listed.
#[derive(Default)]
pub(super) struct Found {
    /// Each record with its line from the begin of the part, or 0 where it is the whole file.
    pub(super) answers: Vec<(u32, Answer)>,
    /// How often something was no record, and the first lines of it.
    pub(super) failed: BTreeMap<Why, (u64, Vec<u32>)>,
}

impl Found {
    fn add(&mut self, line: u32, found: Result<Answer, Why>) {
        match found {
            Ok(answer) => self.answers.push((line, answer)),
            Err(why) => {
                let (count, lines) = self.failed.entry(why).or_default();
                *count += 1;
                if lines.len() < MOST_EXAMPLES {
                    lines.push(line);
                }
            }
        }
    }
}

impl Part {
    fn failed(begins: Option<Box<str>>, why: Why) -> Self {
        let mut found = Found::default();
        found.add(0, Err(why));
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
    let mut found = Found::default();
    let mut lines = 0;
    match text.form {
        Form::Lines => {
            for line in text.bytes.split_inclusive(|byte| *byte == b'\n') {
                lines += 1;
                if !line.trim_ascii().is_empty() {
                    found.add(lines, reader.read(line));
                }
            }
        }
        Form::One => found.add(0, reader.read(&text.bytes)),
        Form::List => {
            let mut json = serde_json::Deserializer::from_slice(&text.bytes);
            let each = Each { reader, found: &mut found };
            if let Err(error) = json.deserialize_seq(each).and_then(|()| json.end()) {
                let why = if error.is_eof() { Why::Truncated } else { Why::Damaged };
                found.add(0, Err(why));
            }
        }
    }
    let bytes = text.bytes.len() as u64;
    Part { begins: text.begins, is_file: text.is_file, host: text.host, found, lines, bytes }
}

/// Reads each record of a list by itself: a list of all of them could be many times its text.
struct Each<'a, 'b> {
    reader: &'a mut Reader<'b>,
    found: &'a mut Found,
}

impl<'de> Visitor<'de> for Each<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(one) = items.next_element::<&RawValue>()? {
            self.found.add(0, self.reader.read(one.get().as_bytes()));
        }
        Ok(())
    }
}
