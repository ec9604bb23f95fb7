//! Small parsers for untrusted text.

use crate::roots;
use std::path::Path;

/// Longest name that is kept, in characters: that of a path.
const LONGEST_NAME: usize = 4096;

/// The number in a file that contains only a number.
pub(crate) fn number_in(path: &Path) -> Option<u64> {
    roots::read_text(path).ok()?.trim().parse().ok()
}

/// The name in a file that contains only a name.
pub(crate) fn name_in(path: &Path) -> Option<String> {
    tidy(&roots::read_text(path).ok()?)
}

/// The value of the first line `key: value`, without the blanks around key and value.
pub(crate) fn colon_field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

/// The number of the first line `key number`.
pub(crate) fn counter(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.trim().parse().ok())
}

/// A name fit for a terminal and a record: one line, no control characters, bounded length; None
/// if nothing is left.
pub(crate) fn tidy(text: &str) -> Option<String> {
    let first = text.trim().lines().next()?;
    let name: String = os::terminal::line(first).chars().take(LONGEST_NAME).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        assert_eq!(colon_field("flagsish: 1\nflags\t: a b \n", "flags"), Some("a b"));
        assert_eq!(counter("a 1\nab 2\n", "ab"), Some(2));
        assert_eq!(counter("ab\nab -2\n", "ab"), None);
    }

    #[test]
    fn names_lose_what_a_terminal_would_obey() {
        assert_eq!(tidy(" AMD\u{1b}[2J EPYC\nmore"), Some("AMD [2J EPYC".into()));
        assert_eq!(tidy(" \n \u{7}"), None);
        assert_eq!(tidy(&"x".repeat(9999)).map(|name| name.len()), Some(LONGEST_NAME));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text in ".*", key in ".{0,3}") {
            let _ = colon_field(&text, &key);
            let _ = counter(&text, &key);
            prop_assert!(tidy(&text).is_none_or(|name| !name.chars().any(os::terminal::steers)));
        }
    }
}
