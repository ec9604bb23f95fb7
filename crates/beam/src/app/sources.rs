//! The sources of the Erlang application that this binary contains.

use crate::error::BeamError;
use host::Bench;
use os::user::User;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The script that the target's own VM evaluates to compile the other sources.
const BUILD: &[u8] = include_bytes!("build.script");

/// The name of [`BUILD`] in the application's folder.
pub(super) const BUILD_NAME: &str = "build.script";

/// The prefix of a cache folder in which something is being made.
pub(super) const BUILDING: &str = ".building-";

/// Largest compiled file that is accepted, in bytes; tailback's files have some ten thousand.
pub(super) const MOST: u64 = 16 << 20;

/// Files with their paths inside the application's folder.
#[derive(Debug, Clone)]
pub(super) struct Sources(pub Vec<(String, Vec<u8>)>);

impl Sources {
    pub fn embedded() -> Self {
        let files = EMBEDDED.iter().map(|(name, text)| ((*name).to_owned(), text.to_vec()));
        Sources(files.collect())
    }

    /// Sixteen hexadecimal digits that change with any source or with the way to compile it.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for (name, text) in self.files() {
            // With the lengths, two different lists of files never yield the same bytes.
            for part in [name.as_bytes(), text] {
                hasher.update((part.len() as u64).to_be_bytes());
                hasher.update(part);
            }
        }
        hex::encode(&hasher.finalize()[..8])
    }

    /// The names of the C sources, without the file name ending.
    pub fn nifs(&self) -> impl Iterator<Item = &str> {
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.filter_map(|name| name.strip_prefix("c_src/")?.strip_suffix(".c"))
    }

    /// The names of the Erlang sources, without the file name ending.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.filter_map(|name| name.strip_prefix("src/")?.strip_suffix(".erl"))
    }

    /// All files with the build script, and their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.0.iter().map(|(name, text)| (&**name, &**text));
        files.chain([(BUILD_NAME, BUILD)])
    }

    /// A folder in the cache with all files, in which `user` compiles, or the caller if there is
    /// none.
    pub fn bench(&self, cache: &Path, user: Option<User>) -> std::io::Result<Bench> {
        Bench::new(cache, BUILDING, self.files(), user)
    }

    /// Writes the files below `folder`.
    pub fn write(&self, folder: &Path) -> Result<(), BeamError> {
        for (name, text) in self.files() {
            let path = folder.join(name);
            let failed = |source| BeamError::File { path: path.clone(), what: "write it", source };
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            fs::write(&path, text).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Sources {
        Sources(files.iter().map(|(n, t)| ((*n).to_owned(), t.as_bytes().to_vec())).collect())
    }

    #[test]
    fn the_hash_tells_names_and_contents_apart() {
        let hash = of(&[("a", "bc")]).hash();
        assert_eq!(hash, of(&[("a", "bc")]).hash());
        assert_eq!(hash.len(), 16);
        for other in [of(&[("ab", "c")]), of(&[("a", "b")]), of(&[]), of(&[("a", ""), ("b", "c")])]
        {
            assert_ne!(hash, other.hash());
        }
    }

    #[test]
    fn the_binary_carries_its_end_of_the_wire() {
        let sources = Sources::embedded();
        assert!(sources.0.iter().any(|(name, _)| name == "src/tailback_port.erl"));
        let nifs = of(&[("c_src/a.c", ""), ("c_src/a.h", ""), ("src/b.c", "")]);
        assert_eq!(nifs.nifs().collect::<Vec<_>>(), ["a"]);
    }
}
