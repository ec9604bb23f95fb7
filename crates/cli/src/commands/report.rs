//! `tailback report RECORD.. -o F.html`.

use crate::exit::Failure;
use crate::{page, records};
use clap::ArgMatches;
use std::path::PathBuf;

/// Writes a page of the records.
pub fn report(matches: &ArgMatches) -> Result<u8, Failure> {
    let page = page::of(&records::all(matches)?)?;
    page::write(&page, matches.get_one::<PathBuf>("output"))?;
    Ok(0)
}
