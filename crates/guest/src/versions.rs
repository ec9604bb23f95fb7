//! What is expected of versions of a kernel and of an OTP, and what changed between them:
//! vm/versions.toml; and the list that a range of versions stands for.

use crate::catalogue::catalogue;
use model::ladder::{Direction, version};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../../../vm/versions.toml");

/// The suites of Debian that have an OTP, oldest first.
const SUITES: [&str; 5] = ["bullseye", "bookworm", "trixie", "forky", "sid"];

/// Versions of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The kernel.
    Kernel,
    /// The OTP.
    Otp,
}

/// What is known of versions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// What to expect of ranges of versions.
    pub expect: Vec<Expected>,
    /// What changed between two versions.
    pub change: Vec<Changed>,
}

/// The verdict that a range of versions should give.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The scenario.
    pub scenario: String,
    /// The parameters for which it holds, as words.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Versions of what.
    pub of: Of,
    /// The first version; all older ones too where it is absent.
    #[serde(default)]
    pub from: Option<String>,
    /// The last version, with all its point releases; all newer ones too where it is absent.
    #[serde(default)]
    pub to: Option<String>,
    /// The verdict: `affected` or `not-affected`.
    pub verdict: String,
    /// The commit that makes it so, where it is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// Why: where that is read, or where it was measured.
    pub source: String,
    /// Whether it was only measured here.
    #[serde(default)]
    pub measured: bool,
}

/// A change between two versions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// The scenario.
    pub scenario: String,
    /// The parameters for which it matters, as words.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Versions of what.
    pub of: Of,
    /// The first version that has it.
    pub since: String,
    /// The commit, where it is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// What it changes.
    pub what: String,
    /// Where that is read, or where it was measured.
    pub source: String,
    /// Whether it was only measured here.
    #[serde(default)]
    pub measured: bool,
    /// What it does to the effect, where that shows.
    #[serde(default)]
    pub effect: Option<Direction>,
}

impl Expected {
    /// Whether it is of this version.
    fn covers(&self, release: &[u64]) -> bool {
        let numbers = |text: &Option<String>| text.as_deref().map(version);
        let from = numbers(&self.from).is_none_or(|from| release >= from.as_slice());
        let to = numbers(&self.to)
            .is_none_or(|to| release.get(..to.len()).unwrap_or(release) <= to.as_slice());
        !release.is_empty() && from && to
    }
}

impl Versions {
    /// What to expect of a release in a scenario where its parameters hold; the most particular
    /// first.
    pub fn expected(
        &self,
        of: Of,
        release: &str,
        scenario: &str,
        hold: impl Fn(&BTreeMap<String, String>) -> bool,
    ) -> Option<&Expected> {
        let release = version(release);
        let fits = |one: &&Expected| {
            one.of == of
                && one.scenario == scenario
                && one.covers(&release)
                && hold(&one.parameters)
        };
        self.expect.iter().filter(fits).max_by_key(|one| one.parameters.len())
    }

    /// The changes that bear on a scenario where their parameters hold.
    pub fn changes<'a>(
        &'a self,
        of: Of,
        scenario: &'a str,
        hold: impl Fn(&BTreeMap<String, String>) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Changed> {
        let fits =
            move |one: &&Changed| one.of == of && one.scenario == scenario && hold(&one.parameters);
        self.change.iter().filter(fits)
    }
}

/// What this version came with.
pub fn versions() -> &'static Versions {
    // A constant that has to be parsed. A test reads it, so an empty one never stands in for it.
    static VERSIONS: LazyLock<Versions> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
    &VERSIONS
}

fn parse(text: &str) -> Result<Versions, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// The versions that a word stands for: `debian:6.16..7.3` is every series from one to the other.
///
/// # Errors
/// A sentence, if an end is no series that is known, or they stand the wrong way round.
pub fn expand(of: Of, word: &str) -> Result<Vec<String>, String> {
    let range = word.strip_prefix("debian:").and_then(|rest| rest.split_once(".."));
    let Some((from, to)) = range else { return Ok(vec![word.to_owned()]) };
    let all = ladder_of(of);
    let place = |end: &str| {
        all.iter().position(|one| one == end).ok_or_else(|| {
            format!("{word}: no series {end} is known; known are {}", all.join(", "))
        })
    };
    let (from, to) = (place(from)?, place(to)?);
    match from <= to {
        true => Ok(all[from..=to].iter().map(|one| format!("debian:{one}")).collect()),
        false => Err(format!("{word}: the older version stands first")),
    }
}

/// All that a range may name, oldest first.
fn ladder_of(of: Of) -> Vec<String> {
    if of == Of::Otp {
        return SUITES.map(str::to_owned).to_vec();
    }
    let mut all: Vec<String> = catalogue().debian.keys().cloned().collect();
    // What is no number, as sid, is the newest.
    all.sort_by_key(|name| (version(name).is_empty(), version(name)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(_: &BTreeMap<String, String>) -> bool {
        true
    }

    #[test]
    fn the_table_holds_together() {
        let versions = parse(TEXT).unwrap();
        for one in &versions.expect {
            assert!(["affected", "not-affected"].contains(&one.verdict.as_str()), "{one:?}");
            assert!(!one.source.is_empty() && (one.measured || one.commit.is_some()), "{one:?}");
        }
        for one in &versions.change {
            assert!(!version(&one.since).is_empty() && !one.source.is_empty(), "{one:?}");
            assert!(one.measured || one.commit.is_some(), "{one:?}");
        }
    }

    #[test]
    fn a_range_covers_its_ends_with_their_point_releases() {
        let text = "change = []\n[[expect]]\nscenario = \"s\"\nof = \"kernel\"\nfrom = \"6.12\"\n\
                    to = \"6.17\"\nverdict = \"affected\"\nsource = \"x\"\nmeasured = true\n";
        let versions = parse(text).unwrap();
        let covers = |release| versions.expected(Of::Kernel, release, "s", any).is_some();
        assert!(covers("6.12.1+deb12-cloud-amd64") && covers("6.17.13") && covers("6.16"));
        assert!(!covers("6.11") && !covers("6.18") && !covers("7.0") && !covers("sid"));
        assert!(versions.expected(Of::Otp, "6.16", "s", any).is_none());
        assert!(versions.expected(Of::Kernel, "6.16", "t", any).is_none());
    }

    #[test]
    fn a_range_of_names_is_every_series_between() {
        let all = expand(Of::Kernel, "debian:5.10..6.12").unwrap();
        assert_eq!(all.first().unwrap(), "debian:5.10");
        assert_eq!(all.last().unwrap(), "debian:6.12");
        assert!(all.contains(&"debian:6.1".to_owned()));
        assert_eq!(expand(Of::Kernel, "/a/../b").unwrap(), ["/a/../b"]);
        assert_eq!(
            expand(Of::Otp, "debian:bookworm..sid").unwrap(),
            ["debian:bookworm", "debian:trixie", "debian:forky", "debian:sid"]
        );
        assert!(expand(Of::Kernel, "debian:6.12..5.10").unwrap_err().contains("older"));
        assert!(expand(Of::Kernel, "debian:5.10..9.9").unwrap_err().contains("9.9"));
    }
}
