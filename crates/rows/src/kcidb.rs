//! The answers of a fleet as KCIDB takes them: checkouts, builds and tests, as JSON.
//!
//! A kernel's release stands for a checkout, release and architecture for a build, and the answer
//! of a host to a scenario is a test. Only what the schema had from its version 5.0 on is written.

use census::{Kind, Verdict, Verdicts};
use model::State;
use model::census::Hosts;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Host and kernel of what has none.
const UNKNOWN: &str = "unknown";

/// The name of a CI system, as KCIDB gives it to who submits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// Why a text is no name of a CI system.
#[derive(Debug, thiserror::Error)]
#[error("lower-case letters, digits and _ alone, 64 at most")]
pub struct OriginError;

impl std::str::FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let sound = (1..=64).contains(&text.len()) && text.chars().all(fits);
        if sound { Ok(Origin(text.to_owned())) } else { Err(OriginError) }
    }
}

/// What KCIDB calls an answer, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    /// The stall is there.
    Fail,
    /// The record proves nothing.
    Error,
    /// The host sent no record.
    Miss,
    /// It did not show where it would have shown.
    Pass,
    /// The study was too short for either.
    Done,
    /// A need was missing.
    Skip,
}

impl From<State> for Status {
    fn from(state: State) -> Self {
        match state {
            State::Affected => Status::Fail,
            State::Untrustworthy => Status::Error,
            State::NotAffected => Status::Pass,
            State::Inconclusive => Status::Done,
            State::Skipped => Status::Skip,
        }
    }
}

#[derive(Serialize)]
struct Checkout<'a> {
    id: String,
    origin: &'a str,
    comment: String,
}

#[derive(Serialize)]
struct Build<'a> {
    id: String,
    origin: &'a str,
    checkout_id: String,
    architecture: &'a str,
}

#[derive(Serialize)]
struct Test<'a> {
    id: String,
    origin: &'a str,
    build_id: String,
    path: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_time: Option<String>,
    environment: Environment<'a>,
    misc: Misc<'a>,
}

#[derive(Serialize)]
struct Number {
    value: f64,
    unit: &'static str,
}

#[derive(Serialize)]
struct Environment<'a> {
    comment: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    misc: Option<&'a model::Identity>,
}

/// What has no field of its own, by the names of the record.
#[derive(Serialize)]
struct Misc<'a> {
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    otp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// Writes all answers, the gravest first; hosts without a record are missing ones.
///
/// # Errors
/// If it cannot be written.
pub fn kcidb(
    verdicts: &Verdicts,
    unreachable: Option<&Hosts>,
    origin: &Origin,
    out: &mut dyn Write,
) -> io::Result<()> {
    let missing = unreachable.filter(|hosts| hosts.count > 0);
    let kinds: Vec<Option<&Kind>> = verdicts.kinds().iter().map(Some).collect();
    let kinds = || kinds.iter().copied().chain([None]);
    let releases: BTreeSet<&str> = kinds().map(release).collect();
    let builds: BTreeSet<(&str, &str)> = kinds().map(|kind| (release(kind), arch(kind))).collect();
    write!(out, "{{\"version\":{{\"major\":5,\"minor\":0}},\n\"checkouts\":")?;
    list(out, releases.iter().map(|release| checkout(origin, release)))?;
    write!(out, ",\n\"builds\":")?;
    list(out, builds.iter().map(|(release, arch)| build(origin, release, arch)))?;
    write!(out, ",\n\"tests\":")?;
    let mut order: Vec<(Status, usize)> =
        verdicts.iter().zip(0..).map(|(one, place)| (one.state.into(), place)).collect();
    order.sort_unstable();
    let before = order.partition_point(|(status, _)| *status < Status::Miss);
    let of = |(_, place): &(Status, usize)| Some(test(origin, verdicts.get(*place)?));
    let (first, last) = order.split_at(before);
    let mut comma = Items::default();
    first.iter().filter_map(of).try_for_each(|test| comma.item(out, &test))?;
    for name in missing.iter().flat_map(|hosts| &hosts.names).flat_map(model::census::Run::names) {
        // The inventory may be anybody's; all other names were looked at as they were read.
        comma.item(out, &missed(origin, &os::terminal::line(&name)))?;
    }
    last.iter().filter_map(of).try_for_each(|test| comma.item(out, &test))?;
    comma.end(out)?;
    writeln!(out, "}}")?;
    out.flush()
}

/// A list that is written item by item.
#[derive(Default)]
struct Items {
    begun: bool,
}

impl Items {
    fn item(&mut self, out: &mut dyn Write, item: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(item)?;
        // It may be shown on a terminal.
        let text = os::terminal::json(&text);
        write!(out, "{}\n{text}", if self.begun { "," } else { "[" })?;
        self.begun = true;
        Ok(())
    }

    fn end(self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}]", if self.begun { "\n" } else { "[" })
    }
}

fn list<T: Serialize>(out: &mut dyn Write, all: impl Iterator<Item = T>) -> io::Result<()> {
    let mut items = Items::default();
    for one in all {
        items.item(out, &one)?;
    }
    items.end(out)
}

/// A name, or that there is none.
fn named(name: &str) -> &str {
    if name.is_empty() { UNKNOWN } else { name }
}

fn release(kind: Option<&Kind>) -> &str {
    kind.map_or(UNKNOWN, |kind| named(&kind.identity.kernel))
}

fn arch(kind: Option<&Kind>) -> &str {
    kind.map_or(UNKNOWN, |kind| named(&kind.identity.arch))
}

fn checkout<'a>(origin: &'a Origin, release: &str) -> Checkout<'a> {
    let Origin(origin) = origin;
    let comment = format!("the kernel that hosts call {release}");
    Checkout { id: format!("{origin}:{release}"), origin, comment }
}

fn build_id(Origin(origin): &Origin, release: &str, arch: &str) -> String {
    format!("{origin}:{release}/{arch}")
}

fn build<'a>(origin: &'a Origin, release: &str, arch: &'a str) -> Build<'a> {
    let Origin(name) = origin;
    let checkout_id = format!("{name}:{release}");
    Build { id: build_id(origin, release, arch), origin: name, checkout_id, architecture: arch }
}

fn test<'a>(origin: &'a Origin, verdict: Verdict<'a>) -> Test<'a> {
    let Origin(name) = origin;
    let shift = verdict.shift.filter(|(shift, _)| shift.is_finite());
    let time = jiff::Timestamp::from_second(verdict.started).ok();
    // A time that its grammar does not have, as of a year before 0, is left out.
    let time = time.map(|time| time.to_string()).filter(|time| !time.starts_with(['-', '+']));
    Test {
        id: format!("{name}:{}/{}/{}", verdict.scenario, verdict.started, verdict.host),
        origin: name,
        build_id: build_id(origin, release(verdict.kind), arch(verdict.kind)),
        path: format!("tailback.{}", verdict.scenario),
        status: verdict.state.into(),
        number: shift.map(|(value, unit)| Number { value, unit: unit.symbol() }),
        start_time: time,
        environment: Environment {
            comment: verdict.host,
            misc: verdict.kind.map(|kind| &kind.identity),
        },
        misc: Misc {
            state: verdict.state.word(),
            otp: verdict.kind.and_then(|kind| kind.otp.as_deref()),
            version: Some(verdict.version),
            file: Some(verdict.file),
            line: verdict.line,
        },
    }
}

/// A host without a record.
fn missed<'a>(origin: &'a Origin, host: &'a str) -> Test<'a> {
    let Origin(name) = origin;
    Test {
        id: format!("{name}:unreachable/{host}"),
        origin: name,
        build_id: build_id(origin, UNKNOWN, UNKNOWN),
        path: "tailback".to_owned(),
        status: Status::Miss,
        number: None,
        start_time: None,
        environment: Environment { comment: host, misc: None },
        misc: Misc { state: "unreachable", otp: None, version: None, file: None, line: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_graver_comes_first() {
        let all =
            [Status::Fail, Status::Error, Status::Miss, Status::Pass, Status::Done, Status::Skip];
        assert!(all.is_sorted());
        let words: Vec<String> = all.iter().map(|s| serde_json::to_string(s).unwrap()).collect();
        assert_eq!(words.join(" ").replace('"', ""), "FAIL ERROR MISS PASS DONE SKIP");
    }

    #[test]
    fn an_origin_is_what_kcidb_takes() {
        assert_eq!("ci_7".parse::<Origin>().unwrap(), Origin("ci_7".to_owned()));
        for wrong in ["", "A", "a:b", "a b", "ä", &"x".repeat(65)] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }
}
