//! Releases of Linux as printed by `uname -r`, and their names in git.

use crate::matrix::numbers;
use std::cmp::Ordering;

/// A kernel release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The version numbers, such as 6, 17, 13. A third number of 0 is left out.
    numbers: Vec<u64>,
    /// The number of the release candidate.
    candidate: Option<u64>,
    /// The number of commits after the tag, in a build from git.
    ahead: u64,
    /// The commit, in a build from git.
    commit: Option<String>,
    /// Whether the numbers end with a distribution's own build count instead of the stable
    /// release: `6.1.0-56-cloud-amd64`, `5.14.0-503.11.1.el9_5.x86_64`.
    counted: bool,
}

/// The range in which a regression was introduced, for the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduced {
    /// `v6.16..v6.17`.
    pub range: String,
    /// Whether both ends are in one stable series.
    pub stable: bool,
    /// Ends of the range that were not measured: the mainline releases on which the measured ones
    /// are based.
    pub not_measured: Vec<String>,
}

impl Release {
    /// Parses a release: `6.17.13+deb13-cloud-amd64`, `6.18.0-rc3-00123-gabcdef012345`, Fedora's
    /// `6.18.0-0.rc3.251027gabcdef012345.29.fc44.x86_64`, Ubuntu's `6.18.0-061800rc3-generic`. None
    /// if it does not begin with two numbers, or if it is a build from git without an exact commit:
    /// `6.18.0+`, `6.18.0-rc2-next-20261120`, `6.18.0-gabcdef012345-dirty`.
    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = model::ladder::version(text);
        numbers.truncate(3);
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let rest = &text[end..];
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse().ok()
        };
        let words: Vec<&str> = rest.split('-').collect();
        let candidate = words.iter().take(2).find_map(|word| {
            let (before, after) = word.split_once("rc")?;
            let is_whole = !before.ends_with(|c: char| c.is_ascii_alphabetic());
            is_whole.then(|| number(after)).flatten()
        });
        let parts: Vec<&str> = rest.split(['-', '.']).collect();
        let place = parts.iter().position(|part| commit_of(part).is_some());
        let commit = place.and_then(|place| commit_of(parts[place])).map(str::to_owned);
        let unnamed = commit.is_none() && (rest.ends_with('+') || words.contains(&"next"));
        let unknown = unnamed || words.contains(&"dirty");
        if numbers.len() < 2 || unknown {
            return None;
        }
        let is_first = numbers.get(2) == Some(&0);
        if is_first {
            numbers.pop();
        }
        let second =
            words.get(1).is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        Some(Release {
            numbers,
            candidate,
            ahead: place.and_then(|place| number(parts.get(place.checked_sub(1)?)?)).unwrap_or(0),
            // A release candidate has no stable releases that a build count could hide.
            counted: is_first && second && commit.is_none() && candidate.is_none(),
            commit,
        })
    }

    fn series(&self) -> &[u64] {
        &self.numbers[..2]
    }

    /// The tag of the mainline release or release candidate on which it is based.
    fn mainline(&self) -> String {
        let [major, minor] = [self.numbers[0], self.numbers[1]];
        match self.candidate {
            Some(number) => format!("v{major}.{minor}-rc{number}"),
            None => format!("v{major}.{minor}"),
        }
    }

    /// The tag of the release itself.
    fn tag(&self) -> String {
        match self.numbers.get(2) {
            Some(patch) => format!("v{}.{}.{patch}", self.numbers[0], self.numbers[1]),
            None => self.mainline(),
        }
    }

    /// Whether it contains more than its mainline tag.
    fn is_beyond_mainline(&self) -> bool {
        self.numbers.len() > 2 || self.counted
    }
}

/// The version numbers of a release. The whole release if it is a release candidate or names a
/// commit: the numbers alone are those of another version.
pub fn short(text: &str) -> &str {
    let is_version = |one: Release| one.candidate.is_none() && one.commit.is_none();
    if Release::read(text).is_some_and(is_version) { numbers(text) } else { text }
}

/// The commit that a part of the release names: `gabcdef012345`, or with Fedora's date before it
/// `251027gabcdef012345` or `20240528gitabcdef012345`.
fn commit_of(part: &str) -> Option<&str> {
    let named = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let hash = named.strip_prefix("git").or_else(|| named.strip_prefix('g'))?;
    let is_hash = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && (7..=40).contains(&hash.len())).then_some(hash)
}

impl PartialOrd for Release {
    /// Compares numbers, release candidates and commits after the tag. None for two different
    /// commits at the same distance from one tag, since they are on different branches. None
    /// within one series if a distribution counts its own builds.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let key = |one: &Self| {
            let candidate = one.candidate.unwrap_or(u64::MAX);
            (one.numbers.clone(), candidate, one.ahead)
        };
        if self.series() == other.series() && self != other && (self.counted || other.counted) {
            return None;
        }
        match key(self).cmp(&key(other)) {
            Ordering::Equal if self != other => None,
            order => Some(order),
        }
    }
}

/// The range in which a regression between two releases was introduced. None if both have the
/// same name in git.
pub fn introduced(good: &Release, bad: &Release) -> Option<Introduced> {
    let one_series = good.series() == bad.series();
    // A stable series branches off from mainline, so everything between two series is in
    // mainline.
    let name = |one: &Release| match &one.commit {
        Some(commit) => commit.clone(),
        None if one_series => one.tag(),
        None => one.mainline(),
    };
    let (from, to) = (name(good), name(bad));
    let is_based = |one: &&Release| !one_series && one.commit.is_none() && one.is_beyond_mainline();
    let stable = one_series && (good.is_beyond_mainline() || bad.is_beyond_mainline());
    (from != to).then(|| Introduced {
        range: format!("{from}..{to}"),
        stable,
        not_measured: [good, bad].into_iter().filter(is_based).map(Release::mainline).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Release {
        Release::read(text).unwrap()
    }

    #[test]
    fn a_release_has_a_tag() {
        let tag = |text| read(text).tag();
        assert_eq!(tag("6.17.13+deb14-cloud-amd64"), "v6.17.13");
        assert_eq!(tag("6.18.0"), "v6.18");
        assert_eq!(tag("7.0-rc3+deb14"), "v7.0-rc3");
        assert_eq!(tag("7.0.0-rc3"), "v7.0-rc3");
        assert_eq!(tag("6.1.0-56-cloud-amd64"), "v6.1", "the 56 is Debian's");
        let git = read("6.18.0-rc3-00123-gabcdef012345");
        assert_eq!((git.commit.as_deref(), git.ahead), (Some("abcdef012345"), 123));
        assert_eq!(read("6.18.5-generic").commit, None);
        let fedora = read("6.18.0-0.rc3.251027gfd57572253bc.29.fc44.x86_64");
        assert_eq!((fedora.commit.as_deref(), fedora.ahead), (Some("fd57572253bc"), 0));
        assert_eq!((fedora.candidate, fedora.counted), (Some(3), false));
        let older = read("6.10.0-0.rc1.20240528git2bfcfd584ff5.17.fc41.x86_64");
        assert_eq!((older.commit.as_deref(), older.candidate), (Some("2bfcfd584ff5"), Some(1)));
        assert_eq!(tag("6.18.0-0.rc3.29.fc44.x86_64"), "v6.18-rc3");
        assert_eq!(tag("6.18.0-061800rc3-generic"), "v6.18-rc3");
        assert_eq!(tag("6.18.0-061800-generic"), "v6.18");
        assert_eq!(read("6.10.0-arch1-1").candidate, None);
        for unknown in ["sid", "6", "6.18.0+", "6.18.0-rc3+", "6.18.0-gabcdef0-dirty"] {
            assert_eq!(Release::read(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn only_a_version_is_shortened_to_its_numbers() {
        assert_eq!(short("6.17.13+deb14-cloud-amd64"), "6.17.13");
        assert_eq!(short("6.18.5-generic"), "6.18.5");
        for whole in ["6.18.0-rc3", "6.18.0-00012-gabcdef012345", "6.18.0+"] {
            assert_eq!(short(whole), whole);
        }
    }

    #[test]
    fn releases_are_ordered_as_they_came() {
        assert!(read("6.16.12") < read("6.17.0-rc1") && read("6.17.0-rc1") < read("6.17"));
        assert!(read("6.17-rc1-00002-gaaaaaaa") < read("6.17-rc1-00010-gbbbbbbb"));
        let unknown = |one, other| assert_eq!(read(one).partial_cmp(&read(other)), None);
        unknown("6.18.0-gaaaaaaa", "6.18.0-gbbbbbbb");
        unknown("6.1.0-56-cloud-amd64", "6.1.100");
        assert!(read("6.18.0-061800rc3-generic") < read("6.18.0-061800rc4-generic"));
        assert!(read("6.18.0-0.rc3.251027gfd57572253bc.29.fc44") < read("6.18.0-rc4"));
        unknown("6.18.0-rc3", "6.18.0-0.rc3.251027gfd57572253bc.29.fc44");
    }

    #[test]
    fn a_range_is_one_of_mainline_or_of_one_series() {
        let of = |good, bad| introduced(&read(good), &read(bad));
        let range = |good, bad| of(good, bad).unwrap().range;
        let over = of("6.16.12+deb13", "6.17.13+deb13").unwrap();
        assert_eq!((over.range.as_str(), over.stable), ("v6.16..v6.17", false));
        assert_eq!(over.not_measured, ["v6.16", "v6.17"]);
        assert_eq!(range("6.16.12", "6.17-rc2"), "v6.16..v6.17-rc2");
        let el = of("5.14.0-503.11.1.el9_5.x86_64", "6.12-rc1").unwrap();
        assert_eq!(el.not_measured, ["v5.14"], "and v6.12-rc1 was measured itself");
        let exact = of("6.16", "6.17").unwrap();
        assert!(exact.not_measured.is_empty() && !exact.stable, "these are the tags themselves");
        let mixed = of("6.16.12", "6.18.0-00012-gabcdef012345").unwrap();
        assert_eq!(mixed.not_measured, ["v6.16"]);
        assert!(of("6.12.3-gaaaaaaa", "6.12.9-gbbbbbbb").unwrap().stable);
        let stable = of("6.12.10", "6.12.117").unwrap();
        assert_eq!((stable.range.as_str(), stable.stable), ("v6.12.10..v6.12.117", true));
        assert_eq!(range("6.18.0", "6.18.0-00012-gabcdef012345"), "v6.18..abcdef012345");
        assert_eq!(range("6.16.12", "6.18.0-00012-gabcdef012345"), "v6.16..abcdef012345");
        assert_eq!(of("6.12.117", "6.12.117+own"), None);
        assert_eq!(of("6.1.0-56-cloud-amd64", "6.1.0-57-cloud-amd64"), None);
    }
}
