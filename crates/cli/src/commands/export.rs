//! `tailback export --format F RECORD..`.

use crate::exit::Failure;
use crate::records::Named;
use crate::{page, records};
use clap::ArgMatches;
use report::Shown;
use report::export::Format;
use std::path::PathBuf;

/// Writes the records in another format.
pub fn export(matches: &ArgMatches) -> Result<u8, Failure> {
    let name = matches.get_one::<String>("format").map_or("", String::as_str);
    let known = Format::ALL.into_iter().find(|(format, _)| *format == name);
    let (_, format) =
        known.ok_or_else(|| Failure::usage("no such --format; see tailback export --help"))?;
    let named = records::all(matches)?;
    let names: Vec<String> = named.iter().map(Named::name).collect();
    let shown: Vec<Shown> = named.iter().zip(&names).map(|(one, name)| one.shown(name)).collect();
    let text = format.write(&shown).map_err(page::failed)?;
    page::write(&text, matches.get_one::<PathBuf>("output"))?;
    Ok(0)
}
