//! A census in the formats of other programs.

use crate::exit::Failure;
use crate::page;
use clap::ArgMatches;
use model::Census;
use report::export::census::{CensusFormat, answers};
use report::export::node_problem;
use std::path::PathBuf;

/// Writes the census in the format that was asked for; the exit code where the format has its own.
///
/// # Errors
/// If it cannot be written.
pub fn format(name: &str, census: &Census, matches: &ArgMatches) -> Result<Option<u8>, Failure> {
    let known = CensusFormat::ALL.into_iter().find(|(format, _)| *format == name);
    let (_, format) =
        known.ok_or_else(|| Failure::usage("no such --format; see tailback census --help"))?;
    let path = matches.get_one::<PathBuf>("output");
    page::write(&format.write(census), path)?;
    let is_plugin = format == CensusFormat::NodeProblem;
    Ok(is_plugin.then(|| node_problem::code(&answers(census))))
}
