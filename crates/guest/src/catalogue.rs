//! The kernels that were tried, and the expected results: vm/kernels.toml.

use crate::accel::Clock;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../../../vm/kernels.toml");

/// The known kernels.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Debian suites that are searched for a series, those with short package lists first.
    #[serde(default)]
    pub suites: Vec<String>,
    /// The series that are known to exist, each with the suite that is searched first.
    pub debian: BTreeMap<String, String>,
    /// Kernels that were tried.
    pub kernel: Vec<Entry>,
}

/// A kernel that was tried.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name, as `--kernel` takes it.
    pub name: String,
    /// A description.
    pub what: String,
    /// Whether it boots with a clock that counts instructions, on QEMU 7.2.
    #[serde(default)]
    pub counts_instructions: bool,
    /// The expected results, by scenario and by the settings that matter.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

/// The expected result of a kernel in a scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The scenario.
    pub scenario: String,
    /// The parameters for which it holds, as text, if they matter: `procfile = "maps"`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The verdict: `affected` or `not-affected`.
    pub verdict: String,
    /// The source of this expectation: a commit, a table, or a measurement.
    pub source: String,
}

impl Catalogue {
    /// The expected result of a kernel in a scenario: the entry whose parameters hold. If there are
    /// several, the most specific one.
    pub fn expected(
        &self,
        kernel: &str,
        scenario: &str,
        hold: impl Fn(&BTreeMap<String, String>) -> bool,
    ) -> Option<&Expectation> {
        let entry = self.kernel.iter().find(|entry| entry.name == kernel)?;
        let holds =
            |expected: &&Expectation| expected.scenario == scenario && hold(&expected.parameters);
        entry.expect.iter().filter(holds).max_by_key(|expected| expected.parameters.len())
    }
}

/// Parses a catalogue.
///
/// # Errors
/// If the text is not a catalogue.
pub fn parse(text: &str) -> Result<Catalogue, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

/// The catalogue of this version.
pub fn catalogue() -> &'static Catalogue {
    // Parsing this constant cannot fail: a test parses it, so the empty default is never used. A
    // static, since a constant text has one content for the whole process.
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
    &CATALOGUE
}

/// The clock for an emulated guest with the kernel of this name. It counts instructions if that
/// kernel is known to boot with such a clock, because then other work of the host is invisible in
/// the guest.
pub fn clock_of(kernel: &str) -> Clock {
    let entry = catalogue().kernel.iter().find(|entry| entry.name == kernel);
    match entry.is_some_and(|entry| entry.counts_instructions) {
        true => Clock::Instructions,
        false => Clock::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_holds_together() {
        let catalogue = parse(TEXT).unwrap();
        for entry in &catalogue.kernel {
            if let Some(series) = entry.name.strip_prefix("debian:") {
                assert!(catalogue.debian.contains_key(series), "{series}");
            }
            for expected in &entry.expect {
                let known = ["affected", "not-affected"].contains(&expected.verdict.as_str());
                assert!(known && !expected.source.is_empty(), "{expected:?}");
            }
        }
        assert!(catalogue.kernel.len() >= 6);
    }

    #[test]
    fn the_most_particular_expectation_counts() {
        let catalogue = parse(
            "[debian]\n[[kernel]]\nname = \"k\"\nwhat = \"w\"\n\
             [[kernel.expect]]\nscenario = \"s\"\nverdict = \"affected\"\nsource = \"a\"\n\
             [[kernel.expect]]\nscenario = \"s\"\nparameters = { p = \"maps\" }\n\
             verdict = \"not-affected\"\nsource = \"b\"\n",
        )
        .unwrap();
        let with = |value: &'static str| {
            move |wanted: &BTreeMap<String, String>| wanted.values().all(|word| word == value)
        };
        let verdict = |expected: Option<&Expectation>| expected.map(|e| e.verdict.clone());
        assert_eq!(verdict(catalogue.expected("k", "s", with("maps"))).unwrap(), "not-affected");
        assert_eq!(verdict(catalogue.expected("k", "s", with("smaps"))).unwrap(), "affected");
        assert_eq!(catalogue.expected("k", "t", with("x")), None);
        assert_eq!(catalogue.expected("l", "s", with("x")), None);
    }
}
