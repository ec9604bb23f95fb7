//! The files of a fleet, by number.

use crate::texts::{Texts, plain};

/// Bytes of the names of files that are kept, at most; further ones have one name together.
const MOST_FILE_BYTES: usize = 128 << 20;

/// The name of files beyond that.
const OTHER_FILES: &str = "another file";

/// The files that were read.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The names of those with a record that counts, or did.
    names: Texts,
    /// The name of the one that is being read.
    name: String,
    /// Its number, once it has one.
    number: Option<u32>,
    count: u64,
}

impl Files {
    /// One more; an entry of an archive is no file of its own. Its name is that of others, and what
    /// holds no record that counts has no number: an archive may have millions of these.
    pub(crate) fn begin(&mut self, name: &str, is_file: bool) {
        self.count += u64::from(is_file);
        self.name.clear();
        self.name.push_str(&plain(name));
        self.number = None;
    }

    /// The number of the one that is being read.
    pub(crate) fn number(&mut self) -> u32 {
        let fits = self.names.bytes() + self.name.len() <= MOST_FILE_BYTES;
        let last = (self.names.len() as u32).saturating_sub(1);
        let number = self.number.unwrap_or_else(|| match self.names.get(last) {
            _ if fits => self.names.push(&self.name),
            OTHER_FILES => last,
            _ => self.names.push(OTHER_FILES),
        });
        self.number = Some(number);
        number
    }

    /// The name of the one that is being read.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name of the one with this number.
    pub(crate) fn name_of(&self, number: u32) -> &str {
        self.names.get(number)
    }

    /// How many were read.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_a_record_take_room() {
        let mut files = Files::default();
        for number in 0..1000 {
            files.begin(&format!("fleet.tar:{number}"), false);
        }
        assert_eq!((files.names.len(), files.count()), (0, 0));
        files.begin("a\u{1b}[2J\n.json", true);
        assert_eq!((files.number(), files.number(), files.name_of(0)), (0, 0, "a [2J .json"));
        assert_eq!((files.names.len(), files.count()), (1, 1));
    }

    #[test]
    fn names_of_files_end() {
        let mut files = Files::default();
        files.names.push(&"x".repeat(MOST_FILE_BYTES - 8));
        let mut number = |name: &str| {
            files.begin(name, true);
            files.number()
        };
        let numbers = ["a", "b", "too long for that", "c", "another"].map(&mut number);
        assert_eq!(numbers, [1, 2, 3, 3, 3]);
        assert_eq!((files.name_of(3), files.count()), (OTHER_FILES, 5));
    }
}
