//! The command that a guest is to run, checked before anything is booted.

use crate::exit::Failure;
use clap::ArgMatches;
use std::path::PathBuf;

/// Commands that make sense in a guest.
const ALLOWED: &[&str] = &["run", "check", "list", "sim", "watch"];

/// A command for a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inner {
    /// Its arguments, without those that are for the host.
    pub args: Vec<String>,
    /// Where the host keeps the record, from `--record`.
    pub record: Option<PathBuf>,
    /// Whether the record alone goes to standard output.
    pub json: bool,
    /// Whether the reasons are shown too.
    pub why: bool,
    /// The scenario of `run`.
    pub scenario: Option<String>,
}

impl Inner {
    /// Reads the arguments behind `--`.
    ///
    /// # Errors
    /// If they are no command, or none for a guest.
    pub fn parse(words: &[String]) -> Result<Self, Failure> {
        let line = std::iter::once("tailback").chain(words.iter().map(String::as_str));
        let matches = crate::flags::command().try_get_matches_from(line).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Failure::usage(format!("the command behind --: {first}"))
        })?;
        let (name, inner) = matches.subcommand().unwrap_or(("", &matches));
        if !ALLOWED.contains(&name) {
            return Err(Failure::usage(format!(
                "vm -- {name}: a guest runs {}",
                ALLOWED.join(", ")
            )));
        }
        let leaf = inner.subcommand().filter(|_| name == "run");
        let (scenario, leaf) = leaf.map_or((None, inner), |(id, leaf)| (Some(id.to_owned()), leaf));
        Ok(Inner {
            args: without_record(words),
            record: value(leaf, "record"),
            json: flag(leaf, "json"),
            why: flag(leaf, "why"),
            scenario,
        })
    }
}

fn flag(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false)
}

fn value(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.try_get_one::<PathBuf>(name).ok().flatten().cloned()
}

/// The arguments without `--record FILE`: the guest keeps its record where its init finds it.
fn without_record(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--record" => {
                words.next();
            }
            word if word.starts_with("--record=") => {}
            word => kept.push(word.to_owned()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Inner, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Inner::parse(&words)
    }

    #[test]
    fn the_record_stays_on_the_host() {
        let inner = parse("run mmap-lock --record /tmp/r.json --quick --json").unwrap();
        assert_eq!(inner.args, ["run", "mmap-lock", "--quick", "--json"]);
        assert_eq!(inner.record, Some("/tmp/r.json".into()));
        assert!(inner.json);
        assert_eq!(inner.scenario.as_deref(), Some("mmap-lock"));
        let inner = parse("run cpu-quota --record=/tmp/r.json").unwrap();
        assert_eq!(inner.args, ["run", "cpu-quota"]);
        assert!(!inner.json);
    }

    #[test]
    fn what_cannot_run_in_a_guest_is_refused_before_it_boots() {
        for line in ["run no-such", "vm --kernel k -- list", "man /tmp", "run mmap-lock --busy x"] {
            assert_eq!(parse(line).unwrap_err().code, crate::exit::USAGE, "{line}");
        }
        assert_eq!(parse("list").unwrap().scenario, None);
        assert_eq!(parse("watch --for 3s").unwrap().args, ["watch", "--for", "3s"]);
    }
}
