//! Expected results for versions of the kernel and of OTP, and known changes between versions:
//! vm/versions.toml. Also expands a range of versions into a list.

use crate::catalogue::catalogue;
use model::ladder::{Direction, version};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../../../vm/versions.toml");

/// The Debian suites with an OTP, oldest first.
const SUITES: [&str; 5] = ["bullseye", "bookworm", "trixie", "forky", "sid"];

/// The software whose versions are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The kernel.
    Kernel,
    /// The OTP.
    Otp,
}

/// The known facts about versions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// The expected results of versions.
    pub expect: Vec<Expected>,
    /// The known changes between versions.
    pub change: Vec<Changed>,
}

/// The expected verdict of a range of versions, or of one version.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The scenario.
    pub scenario: String,
    /// The parameters for which it holds, as text.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The software of the versions.
    pub of: Of,
    /// The name of the only version that is meant, as `--kernels` or `--otps` takes it, in place of
    /// a range: a kernel may be patched.
    #[serde(default)]
    pub name: Option<String>,
    /// The first version. If None, all older versions too.
    #[serde(default)]
    pub from: Option<String>,
    /// The last version, with all its point releases. If None, all newer versions too.
    #[serde(default)]
    pub to: Option<String>,
    /// The verdict: `affected` or `not-affected`.
    pub verdict: String,
    /// The commit that causes it, if it is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// The source: a reference, or a measurement.
    pub source: String,
    /// Whether the only source is a measurement here.
    #[serde(default)]
    pub measured: bool,
}

/// A change that came with a version.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// The scenario.
    pub scenario: String,
    /// The parameters for which it matters, as text.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The software of the versions.
    pub of: Of,
    /// The first version with the change.
    pub since: String,
    /// The commit, if it is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// What it changes.
    pub what: String,
    /// The source: a reference, or a measurement.
    pub source: String,
    /// Whether the only source is a measurement here.
    #[serde(default)]
    pub measured: bool,
    /// Its effect on the stall, if that is measurable.
    #[serde(default)]
    pub effect: Option<Direction>,
}

impl Expected {
    /// Whether the range includes this version.
    fn covers(&self, release: &[u64]) -> bool {
        let numbers = |text: &Option<String>| text.as_deref().map(version);
        let from = numbers(&self.from).is_none_or(|from| release >= from.as_slice());
        let to = numbers(&self.to)
            .is_none_or(|to| release.get(..to.len()).unwrap_or(release) <= to.as_slice());
        !release.is_empty() && from && to
    }
}

/// Whether a release names a build between two releases: after a commit (`7.1.0-08123-gabcdef0`,
/// `7.1.0+`) or of linux-next (`7.1.0-rc7-next-20270301`). It has changes of the next release too.
pub fn is_between_releases(release: &str) -> bool {
    let is_commit = |word: &str| {
        let hash = word.strip_prefix('g').unwrap_or_default();
        (6..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    release.ends_with('+') || release.split('-').any(|word| word == "next" || is_commit(word))
}

impl Versions {
    /// The expected verdict of a version, with this name and release, in a scenario: the entry
    /// whose parameters hold. If there are several: one for this name, then the most specific one.
    pub fn expected(
        &self,
        of: Of,
        (name, release): (&str, &str),
        scenario: &str,
        hold: impl Fn(&BTreeMap<String, String>) -> bool,
    ) -> Option<&Expected> {
        let is_between = is_between_releases(release);
        let release = version(release);
        let is_of = |one: &Expected| match &one.name {
            Some(own) => own == name,
            None => !is_between && one.covers(&release),
        };
        let fits = |one: &&Expected| {
            one.of == of && one.scenario == scenario && is_of(one) && hold(&one.parameters)
        };
        let rank = |one: &&Expected| (one.name.is_some(), one.parameters.len());
        self.expect.iter().filter(fits).max_by_key(rank)
    }

    /// The changes that matter in a scenario: the entries whose parameters hold.
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

/// The facts of this version.
pub fn versions() -> &'static Versions {
    // Parsing this constant cannot fail: a test parses it, so the empty default is never used. A
    // static, since a constant text has one content for the whole process.
    static VERSIONS: LazyLock<Versions> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
    &VERSIONS
}

fn parse(text: &str) -> Result<Versions, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// The versions in a range: `debian:6.16..7.3` is every series from 6.16 to 7.3.
///
/// # Errors
/// A sentence, if an end of the range is not a known series, or if the ends are in the wrong
/// order.
pub fn expand(of: Of, word: &str) -> Result<Vec<String>, String> {
    let range = word.strip_prefix("debian:").and_then(|rest| rest.split_once(".."));
    let Some((from, to)) = range else { return Ok(vec![word.to_owned()]) };
    let all = ladder_of(of);
    let place = |end: &str| {
        all.iter().position(|one| one == end).ok_or_else(|| {
            format!("{word}: series {end} is not known; known series: {}", all.join(", "))
        })
    };
    let (from, to) = (place(from)?, place(to)?);
    match from <= to {
        true => Ok(all[from..=to].iter().map(|one| format!("debian:{one}")).collect()),
        false => Err(format!("{word}: name the older version first")),
    }
}

/// All versions that a range may include, oldest first.
fn ladder_of(of: Of) -> Vec<String> {
    if of == Of::Otp {
        return SUITES.map(str::to_owned).to_vec();
    }
    let mut all: Vec<String> = catalogue().debian.keys().cloned().collect();
    // A name without a number, such as sid, is the newest.
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
            let has_range = one.from.is_some() || one.to.is_some();
            assert!(one.name.is_none() || !has_range, "{one:?}");
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
        let expected =
            |of, release, scenario| versions.expected(of, ("n", release), scenario, any).is_some();
        let covers = |release| expected(Of::Kernel, release, "s");
        assert!(covers("6.12.1+deb12-cloud-amd64") && covers("6.17.13") && covers("6.16"));
        assert!(!covers("6.11") && !covers("6.18") && !covers("7.0") && !covers("sid"));
        for between in ["6.16.0-08123-gabcdef", "6.17.0-rc7-next-20260901", "6.12.0+"] {
            assert!(!covers(between), "{between} has changes of the next release");
        }
        assert!(covers("6.17.0-rc3") && covers("6.16.3-generic"));
        assert!(!expected(Of::Otp, "6.16", "s") && !expected(Of::Kernel, "6.16", "t"));
    }

    #[test]
    fn a_name_counts_most_then_the_most_parameters() {
        let entry = |more: &str, source: &str| {
            format!(
                "[[expect]]\nscenario = \"s\"\nof = \"kernel\"\n{more}\n\
                 verdict = \"affected\"\nsource = \"{source}\"\nmeasured = true\n"
            )
        };
        let text = [
            "change = []\n".to_owned(),
            entry("name = \"built:k\"", "its name"),
            entry("parameters = { p = \"maps\" }", "with maps"),
            entry("", "all"),
        ];
        let versions = parse(&text.concat()).unwrap();
        let source = |version, value: &str| {
            let hold = |wanted: &BTreeMap<String, String>| wanted.values().all(|own| own == value);
            let found = versions.expected(Of::Kernel, version, "s", hold);
            found.map(|one| one.source.clone())
        };
        assert_eq!(source(("built:k", "6.12.1"), "maps").as_deref(), Some("its name"));
        assert_eq!(source(("built:k", "next"), "maps").as_deref(), Some("its name"));
        assert_eq!(source(("debian:6.12", "6.12.1"), "maps").as_deref(), Some("with maps"));
        assert_eq!(source(("debian:6.12", "6.12.1"), "smaps").as_deref(), Some("all"));
        assert_eq!(source(("debian:6.12", "next"), "smaps"), None);
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
