//! Keeps the records of runs for inspection, in a folder that one session uses at a time.

use crate::TruthError;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A locked folder of records.
pub struct Records {
    folder: PathBuf,
    _lock: File,
}

impl Records {
    /// Locks a folder. It is created if it does not exist.
    ///
    /// # Errors
    /// If it cannot be written, or if another process holds the lock.
    pub fn open(folder: &Path) -> Result<Self, TruthError> {
        std::fs::create_dir_all(folder).map_err(|e| TruthError::file(folder, e))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(|e| TruthError::file(&path, e))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| TruthError::Busy(folder.to_owned()))?;
        Ok(Records { folder: folder.to_owned(), _lock: lock })
    }

    /// Stores the record of a run of a row. Returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, row: &str, run: u32, record: &str) -> Result<PathBuf, TruthError> {
        let path = self.folder.join("records").join(row).join(format!("{run:04}.json.gz"));
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            let mut gz = GzEncoder::new(File::create(&path)?, Compression::default());
            gz.write_all(record.as_bytes())?;
            gz.finish()?.sync_all()
        };
        write().map_err(|e| TruthError::file(&path, e))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_and_the_folder_is_used_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        assert!(matches!(Records::open(folder.path()), Err(TruthError::Busy(_))));
        let path = records.keep("row", 3, "{}").unwrap();
        let mut text = String::new();
        let mut gz = flate2::read::GzDecoder::new(File::open(&path).unwrap());
        std::io::Read::read_to_string(&mut gz, &mut text).unwrap();
        assert_eq!(text, "{}");
        assert!(path.ends_with("records/row/0003.json.gz"), "{}", path.display());
    }
}
