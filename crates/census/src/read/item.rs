//! Units of parsing work.

use crate::file_host::FileHost;
use model::census::Why;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Work for one thread.
pub(super) struct Job {
    /// Its position in the order of all jobs.
    pub(super) place: u64,
    pub(super) items: Vec<Item>,
    /// Its share of the memory limit, in bytes.
    pub(super) room: u64,
}

/// Something to parse.
pub(super) enum Item {
    /// A small file, and its name as it is shown.
    File { path: PathBuf, name: String, file_host: Arc<FileHost> },
    /// Text of a file that was already read.
    Text(Text),
    /// Something that could not be read completely.
    Failed { begins: Option<Begin>, why: Why },
}

/// The beginning of a file, or of an entry of an archive.
pub(super) struct Begin {
    pub(super) name: Box<str>,
    /// Whether it is a file and not an entry of an archive.
    pub(super) is_file: bool,
}

impl Begin {
    pub(super) fn file(name: &str) -> Self {
        Begin { name: name.into(), is_file: true }
    }

    pub(super) fn entry(name: &str) -> Self {
        Begin { name: name.into(), is_file: false }
    }
}

/// Text of a file.
pub(super) struct Text {
    /// The beginning, if the file begins here.
    pub(super) begins: Option<Begin>,
    /// The host that it is named after.
    pub(super) file_host: Arc<FileHost>,
    pub(super) form: Form,
    pub(super) bytes: Vec<u8>,
}

/// The layout of records in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One record.
    One,
    /// One record per line.
    Lines,
    /// A JSON list of records, as printed by `check --json`.
    List,
}

impl Form {
    /// The form of a text, from its beginning. A list of records begins with a bracket and the
    /// first record. A record on several lines has only a brace on the first line, and the first
    /// key after it. Lines of a log may begin with a bracket or a brace too.
    pub(super) fn of(start: &[u8]) -> Self {
        let start = start.trim_ascii_start();
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        let next = start.get(1..).and_then(|rest| rest.trim_ascii_start().first());
        match (line, next) {
            ([b'[', ..], Some(b'{' | b']')) => Form::List,
            ([b'{'], Some(b'"')) => Form::One,
            _ => Form::Lines,
        }
    }
}

/// Opens a path if it is a file and not a link. Pipes and devices do not block.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

/// Opens a path that the user named, if it is a file. Devices are not opened, since even that may
/// change their state.
pub(super) fn open_named(path: &Path) -> std::io::Result<File> {
    if std::fs::metadata(path)?.is_file() { open(path) } else { Err(no_file()) }
}

fn no_file() -> Error {
    let what = "neither a file nor a folder (give - to read from a pipe)";
    Error::new(ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_what_follows_the_first_bracket() {
        for list in ["[]", "[{\"schema\"", " [\n  {\n", "[\n]", "[ { } ]"] {
            assert_eq!(Form::of(list.as_bytes()), Form::List, "{list}");
        }
        for one in ["{\n \"schema\"", "\n{ \r\n\n\t\"a\": 1", "{\n\"\"}"] {
            assert_eq!(Form::of(one.as_bytes()), Form::One, "{one}");
        }
        let of_a_log = ["[12.5] begins\n{\"schema\"", "[", "[1,2]", "{\n{\"schema\"", "{\n", "{"];
        for lines in of_a_log.into_iter().chain(["", "{\"schema\": 1}\n{\n", "x\n[{"]) {
            assert_eq!(Form::of(lines.as_bytes()), Form::Lines, "{lines}");
        }
    }
}
