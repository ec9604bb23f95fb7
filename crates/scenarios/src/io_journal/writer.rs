//! The writer: writes rounds of data under the cap of its group, and calls fsync after each.
//!
//! The kernel counts the write-back of a file for the group that first writes to it. So the writer
//! joins its group before it makes its files.
//!
//! It writes whole pages. The kernel writes back and waits by the page, so the hole and what is
//! written again may not share one. With pages of 4 KiB, a page is a block of the file system.

use super::failure::{broken, refused, settings};
use super::params::{By, LEAST_PAGES};
use super::round::Round;
use super::span::Span;
use load::OwnGenerator;
use load::protocol::Failure;
use os::{time, write_back};
use rustix::fs::{AtFlags, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, openat, unlinkat};
use rustix::io::Errno;
use rustix::param::page_size;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The generator.
pub(super) const WRITER: OwnGenerator = OwnGenerator { name: "journal-writer", prepare };

/// How many files the writer uses in turn.
const FILES: u64 = 2;

/// The flag of a file with extents. rustix has no name for it.
const EXTENTS: u32 = 0x0008_0000;

/// The settings of the writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WriterSpec {
    /// The file by which a process joins the group.
    pub(super) procs: PathBuf,
    /// The file with the limits of the group.
    pub(super) limits: PathBuf,
    /// The numbers of the disk, as the limits name it.
    pub(super) disk: String,
    /// The cap, in bytes a second.
    pub(super) cap: u64,
    /// How it writes.
    pub(super) by: By,
    /// Number of pages of a round, at least [`LEAST_PAGES`].
    pub(super) pages: u64,
    /// The folder of its files.
    pub(super) folder: PathBuf,
}

fn prepare(spec: Value) -> Result<load::Work, Failure> {
    let spec: WriterSpec = settings(WRITER.name, spec)?;
    let writer = Writer::join(spec, page_size())?;
    Ok(Box::new(move || {
        let error = writer.go_on(&send);
        // If the stage has ended, nobody needs to know.
        let _ = send(Round::Failed { error: error.raw_os_error().unwrap_or(0) });
        Err::<Value, Failure>(refused(WRITER.name, &error))
    }))
}

/// Sends a record to the stage.
fn send(round: Round) -> io::Result<()> {
    // The standard library would buffer it until the line ends.
    while let Err(error) = rustix::io::write(rustix::stdio::stdout(), &round.to_bytes()) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    Ok(())
}

/// The writer, with its open files.
struct Writer {
    spec: WriterSpec,
    limits: File,
    folder: File,
    /// The content of a page.
    data: Vec<u8>,
}

impl Writer {
    /// Joins the group, and opens what the rounds need. A page has this many bytes.
    fn join(spec: WriterSpec, page: usize) -> Result<Self, Failure> {
        if spec.pages < LEAST_PAGES {
            return Err(broken(format!("{}: {} pages in a round", WRITER.name, spec.pages)));
        }
        let to_write = |path: &PathBuf| {
            let file = File::options().write(true).open(path);
            file.map_err(|error| refused(path.display(), &error))
        };
        // Zero stands for the process itself.
        let joined = to_write(&spec.procs)?.write_all(b"0");
        joined.map_err(|error| refused(spec.procs.display(), &error))?;
        let limits = to_write(&spec.limits)?;
        let folder = File::open(&spec.folder);
        let folder = folder.map_err(|error| refused(spec.folder.display(), &error))?;
        Ok(Writer { spec, limits, folder, data: vec![b'w'; page] })
    }

    /// Makes rounds until one fails.
    fn go_on(&self, send: &dyn Fn(Round) -> io::Result<()>) -> io::Error {
        let mut number = 0;
        loop {
            if let Err(error) = self.round(number % FILES, send) {
                return error;
            }
            number += 1;
        }
    }

    /// Makes one round, with the file of this number.
    fn round(&self, file: u64, send: &dyn Fn(Round) -> io::Result<()>) -> io::Result<()> {
        let name = format!("writer-{file}");
        let file = match self.spec.by {
            By::Rewritten | By::Once => self.write_again(&name)?,
            By::Ordered => self.write_new(&name)?,
        };
        let began_ns = time::now_ns();
        send(Round::Began { at_ns: began_ns })?;
        file.sync_all()?;
        let ended_ns = time::now_ns();
        self.limit(None)?;
        send(Round::Ended(Span { began_ns, ended_ns }))
    }

    /// Makes a file with a hole, writes its pages again under the cap, and writes into the hole.
    /// With [`By::Rewritten`], it writes the last page once more, whose write-back has begun.
    ///
    /// The fsync that follows gives the hole blocks, in a transaction of the journal. Before it
    /// ends that transaction, it comes to the last page. If that is written again, it waits for
    /// the write-back of the page, which the cap holds back.
    fn write_again(&self, name: &str) -> io::Result<File> {
        let file = self.open(name, OFlags::TRUNC)?;
        let last = self.spec.pages - 1;
        let hole = last - 1;
        let with_data = || (0..hole).chain([last]);
        with_data().try_for_each(|page| self.write_page(&file, page))?;
        file.sync_all()?;
        self.limit(Some(self.spec.cap))?;
        with_data().try_for_each(|page| self.write_page(&file, page))?;
        write_back::begin(&file)?;
        if self.spec.by == By::Rewritten {
            self.write_page(&file, last)?;
        }
        self.write_page(&file, hole)?;
        Ok(file)
    }

    /// Writes a new file without extents under the cap. In the mode data=ordered, which is usual,
    /// a commit of the journal waits for its data.
    fn write_new(&self, name: &str) -> io::Result<File> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let file = self.open(name, OFlags::EXCL)?;
        let extents = IFlags::from_bits_retain(EXTENTS);
        ioctl_setflags(&file, ioctl_getflags(&file)?.difference(extents))?;
        self.limit(Some(self.spec.cap))?;
        (0..self.spec.pages).try_for_each(|page| self.write_page(&file, page))?;
        Ok(file)
    }

    fn open(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.folder, name, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Writes the page of this number, counted from zero.
    fn write_page(&self, file: &File, number: u64) -> io::Result<()> {
        file.write_all_at(&self.data, number * self.data.len() as u64)
    }

    /// Sets the cap of the group, or removes it.
    fn limit(&self, cap: Option<u64>) -> io::Result<()> {
        (&self.limits).write_all(limit(&self.spec.disk, cap).as_bytes())
    }
}

/// The text that limits how much a group may write to a disk.
pub(super) fn limit(disk: &str, cap: Option<u64>) -> String {
    match cap {
        Some(cap) => format!("{disk} wbps={cap}"),
        None => format!("{disk} wbps=max"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use testing::Tree;

    /// Larger than a block of the file system.
    const PAGE: usize = 16 << 10;

    fn writer(tree: &Tree, by: By) -> Writer {
        let spec = WriterSpec {
            procs: tree.path("group/cgroup.procs"),
            limits: tree.path("group/io.max"),
            disk: "7:3".to_owned(),
            cap: 4096,
            by,
            pages: 4,
            folder: tree.path("files"),
        };
        Writer::join(spec, PAGE).unwrap()
    }

    #[test]
    fn a_round_is_prepared_without_a_cap_and_written_under_it() {
        for by in [By::Rewritten, By::Once] {
            let files = [("group/cgroup.procs", ""), ("group/io.max", ""), ("files/other", "")];
            let tree = Tree::new(&files);
            let sent = RefCell::new(Vec::new());
            let send = |round: Round| -> io::Result<()> {
                sent.borrow_mut().push(round);
                Ok(())
            };
            let writer = writer(&tree, by);
            writer.round(0, &send).unwrap();
            writer.round(1, &send).unwrap();
            let text = |path: &str| std::fs::read_to_string(tree.path(path)).unwrap();
            assert_eq!(text("group/cgroup.procs"), "0");
            // A plain file keeps what was written before, unlike a file of a group.
            assert_eq!(text("group/io.max"), "7:3 wbps=40967:3 wbps=max".repeat(2));
            for file in ["files/writer-0", "files/writer-1"] {
                assert_eq!(text(file), "w".repeat(4 * PAGE), "the hole is filled");
            }
            let sent = sent.into_inner();
            let [Round::Began { at_ns }, Round::Ended(span), _, _] = sent[..] else { panic!() };
            assert!(span.began_ns == at_ns && span.ended_ns >= at_ns, "{sent:?}");
        }
    }

    #[test]
    fn a_call_that_fails_ends_the_rounds() {
        let files = [("group/cgroup.procs", ""), ("group/io.max", ""), ("files/writer-0/x", "")];
        let tree = Tree::new(&files);
        let error = writer(&tree, By::Once).go_on(&|_| panic!("no round ends"));
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        assert!(prepare(serde_json::json!({"by": "twice"})).is_err());
        let tree = Tree::new(&[("group/cgroup.procs", "")]);
        let spec = WriterSpec {
            procs: tree.path("group/cgroup.procs"),
            limits: "/nowhere/io.max".into(),
            disk: "7:3".to_owned(),
            cap: 1,
            by: By::Once,
            pages: 3,
            folder: tree.path("group"),
        };
        let Err(refused) = Writer::join(spec.clone(), PAGE) else { panic!() };
        assert!(refused.what.starts_with("/nowhere/io.max: "), "{}", refused.what);
        assert!(Writer::join(WriterSpec { pages: 2, ..spec }, PAGE).is_err());
    }
}
