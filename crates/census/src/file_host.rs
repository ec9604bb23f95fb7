//! Determines the host of the records in a file.
//!
//! A host controls the content that it sends, but not the name of the file in which a collecting
//! tool stores it. So a file that was found in a folder or an archive speaks only for the host of
//! its name. A file that the user named, or standard input, may hold the records of many hosts.

use crate::texts::plain;
use std::borrow::Cow;
use std::fmt;

/// The length of the hash of a host name, in hexadecimal digits.
const HASH: usize = 32;

/// How a file was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// The user named it, or it is standard input: it may speak for many hosts.
    Named,
    /// It was found in a folder or an archive: it speaks for one host.
    Found,
}

/// Computes the same salted hash of a host name as the host itself.
#[derive(Clone, Copy)]
pub struct Hashing<'a>(pub &'a (dyn Fn(&str) -> String + Sync));

impl fmt::Debug for Hashing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hashing")
    }
}

/// The evidence that a record is of a host, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    /// Only the record.
    Record,
    /// Also the name of its file, and the user named that file.
    Name,
    /// The name of its file, which was found in a folder or an archive.
    File,
}

/// The host that a file is named after.
#[derive(Debug)]
pub(crate) struct FileHost {
    /// Its name.
    host: Box<str>,
    /// The salted hash of its name.
    hashed: Option<Box<str>>,
    given: Given,
}

impl FileHost {
    /// The host that a file is named after.
    pub(crate) fn new(host: &str, given: Given, hashing: Option<Hashing>) -> Self {
        let hashed = hashing.map(|Hashing(hash)| hash(host).into());
        FileHost { host: plain(host).into(), hashed, given }
    }

    /// Whether the file speaks only for this host.
    pub(crate) fn is_alone(&self) -> bool {
        self.given == Given::Found
    }

    /// The host that a record counts for, if the record claims to be of `claimed`. None if the
    /// file speaks for another host. `line` is 0 if the file is one record. Where host names are
    /// hashed, `claimed` is a hash. The file may be named after the host, or after the hash.
    pub(crate) fn host_of<'a>(
        &'a self,
        claimed: Option<&'a str>,
        line: u32,
    ) -> Option<(Cow<'a, str>, By)> {
        let is_own = |name: &str| match self.hashed.as_deref() {
            Some(hashed) => name == hashed || is_hash(name) && *name == *self.host,
            None => *name == *self.host,
        };
        let own = || Cow::Borrowed(self.hashed.as_deref().unwrap_or(&self.host));
        match (claimed, self.given) {
            (Some(name), Given::Found) => is_own(name).then_some((Cow::Borrowed(name), By::File)),
            (None, Given::Found) => Some((own(), By::File)),
            (Some(name), Given::Named) if is_own(name) => Some((Cow::Borrowed(name), By::Name)),
            (Some(name), Given::Named) => Some((Cow::Borrowed(name), By::Record)),
            (None, Given::Named) if line == 0 => Some((own(), By::Name)),
            (None, Given::Named) => Some((format!("{}:{line}", self.host).into(), By::Record)),
        }
    }
}

/// Whether a text has the form of the hash of a host name ([`model::identity::HostName`]).
fn is_hash(text: &str) -> bool {
    text.len() == HASH && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(given: Given, hash: bool, claimed: Option<&str>, line: u32) -> Option<(String, By)> {
        let hashing = hash.then_some(Hashing(&|name: &str| format!("#{name}")));
        let file_host = FileHost::new("web1", given, hashing);
        file_host.host_of(claimed, line).map(|(host, by)| (host.into_owned(), by))
    }

    fn some(host: &str, by: By) -> Option<(String, By)> {
        Some((host.to_owned(), by))
    }

    #[test]
    fn a_file_that_was_found_speaks_for_one_host() {
        assert_eq!(told(Given::Found, false, Some("web1"), 3), some("web1", By::File));
        assert_eq!(told(Given::Found, false, Some("web2"), 3), None);
        assert_eq!(told(Given::Found, false, None, 3), some("web1", By::File));
        assert_eq!(told(Given::Found, false, Some("#web1"), 3), None);
        assert_eq!(told(Given::Found, true, Some("#web1"), 3), some("#web1", By::File));
        assert_eq!(told(Given::Found, true, Some("#web2"), 3), None);
        assert_eq!(told(Given::Found, true, None, 0), some("#web1", By::File));
    }

    /// `--into` names a file after the hash that its records have.
    #[test]
    fn a_file_may_be_named_after_the_hash_of_its_host() {
        let hash = "0123456789abcdef0123456789abcdef";
        let hashing = Some(Hashing(&|name: &str| format!("#{name}")));
        let of = |file: &str, given, claimed: &str| {
            let file_host = FileHost::new(file, given, hashing);
            file_host.host_of(Some(claimed), 3).map(|(host, by)| (host.into_owned(), by))
        };
        assert_eq!(of(hash, Given::Found, hash), some(hash, By::File));
        assert_eq!(of(hash, Given::Named, hash), some(hash, By::Name));
        // A host may call its name a hash. That makes no second host of it.
        assert_eq!(of("web1", Given::Found, "web1"), None);
    }

    #[test]
    fn a_file_that_was_named_may_speak_for_many() {
        assert_eq!(told(Given::Named, false, Some("web2"), 3), some("web2", By::Record));
        assert_eq!(told(Given::Named, false, Some("web1"), 3), some("web1", By::Name));
        assert_eq!(told(Given::Named, false, None, 0), some("web1", By::Name));
        assert_eq!(told(Given::Named, false, None, 3), some("web1:3", By::Record));
        assert_eq!(told(Given::Named, true, Some("#web1"), 3), some("#web1", By::Name));
    }

    #[test]
    fn a_name_of_others_steers_nothing() {
        let file_host = FileHost::new("we\u{1b}[2Jb\n\u{202e}1", Given::Found, None);
        assert_eq!(file_host.host_of(None, 0).unwrap().0, "we [2Jb  1");
    }
}
