//! A node's cookie: read from a file, shown nowhere.

use crate::error::DistError;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest cookie, in bytes: that of an atom.
const MOST: u64 = 1_020;

/// A cookie. It is in no text that is made of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Cookie(String);

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie(..)")
    }
}

impl Cookie {
    /// Reads it of a file, as Erlang does: without the end of the line.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no cookie.
    pub fn read(path: &Path) -> Result<Self, DistError> {
        let wrong = |why: &str| DistError::Cookie(path.to_owned(), why.to_owned());
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path);
        let file = file.map_err(|error| wrong(&error.to_string()))?;
        if !file.metadata().is_ok_and(|about| about.is_file()) {
            return Err(wrong("not a file"));
        }
        let mut text = String::new();
        let read = file.take(MOST + 2).read_to_string(&mut text);
        read.map_err(|error| wrong(&error.to_string()))?;
        let cookie = text.trim_end_matches(['\n', '\r', ' ']);
        let plain = cookie.chars().all(|letter| !letter.is_control());
        match !cookie.is_empty() && plain && cookie.len() as u64 <= MOST {
            true => Ok(Cookie(cookie.to_owned())),
            false => Err(wrong("it holds no cookie")),
        }
    }

    /// Where a cookie is where none is named: that of the user, then that of Debian's RabbitMQ.
    pub fn usual_places() -> Vec<PathBuf> {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".erlang.cookie"));
        let rabbit = PathBuf::from("/var/lib/rabbitmq/.erlang.cookie");
        home.into_iter().chain([rabbit]).collect()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_read_as_erlang_does_and_shown_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cookie");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Cookie::read(&file)
        };
        let cookie = read("GEHEIM\n").unwrap();
        assert_eq!(cookie.as_str(), "GEHEIM");
        assert!(!format!("{cookie:?}").contains("GEHEIM"));
        for wrong in ["", "\n", "a\nb", &"x".repeat(2_000)] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("no cookie") && !error.contains('\n'), "{error}");
        }
        assert!(Cookie::read(folder.path()).is_err());
        assert!(Cookie::read(Path::new("/dev/zero")).is_err());
    }
}
