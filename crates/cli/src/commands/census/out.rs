//! A census in the formats of other programs.

use crate::exit::Failure;
use crate::page;
use crate::session::Session;
use model::Census;
use report::export::census::{CensusFormat, answers};
use report::export::node_problem;
use std::path::PathBuf;

// The flags for other programs. No doc comment: clap would show it as the help of the command.
#[derive(clap::Args)]
#[command(next_help_heading = "For other programs")]
pub struct Others {
    /// Print another format instead. openmetrics: counts and shares, for Prometheus. junit: one
    /// test case per group of hosts, for CI. node-problem-detector: a line and an exit code for
    /// its plugin monitor: 0 OK, 1 a stall, 2 unknown
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    #[arg(conflicts_with_all = ["json", "why"])]
    pub format: Option<String>,
    /// Write the format to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "format")]
    pub output: Option<PathBuf>,
    /// Also write every verdict and trial to FOLDER as Parquet, split by scenario and kernel. The
    /// files of an earlier census in it are replaced
    #[arg(long, value_name = "FOLDER")]
    pub parquet: Option<PathBuf>,
}

impl Others {
    /// Whether the format goes to standard output.
    pub fn prints_format(&self) -> bool {
        let output = self.output.as_deref();
        self.format.is_some() && (output.is_none() || page::is_printed(output))
    }
}

/// The values of `--format`.
fn formats() -> Vec<&'static str> {
    CensusFormat::ALL.map(|(name, _)| name).to_vec()
}

/// Writes the census in the requested format. Returns the exit code if the format has its own.
///
/// # Errors
/// If it cannot be written.
pub fn format(
    session: &Session,
    name: &str,
    census: &Census,
    flags: &Others,
) -> Result<Option<u8>, Failure> {
    let known = CensusFormat::ALL.into_iter().find(|(format, _)| *format == name);
    let (_, format) =
        known.ok_or_else(|| Failure::usage("no such --format; see tailback census --help"))?;
    page::write(session, &format.write(census), flags.output.as_ref())?;
    let is_plugin = format == CensusFormat::NodeProblem;
    Ok(is_plugin.then(|| node_problem::code(&answers(census))))
}
