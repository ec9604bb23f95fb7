//! Determines the host of the records in a file.
//!
//! A host controls the content that it sends, but not the name of the file in which a collecting
//! tool stores it. So a file that was found in a folder or an archive speaks only for the host of
//! its name. A file that the user named, or standard input, may hold the records of many hosts.

use crate::texts::plain;
use std::borrow::Cow;
use std::fmt;

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

    /// The name of a file below the named folder or in an archive, as it is shown: where host
    /// names are hashed, with the hash in place of the host that it is named after. A file that
    /// the user named is shown under its own name.
    pub(crate) fn shown<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match &self.hashed {
            Some(hashed) if self.given == Given::Found && !self.host.is_empty() => {
                plain(name).replace(&*self.host, hashed).into()
            }
            _ => Cow::Borrowed(name),
        }
    }

    /// Whether the file speaks only for this host.
    pub(crate) fn is_alone(&self) -> bool {
        self.given == Given::Found
    }

    /// The host that a record counts for, if the record claims to be of `claimed`. None if the
    /// file speaks for another host. `line` is 0 if the file is one record. Where host names are
    /// hashed, a record under the plain name counts for the same host as one under its hash.
    pub(crate) fn host_of<'a>(
        &'a self,
        claimed: Option<&'a str>,
        line: u32,
    ) -> Option<(Cow<'a, str>, By)> {
        let is_own = |name: &str| *name == *self.host || self.hashed.as_deref() == Some(name);
        let own = || Cow::Borrowed(self.hashed.as_deref().unwrap_or(&self.host));
        match (claimed, self.given) {
            (Some(name), Given::Found) => is_own(name).then(|| (own(), By::File)),
            (None, Given::Found) => Some((own(), By::File)),
            (Some(name), Given::Named) if is_own(name) => Some((own(), By::Name)),
            (Some(name), Given::Named) => Some((Cow::Borrowed(name), By::Record)),
            (None, Given::Named) if line == 0 => Some((own(), By::Name)),
            (None, Given::Named) => Some((format!("{}:{line}", self.host).into(), By::Record)),
        }
    }
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

    #[test]
    fn a_plain_name_and_its_hash_are_one_host() {
        assert_eq!(told(Given::Found, true, Some("web1"), 3), some("#web1", By::File));
        assert_eq!(told(Given::Named, true, Some("web1"), 3), some("#web1", By::Name));
    }

    #[test]
    fn the_name_of_a_file_shows_no_host_whose_name_is_hashed() {
        let hashing = Some(Hashing(&|name: &str| format!("#{}", name.len())));
        let shown = |given, hashing, name: &str| {
            FileHost::new("web1", given, hashing).shown(name).into_owned()
        };
        assert_eq!(shown(Given::Found, hashing, "web1.jsonl"), "#4.jsonl");
        assert_eq!(shown(Given::Found, hashing, "web1/tmp/web1.json"), "#4/tmp/#4.json");
        assert_eq!(shown(Given::Found, None, "web1.jsonl"), "web1.jsonl");
        assert_eq!(shown(Given::Named, hashing, "web1.jsonl"), "web1.jsonl");
        assert_eq!(FileHost::new("", Given::Found, hashing).shown("a"), "a");
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
