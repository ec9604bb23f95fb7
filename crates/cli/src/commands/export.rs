//! `tailback export --format F RECORD..`.

use crate::command::{Failure, Run, Session, below};
use crate::identity::HostFlags;
use crate::ktap::WithoutVerdict;
use crate::records::Named;
use crate::{page, records};
use model::Identity;
use report::Shown;
use report::export::ktap::{self, Test};
use report::export::{Format, answers, node_problem};
use std::path::{Path, PathBuf};

/// The format that is made from the verdict alone, and so not by `report`.
const BRIEF: &str = "brief";

/// The format that has its own flag.
const KTAP: &str = "ktap";

/// The help of `--host-name`. The records may come from other machines.
const HOST_NAME: &str = "brief: name of the machine in a census [default: no name]";

/// Write records in a format for other tools
#[derive(clap::Args)]
#[command(mut_arg("host_name", |arg| arg.help(HOST_NAME)))]
#[command(mut_arg("hash_host_name", |arg| arg.requires("host_name")))]
#[command(after_help = below("", [
    "tailback export --format markdown run.json",
    "tailback export --format junit run.json -o run.xml",
]))]
pub struct Export {
    /// csv: every trial. openmetrics: for node_exporter's textfile collector. markdown: for an
    /// issue. junit: for CI. ktap: for kselftest and LAVA. reproducer: one file that shows the
    /// stall of a single record: a C program, or a script for escript if the stall is in the
    /// Erlang VM. node-problem-detector: a line and an exit code for its plugin monitor. brief:
    /// for tailback census
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: String,
    /// The records
    #[arg(value_name = "RECORD", required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// ktap: the result of a study without a verdict [default: fail]
    #[arg(long, value_name = "RESULT")]
    undecided: Option<WithoutVerdict>,
    #[command(flatten, next_help_heading = "Brief records")]
    host: HostFlags,
}

fn formats() -> Vec<&'static str> {
    Format::ALL.map(|(name, _)| name).into_iter().chain([BRIEF, KTAP]).collect()
}

impl Run for Export {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        self.check_flags()?;
        if self.format == BRIEF {
            return self.briefs(session);
        }
        if self.format == KTAP {
            return self.ktap(session);
        }
        let known = Format::ALL.into_iter().find(|(format, _)| *format == self.format);
        let (_, format) =
            known.ok_or_else(|| Failure::usage("no such --format; see tailback export --help"))?;
        let named = records::named(&self.records)?;
        let shown: Vec<Shown> = named.iter().map(Named::shown).collect();
        let text = format.write(&shown)?;
        page::write(session, &text, self.output.as_ref())?;
        let records: Vec<_> = shown.iter().map(|one| one.record).collect();
        let is_plugin = format == Format::NodeProblem;
        Ok(if is_plugin { node_problem::code(&answers(&records)) } else { 0 })
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        Some(self.output.iter().map(PathBuf::as_path).collect())
    }
}

impl Export {
    /// Refuses a flag of another format, since it would do nothing.
    fn check_flags(&self) -> Result<(), Failure> {
        if self.undecided.is_some() && self.format != KTAP {
            return Err(Failure::usage("--undecided works only with --format ktap"));
        }
        if self.host.is_given() && self.format != BRIEF {
            return Err(Failure::usage("--host-name works only with --format brief"));
        }
        Ok(())
    }

    /// Writes one test per record.
    fn ktap(&self, session: &Session) -> Result<u8, Failure> {
        let named = records::named(&self.records)?;
        let tests: Vec<Test> = named.iter().map(|one| Test::of(one.shown())).collect();
        let undecided = crate::ktap::of(self.undecided);
        page::write(session, &ktap::ktap(&tests, undecided), self.output.as_ref())?;
        Ok(ktap::code(&tests, undecided))
    }

    /// Writes one line of JSON per record. The records may come from other machines, so they do
    /// not get the name of this one.
    fn briefs(&self, session: &Session) -> Result<u8, Failure> {
        let host = self.host.given_name()?;
        let lines = records::named(&self.records)?.into_iter().map(|one| {
            let identity = Identity::of(&one.record.machine, Vec::new());
            scenarios::brief(&one.record, identity, host.clone()).to_line()
        });
        page::write(session, &lines.collect::<String>(), self.output.as_ref())?;
        Ok(0)
    }
}
