//! The records that `--ring` writes: new files beside each other, limited in number and size.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// The highest number of a record, over all runs. A watch that is restarted again and again must
/// not fill a folder.
const LAST: u32 = 999;

/// Size limit of the records of all runs together, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The records of one run. Each is a new file beside the existing ones.
pub struct Files {
    /// The file named by the user.
    pub named: PathBuf,
    /// The number of the next record.
    next: u32,
    most_bytes: u64,
}

impl Files {
    /// The records beside this file.
    pub fn new(named: &Path) -> Self {
        Files { named: named.to_owned(), next: 0, most_bytes: MOST_BYTES }
    }

    /// Writes a record under the next free name and returns its path.
    ///
    /// # Errors
    /// If it cannot be written, or the records would be too many or too large.
    pub fn write(&mut self, text: &str) -> io::Result<PathBuf> {
        let mut number = self.next;
        let names = (self.next..=LAST).inspect(|taken| number = *taken);
        let names = names.map(|number| name(&self.named, number));
        let folder = crate::paths::folder_of(&self.named);
        let taken = self.bytes();
        if text.len() as u64 > self.most_bytes.saturating_sub(taken) {
            return Err(io::Error::other(format!(
                "the records of this name take {} MiB, and this one would exceed the limit of {} \
                 MiB, so move older records away",
                taken >> 20,
                self.most_bytes >> 20
            )));
        }
        let Some(name) = runner::create_text(text, &folder, names)? else {
            // Records with lower numbers may have been moved away meanwhile.
            if std::mem::take(&mut self.next) > 0 {
                return self.write(text);
            }
            return Err(io::Error::other(format!(
                "no name up to {} is free, so move older records away",
                name(&self.named, LAST).to_string_lossy()
            )));
        };
        self.next = number + 1;
        Ok(self.named.with_file_name(name))
    }

    /// Size of the records of all runs.
    fn bytes(&self) -> u64 {
        let paths = (0..=LAST).map(|number| self.named.with_file_name(name(&self.named, number)));
        let there = paths.filter_map(|path| path.symlink_metadata().ok());
        there.filter(Metadata::is_file).map(|of| of.len()).fold(0, u64::saturating_add)
    }
}

/// The file name of a record: first the name from the user, then the same name with a number.
fn name(named: &Path, number: u32) -> OsString {
    if number == 0 {
        return named.file_name().unwrap_or_default().to_owned();
    }
    let mut name = named.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(end) = named.extension() {
        name.push(".");
        name.push(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stand_beside_each_other_and_beside_those_of_earlier_runs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut first = Files::new(&at("b.json"));
        assert_eq!(first.write("1").unwrap(), at("b.json"));
        assert_eq!(first.write("2").unwrap(), at("b-1.json"));
        std::fs::create_dir(at("b-2.json")).unwrap();
        let mut later = Files::new(&at("b.json"));
        assert_eq!(later.write("3").unwrap(), at("b-3.json"));
        assert_eq!(first.write("4").unwrap(), at("b-4.json"));
        let read = |name| std::fs::read_to_string(at(name)).unwrap();
        assert_eq!(["b.json", "b-1.json", "b-3.json", "b-4.json"].map(read), ["1", "2", "3", "4"]);
        // The numbers have a limit.
        later.next = LAST;
        assert_eq!(later.write("5").unwrap(), at("b-999.json"));
        // The name of a removed record is used again.
        std::fs::remove_file(at("b-3.json")).unwrap();
        assert_eq!(later.write("6").unwrap(), at("b-3.json"));
        for number in 5..LAST {
            std::fs::write(folder.path().join(name(&at("b.json"), number)), "x").unwrap();
        }
        let error = later.write("6").unwrap_err().to_string();
        assert!(error.contains("b-999.json"), "{error}");
        std::fs::remove_file(at("b.json")).unwrap();
        assert_eq!(later.write("7").unwrap(), at("b.json"));
        assert_eq!(name(Path::new("/a/b"), 7), "b-7");
    }

    #[test]
    fn together_they_take_no_more_than_their_share_of_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("other.json"), "1234567890").unwrap();
        // A record of an earlier run.
        std::fs::write(at("b-7.json"), "1234").unwrap();
        let mut files = Files { most_bytes: 10, ..Files::new(&at("b.json")) };
        assert_eq!(files.write("123456").unwrap(), at("b.json"));
        let error = files.write("1").unwrap_err().to_string();
        assert!(error.contains("move older records away"), "{error}");
        std::fs::remove_file(at("b-7.json")).unwrap();
        assert_eq!(files.write("1234").unwrap(), at("b-1.json"));
    }
}
