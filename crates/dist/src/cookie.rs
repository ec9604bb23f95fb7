//! A node's cookie: read from a file, shown nowhere.

use crate::error::DistError;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The longest cookie, in bytes: the longest atom.
const MOST: u64 = 1_020;

/// Permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// The cookie file of Debian's RabbitMQ.
const RABBIT: &str = "/var/lib/rabbitmq/.erlang.cookie";

/// A cookie, and the owner of its file. No text that is made of it shows the cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct Cookie {
    text: String,
    owner: u32,
}

/// Whose files may hold the cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Files of the caller or of root.
    Own,
    /// Files of any user, because that user was chosen. Only nodes of that user get proofs of this
    /// cookie.
    Anybody,
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie(..)")
    }
}

impl Cookie {
    /// Reads a cookie from a file, as Erlang does: up to the end of the line, and only if nobody
    /// but the owner may use the file.
    ///
    /// # Errors
    /// If the file cannot be read, is open to others, belongs to somebody else, or holds no cookie.
    pub fn read(path: &Path, whose: Owner) -> Result<Self, DistError> {
        let wrong = |why: &str| DistError::Cookie(path.to_owned(), why.to_owned());
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path);
        let file = file.map_err(|error| wrong(&error.to_string()))?;
        let about = file.metadata().map_err(|error| wrong(&error.to_string()))?;
        if let Some(why) = objection(&about, whose) {
            return Err(wrong(&why));
        }
        let mut text = String::new();
        let read = file.take(MOST + 2).read_to_string(&mut text);
        read.map_err(|error| wrong(&error.to_string()))?;
        match cookie_in(&text) {
            Some(cookie) => Ok(Cookie { text: cookie.to_owned(), owner: about.uid() }),
            None => Err(wrong("it contains no valid cookie")),
        }
    }

    /// The default places of a cookie: the user's own file, then that of Debian's RabbitMQ, which
    /// belongs to its own user.
    pub fn usual_places() -> Vec<(PathBuf, Owner)> {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".erlang.cookie"));
        let rabbit = (PathBuf::from(RABBIT), Owner::Anybody);
        home.map(|file| (file, Owner::Own)).into_iter().chain([rabbit]).collect()
    }

    /// Whether a port of this user may get a proof of the cookie. The owner of the file may. The
    /// caller may, if the file belongs to the caller or to root. An id that stands for several
    /// users may not. Root may not get a proof of the cookie of another user: a program of root may
    /// only pass connections on, such as docker-proxy, to whatever a container runs.
    pub(crate) fn is_for(&self, uid: u32) -> bool {
        let us = rustix::process::geteuid().as_raw();
        let is_ours = self.owner == us || self.owner == 0;
        let is_allowed = uid == self.owner || is_ours && uid == us;
        is_allowed && !os::user::means_several(uid)
    }

    /// The owner of its file.
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// This cookie, from a file of this user.
    #[cfg(test)]
    pub(crate) fn of(text: &str, owner: u32) -> Self {
        Cookie { text: text.to_owned(), owner }
    }
}

/// The cookie in this text, by the rules of `auth.erl`; None if there is none. Blanks belong to it,
/// even those at the end of its line. Only ends of lines and blanks may follow.
fn cookie_in(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !matches!(letter, ' '..='~')).unwrap_or(text.len());
    let (cookie, rest) = text.split_at(end);
    let is_alone = rest.chars().all(|letter| matches!(letter, '\n' | '\r' | ' '));
    (is_alone && !cookie.is_empty() && cookie.len() as u64 <= MOST).then_some(cookie)
}

/// What is wrong with the file; None if it can be used.
fn objection(about: &Metadata, whose: Owner) -> Option<String> {
    let us = rustix::process::geteuid().as_raw();
    let (owner, mode) = (about.uid(), about.mode());
    if !about.is_file() {
        return Some("not a file".to_owned());
    }
    if mode & OTHERS != 0 {
        let mode = mode & 0o7777;
        return Some(format!("its group or others can use it (mode {mode:04o}); chmod 400 it"));
    }
    let is_other = whose == Owner::Own && owner != us && owner != 0;
    is_other.then(|| format!("owned by user {owner}, not by user {us}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    /// A file with this text that only its owner may use.
    fn written(folder: &Path, text: &str) -> PathBuf {
        let file = folder.join("cookie");
        std::fs::write(&file, text).unwrap();
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        file
    }

    #[test]
    fn a_cookie_is_read_as_erlang_does_and_shown_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| Cookie::read(&written(folder.path(), text), Owner::Own);
        let cookie = read("GEHEIM\n").unwrap();
        assert_eq!(cookie.as_str(), "GEHEIM");
        assert!(!format!("{cookie:?}").contains("GEHEIM"));
        assert_eq!(read("GE HEIM \r\n \n").unwrap().as_str(), "GE HEIM ");
        for wrong in ["", "\n", "a\nb", "a\tb", "GEHÉIM", &"x".repeat(2_000)] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("no valid cookie") && !error.contains('\n'), "{error}");
        }
        assert!(Cookie::read(folder.path(), Owner::Anybody).is_err());
        assert!(Cookie::read(Path::new("/dev/zero"), Owner::Anybody).is_err());
    }

    #[test]
    fn a_file_that_others_may_use_is_refused_as_erlang_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), "GEHEIM");
        for (mode, is_taken) in [(0o400, true), (0o600, true), (0o640, false), (0o604, false)] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let read = Cookie::read(&file, Owner::Anybody).map_err(|error| error.to_string());
            assert_eq!(read.is_ok(), is_taken, "{mode:o}: {read:?}");
            assert!(read.map_or_else(|why| why.contains("chmod 400"), |_| true));
        }
    }

    #[test]
    fn a_cookie_of_another_user_is_for_that_user_alone_and_has_to_be_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), "GEHEIM");
        let us = rustix::process::geteuid().as_raw();
        let own = Cookie::read(&file, Owner::Own).unwrap();
        assert!(own.is_for(us) && !own.is_for(us + 1_000));
        assert!(Cookie::of("GEHEIM", 0).is_for(0) && !Cookie::of("GEHEIM", us + 1).is_for(0));
        if !rustix::process::geteuid().is_root() || chown(&file, Some(4_000), None).is_err() {
            return testing::skipped("only root can give a file away");
        }
        let error = Cookie::read(&file, Owner::Own).unwrap_err().to_string();
        assert!(error.contains("owned by user 4000, not by user 0"), "{error}");
        let theirs = Cookie::read(&file, Owner::Anybody).unwrap();
        assert!(theirs.is_for(4_000) && !theirs.is_for(0) && !theirs.is_for(1_000));
        // The caller's own port does not belong to that user.
        assert!(!Cookie::of("GEHEIM", us + 1).is_for(us));
    }
}
