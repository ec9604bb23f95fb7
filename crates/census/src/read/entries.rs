//! The files of a tar archive. Their names are only shown; no file is opened by such a name.

use super::host::{host_of, shown};
use super::item::{Begin, Form, Item, Text};
use super::source::{Source, is_archive, is_packed, whole, why};
use crate::file_host::{FileHost, Given};
use model::census::Why;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Most entries of an archive that are read: a folder and a file for each of a million hosts.
const MOST_ENTRIES: usize = 2_000_000;

/// The longest name of an entry that is shown, in characters.
const LONGEST_NAME: usize = 255;

/// The entries of an archive. An archive that the user named has one file or folder per host. An
/// archive that was found in a folder speaks for one host, whatever it contains.
pub(super) fn entries(bytes: &mut dyn Read, of: &Source, take: &mut dyn FnMut(Item)) {
    first_entries(bytes, of, MOST_ENTRIES, take);
}

/// The same with at most `most` entries.
fn first_entries(bytes: &mut dyn Read, of: &Source, most: usize, take: &mut dyn FnMut(Item)) {
    let mut archive = tar::Archive::new(bytes);
    // The archive counts as one file, whatever it contains.
    let begins = |take: &mut dyn FnMut(Item)| {
        let text = Text {
            begins: Some(Begin::file(of.name)),
            file_host: Arc::clone(&of.file_host),
            form: Form::Lines,
            bytes: Vec::new(),
        };
        take(Item::Text(text));
    };
    begins(take);
    let failed = |why: Why| Item::Failed { begins: Some(Begin::entry(of.name)), why };
    // Raw entries, since otherwise a long entry name is read into memory, however long it is.
    let Ok(all) = archive.entries().map(|entries| entries.raw(true)) else {
        return take(failed(Why::Damaged));
    };
    for (place, entry) in all.enumerate() {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return take(failed(why(&error))),
        };
        if place >= most {
            return take(failed(Why::TooManyEntries));
        }
        // An empty entry costs no more than its header.
        let size = entry.size();
        if !entry.header().entry_type().is_file() || size == 0 {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path: String = path.chars().take(LONGEST_NAME).collect();
        let file_host = file_host(&path, of);
        let begins = Some(Begin::entry(&format!("{}:{}", of.name, shown(&path, of.hashing))));
        take(match whole(&mut entry) {
            // Nothing inside an archive is unpacked again, since the result could have any size.
            Ok(bytes) if is_packed(&bytes) || is_archive(&bytes) => {
                Item::Failed { begins, why: Why::Damaged }
            }
            // The archive ends before the entry does.
            Ok(bytes) if (bytes.len() as u64) < size => {
                return take(Item::Failed { begins, why: Why::Truncated });
            }
            Ok(bytes) => Item::Text(Text { begins, file_host, form: Form::of(&bytes), bytes }),
            Err(why) => Item::Failed { begins, why },
        });
    }
}

/// The host that an entry speaks for.
fn file_host(path: &str, of: &Source) -> Arc<FileHost> {
    match of.file_host.is_alone() {
        true => Arc::clone(&of.file_host),
        false => FileHost::new(&host_of(Path::new(path)), Given::Found, of.hashing).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most entries that this test reads.
    const MOST: usize = 10_000;

    fn header(name: &str, size: u64) -> [u8; 512] {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_size(size);
        header.set_cksum();
        *header.as_bytes()
    }

    /// The same bytes, repeated several times.
    struct Again {
        bytes: [u8; 512],
        left: usize,
    }

    impl Read for Again {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            let at = self.left % self.bytes.len();
            let start = if at == 0 { 0 } else { self.bytes.len() - at };
            let more = (self.bytes.len() - start).min(bytes.len()).min(self.left);
            bytes[..more].copy_from_slice(&self.bytes[start..start + more]);
            self.left -= more;
            Ok(more)
        }
    }

    fn found(mut bytes: impl Read, given: Given) -> Vec<Item> {
        let file_host = FileHost::new("fleet", given, None).into();
        let mut items = Vec::new();
        let source = Source { name: "fleet.tar", file_host, hashing: None };
        first_entries(&mut bytes, &source, MOST, &mut |item| items.push(item));
        items
    }

    #[test]
    fn entries_in_which_nothing_is_leave_nothing_and_end() {
        let again = |entries: usize| Again { bytes: header("empty.json", 0), left: 512 * entries };
        let behind = [header("web1.json", 1), [b'x'; 512]].concat();
        let items = found(again(MOST - 1).chain(behind.as_slice()), Given::Named);
        assert_eq!(items.len(), 2);
        assert!(matches!(items.last(), Some(Item::Text(text)) if text.bytes == b"x"));
        let items = found(again(MOST).chain(behind.as_slice()), Given::Named);
        let Some(Item::Failed { begins: Some(begin), why: Why::TooManyEntries }) = items.last()
        else {
            panic!("{} items", items.len());
        };
        assert_eq!((&*begin.name, begin.is_file, items.len()), ("fleet.tar", false, 2));
    }

    #[test]
    fn an_archive_that_was_found_speaks_for_one_host() {
        let bytes = [header("web1/brief.json", 1), [b'x'; 512]].concat();
        for (given, host) in [(Given::Named, "web1"), (Given::Found, "fleet")] {
            let items = found(bytes.as_slice(), given);
            let Some(Item::Text(text)) = items.last() else { panic!("{} items", items.len()) };
            assert_eq!(text.file_host.host_of(None, 0).unwrap().0, host);
        }
    }
}
