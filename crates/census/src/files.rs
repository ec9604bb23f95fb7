//! The files of a fleet, by number.

use crate::texts::{Texts, plain};

/// Most bytes of file names that are kept. All further files share one name.
const MOST_FILE_BYTES: usize = 128 << 20;

/// The shared name of all further files.
const OTHER_FILES: &str = "another file";

/// The files that were read.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The names of files with a record that counts or has counted.
    names: Texts,
    /// The name of the current file.
    name: String,
    /// The number of the current file, once it has one.
    number: Option<u32>,
    count: u64,
}

impl Files {
    /// Begins the next file, or the next entry of an archive. An entry does not count as a file.
    /// Its name may come from others. A file gets a number only when it has a record that counts,
    /// since an archive may have millions of entries without one.
    pub(crate) fn begin(&mut self, name: &str, is_file: bool) {
        self.count += u64::from(is_file);
        self.name.clear();
        self.name.push_str(&plain(name));
        self.number = None;
    }

    /// The number of the current file.
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

    /// The name of the current file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name of the file with this number.
    pub(crate) fn name_of(&self, number: u32) -> &str {
        self.names.get(number)
    }

    /// The number of files that were read.
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
