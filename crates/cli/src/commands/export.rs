//! `tailback export --format F RECORD..`.

use crate::exit::Failure;
use crate::records::Named;
use crate::{identity, page, records};
use clap::ArgMatches;
use model::Identity;
use report::Shown;
use report::export::{Format, answers, node_problem};
use std::path::PathBuf;

/// The format that is made of what is judged, and so not by `report`.
pub const BRIEF: &str = "brief";

/// Writes the records in another format.
pub fn export(matches: &ArgMatches) -> Result<u8, Failure> {
    let name = matches.get_one::<String>("format").map_or("", String::as_str);
    if name == BRIEF {
        return briefs(matches);
    }
    let known = Format::ALL.into_iter().find(|(format, _)| *format == name);
    let (_, format) =
        known.ok_or_else(|| Failure::usage("no such --format; see tailback export --help"))?;
    let named = records::all(matches)?;
    let names: Vec<String> = named.iter().map(Named::name).collect();
    let shown: Vec<Shown> = named.iter().zip(&names).map(|(one, name)| one.shown(name)).collect();
    let text = format.write(&shown).map_err(page::failed)?;
    page::write(&text, matches.get_one::<PathBuf>("output"))?;
    let records: Vec<_> = shown.iter().map(|one| one.record).collect();
    let is_plugin = format == Format::NodeProblem;
    Ok(if is_plugin { node_problem::code(&answers(&records)) } else { 0 })
}

/// A line of JSON for each record. They may come from other machines, so they do not get this
/// one's name.
fn briefs(matches: &ArgMatches) -> Result<u8, Failure> {
    let host = identity::given_name(matches)?;
    let lines = records::all(matches)?.into_iter().map(|one| {
        let identity = Identity::of(&one.record.machine, Vec::new());
        scenarios::brief(&one.record, identity, host.clone()).to_line()
    });
    page::write(&lines.collect::<String>(), matches.get_one::<PathBuf>("output"))?;
    Ok(0)
}
