//! A folder that stands for the root of a machine.

use std::path::{Path, PathBuf};

/// What tells that a machine has cgroup v2 alone, and that we are in its topmost group.
pub const CGROUP2: [(&str, &str); 2] = [
    ("proc/self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("proc/self/cgroup", "0::/\n"),
];

/// A folder of files; it goes with its value.
#[derive(Debug)]
pub struct Tree(tempfile::TempDir);

impl Tree {
    /// A folder with these files, and the folders that they are in.
    ///
    /// # Panics
    ///
    /// Where no file can be written.
    pub fn new<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Self {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("a temporary folder: {error}"));
        let tree = Tree(dir);
        files.iter().for_each(|(path, content)| tree.put(path, content));
        tree
    }

    /// Writes a file.
    ///
    /// # Panics
    ///
    /// Where it cannot be written.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        let written = std::fs::create_dir_all(path.parent().unwrap_or(self.root()))
            .and_then(|()| std::fs::write(&path, content));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Where a file or folder is; a leading slash stands for the root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.0.path()
    }
}
