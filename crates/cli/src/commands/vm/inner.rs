//! The command for a guest. It is checked before the guest boots.

use crate::command;
use crate::commands::check::{Check, chosen};
use crate::commands::list::List;
use crate::commands::run::RunScenario;
use crate::commands::sim::Sim;
use crate::commands::watch::Watch;
use crate::exit::Failure;
use clap::{CommandFactory, Parser};
use report::export::ktap::Undecided;
use scenarios::needs_loop_devices;
use std::path::PathBuf;

/// The flag that keeps brief records in a folder.
const INTO: &str = "--into";

/// A command line for a guest.
#[derive(Parser)]
#[command(name = "tailback", no_binary_name = true, disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    command: Allowed,
}

/// Commands that make sense in a guest.
#[derive(clap::Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one value, and it is never moved")]
enum Allowed {
    Run(RunScenario),
    Check(Check),
    List(List),
    #[command(subcommand)]
    Sim(Sim),
    Watch(Watch),
}

/// A command for a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inner {
    /// Its arguments, without the arguments for the host.
    pub args: Vec<String>,
    /// The file on the host for the record, from `--record`.
    pub record: Option<PathBuf>,
    /// Whether standard output holds only the record.
    pub json: bool,
    /// The KTAP result of a study without a verdict; None without KTAP output.
    pub ktap: Option<Undecided>,
    /// Whether standard output holds only a brief record.
    pub brief: bool,
    /// Whether to show the reasons too.
    pub why: bool,
    /// The scenario of `run`.
    pub scenario: Option<String>,
    /// Whether it runs a scenario that makes file systems on loop devices.
    pub loop_devices: bool,
}

impl Inner {
    /// Reads the arguments after `--`.
    ///
    /// # Errors
    /// If they are no command, or a command that cannot run in a guest.
    pub fn parse(words: &[String]) -> Result<Self, Failure> {
        let named = words.first().map_or("", String::as_str);
        let allowed = Line::command();
        let allowed: Vec<&str> = allowed.get_subcommands().map(clap::Command::get_name).collect();
        if !allowed.contains(&named) {
            let allowed = allowed.join(", ");
            return Err(Failure::usage(format!("vm -- {named}: a guest can run only {allowed}")));
        }
        let line = Line::try_parse_from(words).map_err(|error| {
            Failure::usage(format!("the command after --: {}", command::first_line(&error)))
        })?;
        if words.iter().any(|word| word == INTO || word.starts_with(&format!("{INTO}="))) {
            return Err(Failure::usage(format!(
                "vm -- {named} {INTO}: no file of it comes back from a guest; without {INTO} the \
                 brief record is printed"
            )));
        }
        let args = without_record(words);
        let inner = Inner {
            args,
            record: None,
            json: false,
            ktap: None,
            brief: false,
            why: false,
            scenario: None,
            loop_devices: false,
        };
        Ok(match line.command {
            Allowed::Run(run) => Inner {
                record: run.flags.record,
                json: run.flags.json,
                ktap: run.flags.ktap.wanted(),
                brief: run.flags.brief.brief,
                why: run.flags.why,
                scenario: Some(run.scenario.meta().id.to_owned()),
                loop_devices: needs_loop_devices(run.scenario.meta().id),
                ..inner
            },
            Allowed::Check(Check { report: Some(_), .. }) => {
                return Err(Failure::usage(
                    "vm -- check --report: no page comes back from a guest; use --json or --why",
                ));
            }
            Allowed::Check(check) => Inner {
                json: check.json,
                ktap: check.ktap.wanted(),
                why: check.why,
                loop_devices: chosen(&check).iter().any(|one| needs_loop_devices(one.meta().id)),
                ..inner
            },
            Allowed::List(list) => Inner { json: list.json, ..inner },
            Allowed::Sim(_) => inner,
            Allowed::Watch(Watch { record: Some(_), .. }) => {
                return Err(Failure::usage(
                    "vm -- watch --record: no file of watch comes back from a guest; use --json",
                ));
            }
            Allowed::Watch(watch) => Inner { json: watch.json, why: watch.why, ..inner },
        })
    }

    /// The name of its test in KTAP output, if the guest sends none: the scenario of `run`, or
    /// `check`.
    pub fn test_name(&self) -> &str {
        let command = || self.args.first().map(String::as_str);
        self.scenario.as_deref().or_else(command).unwrap_or_default()
    }
}

/// The arguments without `--record FILE`. The guest keeps its record where its init finds it.
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
        assert!(!inner.json && !inner.brief);
        assert!(parse("run cpu-quota --brief").unwrap().brief);
    }

    #[test]
    fn both_commands_with_ktap_output_have_a_test() {
        let named = |line: &str| {
            let inner = parse(line).unwrap();
            (inner.ktap, inner.test_name().to_owned())
        };
        let fails = Some(Undecided::Fail);
        assert_eq!(named("run mmap-lock --format ktap"), (fails, "mmap-lock".to_owned()));
        assert_eq!(named("check --format ktap"), (fails, "check".to_owned()));
        let skips = "check --format ktap --undecided skip";
        assert_eq!(named(skips), (Some(Undecided::Skip), "check".to_owned()));
        assert_eq!(named("check").0, None);
    }

    #[test]
    fn only_a_command_that_makes_file_systems_gets_loop_devices() {
        let gets = |line: &str| parse(line).unwrap().loop_devices;
        assert!(gets("run io-journal --quick") && gets("check") && gets("check --only io-journal"));
        for line in ["run mmap-lock", "check --skip io-journal", "list", "watch --for 3s"] {
            assert!(!gets(line), "{line}");
        }
    }

    #[test]
    fn what_cannot_run_in_a_guest_is_refused_before_it_boots() {
        for line in [
            "run no-such",
            "vm --kernel k -- list",
            "man /tmp",
            "run mmap-lock --busy x",
            "watch --for 3s --record /tmp/w.json",
            "check --report /tmp/page.html",
            "run mmap-lock --brief --into /tmp",
            "check --brief --into=/tmp",
        ] {
            assert_eq!(parse(line).unwrap_err().code, crate::exit::USAGE, "{line}");
        }
        assert_eq!(parse("list").unwrap().scenario, None);
        assert_eq!(parse("watch --for 3s").unwrap().args, ["watch", "--for", "3s"]);
    }
}
