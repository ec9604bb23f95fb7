//! The work of a parsing thread, and its result.

use super::blocks;
use super::find::LARGE;
use super::item::{Begin, Form, Item, Job, Text, open};
use super::source::{Source, is_archive, is_packed};
use crate::answer::Answer;
use crate::aside::MOST_EXAMPLES;
use crate::file_host::FileHost;
use crate::parse::Reader;
use model::census::Why;
use serde::Deserializer;
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Most records that are kept of a small file that is compressed or an archive, although its name
/// does not say so.
const MOST_UNPACKED: usize = 1000;

/// The result of a job.
pub(super) struct Done {
    pub(super) place: u64,
    pub(super) parts: Vec<Part>,
    /// The job's share of the memory limit, in bytes.
    pub(super) room: u64,
}

/// The records of a file or of a block of it.
pub(super) struct Part {
    pub(super) begins: Option<Begin>,
    /// The host that the file is named after. None if the file could not be read.
    pub(super) file_host: Option<Arc<FileHost>>,
    pub(super) found: Found,
    /// The number of lines in the part.
    pub(super) lines: u32,
    pub(super) bytes: u64,
}

/// The records of a text. Two bytes of text are enough for something that is not a record, so
/// these are counted and not all listed.
#[derive(Default)]
pub(super) struct Found {
    /// Each record with its line in the part, or 0 if it is the whole file.
    pub(super) answers: Vec<(u32, Answer)>,
    /// How often something was not a record, with the first of its lines.
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
    fn failed(begins: Option<Begin>, why: Why) -> Self {
        let mut found = Found::default();
        found.add(0, Err(why));
        Part { begins, file_host: None, found, lines: 0, bytes: 0 }
    }

    /// The number of its records, valid or not.
    fn records(&self) -> u64 {
        let failed: u64 = self.found.failed.values().map(|(count, _)| count).sum();
        failed + self.found.answers.len() as u64
    }

    /// Keeps only its first valid records, and returns how many more there were.
    fn keep(&mut self, most: usize) -> u64 {
        let answers = &mut self.found.answers;
        let more = answers.len().saturating_sub(most);
        answers.truncate(most);
        answers.shrink_to_fit();
        more as u64
    }
}

/// Parses all items of a job.
pub(super) fn done(job: Job, reader: &mut Reader) -> Done {
    let parts = job.items.into_iter().flat_map(|item| of_item(item, reader)).collect();
    Done { place: job.place, parts, room: job.room }
}

fn of_item(item: Item, reader: &mut Reader) -> Vec<Part> {
    match item {
        Item::File { path, name, file_host } => of_file(&path, &name, file_host, reader),
        Item::Text(text) => vec![of_text(text, reader)],
        Item::Failed { begins, why } => vec![Part::failed(begins, why)],
    }
}

/// The records of a small file; `name` is its name as it is shown.
fn of_file(path: &Path, name: &str, file_host: Arc<FileHost>, reader: &mut Reader) -> Vec<Part> {
    let begins = Some(Begin::file(name));
    let mut bytes = Vec::new();
    let read = open(path).and_then(|file| file.take(LARGE).read_to_end(&mut bytes));
    // A file that has grown since it was found has no room: its job reserved less.
    if read.is_err() || bytes.len() as u64 >= LARGE {
        return vec![Part::failed(begins, Why::Unreadable)];
    }
    if is_packed(&bytes) || is_archive(&bytes) {
        let _turn = reader.unpacks();
        let source = Source { name, file_host, hashing: reader.hashing };
        return of_packed(&bytes, &source, reader);
    }
    vec![of_text(Text { begins, file_host, form: Form::of(&bytes), bytes }, reader)]
}

/// The records of a small file that is compressed or an archive, although its name does not say
/// so. Only the first ones are kept: the job has reserved the room of the small file, and a host
/// can compress thousands of equal records into a few kilobytes.
fn of_packed(bytes: &[u8], source: &Source, reader: &mut Reader) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut room = MOST_UNPACKED;
    let mut left_out = 0;
    blocks::stream(&mut &bytes[..], source, &mut |item| {
        for mut part in of_item(item, reader) {
            if room == 0 {
                left_out += part.records();
            } else {
                left_out += part.keep(room);
                // A part without records takes memory too.
                room = room.saturating_sub(part.found.answers.len().max(1));
                parts.push(part);
            }
        }
    });
    if left_out > 0 {
        let mut rest = Part::failed(Some(Begin::entry(source.name)), Why::TooMany);
        rest.found.failed.insert(Why::TooMany, (left_out, vec![0]));
        parts.push(rest);
    }
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
    Part { begins: text.begins, file_host: Some(text.file_host), found, lines, bytes }
}

/// Reads the records of a list one by one: all of them in memory could take many times the size
/// of the text.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_host::Given;
    use crate::kinds::Kinds;
    use crate::options::Options;
    use crate::parse::Turns;
    use model::{Facts, Headline, Judgement, State};

    fn skipped(_: &Facts) -> Judgement {
        Judgement::new(State::Skipped, Headline::NotMeasured)
    }

    #[test]
    fn a_file_that_has_grown_since_it_was_found_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let options = Options {
            scenarios: &[],
            judge: skipped,
            now: 0,
            threads: 1,
            trials: None,
            hashing: None,
        };
        let (kinds, turns) = (Kinds::default(), Turns::default());
        let mut reader = Reader::new(&options, &kinds, &turns);
        for (size, why) in [(LARGE - 1, Why::Damaged), (LARGE, Why::Unreadable)] {
            file.as_file().set_len(size).unwrap();
            let file_host = FileHost::new("web1", Given::Found, None).into();
            let parts = of_file(file.path(), "web1.json", file_host, &mut reader);
            let failed: Vec<Why> = parts[0].found.failed.keys().copied().collect();
            assert_eq!(failed, [why], "{size}");
        }
    }
}
