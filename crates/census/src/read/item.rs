//! What there is to parse.

use model::census::Why;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Work for one thread.
pub(super) struct Job {
    /// Its place in the order of all.
    pub(super) place: u64,
    pub(super) items: Vec<Item>,
}

/// Something to parse.
pub(super) enum Item {
    /// A small file.
    File { path: PathBuf, host: Box<str> },
    /// Text of a file that was read before.
    Text(Text),
    /// Something that could not be read to its end.
    Failed { begins: Option<Box<str>>, why: Why },
}

/// Text of a file.
pub(super) struct Text {
    /// The name of the file, where it begins here.
    pub(super) begins: Option<Box<str>>,
    /// Whether it is a file, and no entry of an archive.
    pub(super) is_file: bool,
    /// The host that it is of, where a record does not say.
    pub(super) host: Box<str>,
    pub(super) form: Form,
    pub(super) bytes: Vec<u8>,
}

/// How records stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One record.
    One,
    /// A record a line.
    Lines,
    /// A list of records, as `check --json` prints it.
    List,
}

impl Form {
    /// By how a text begins: a record over several lines has its brace alone on the first.
    pub(super) fn of(start: &[u8]) -> Self {
        let start = start.trim_ascii_start();
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        match line {
            [b'['] | [b'[', ..] => Form::List,
            [b'{'] => Form::One,
            _ => Form::Lines,
        }
    }
}

/// Opens a file that may be anything: neither a pipe nor a device is waited for.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::ErrorKind::InvalidInput.into()) }
}
