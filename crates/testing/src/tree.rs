//! A folder that stands for the root of a machine.

use std::path::{Path, PathBuf};

/// The files that show that a machine has only cgroup v2, and that this process is in the root
/// group.
pub const CGROUP2: [(&str, &str); 2] = [
    ("proc/self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("proc/self/cgroup", "0::/\n"),
];

/// A folder of files. It is deleted when this value is dropped.
#[derive(Debug)]
pub struct Tree(tempfile::TempDir);

impl Tree {
    /// A folder with these files, and the folders that they are in.
    ///
    /// # Panics
    ///
    /// If a file cannot be written.
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
    /// If it cannot be written.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        let written = std::fs::create_dir_all(path.parent().unwrap_or(self.root()))
            .and_then(|()| std::fs::write(&path, content));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// The path of a file or folder. A leading slash is the root of the tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.0.path()
    }
}
