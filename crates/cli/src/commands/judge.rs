//! `tailback judge RECORD`.

use crate::exit::Failure;
use crate::{output, records};
use clap::ArgMatches;
use report::Shown;
use std::path::PathBuf;

/// Judges a record again; the exit code of its verdict.
pub fn judge(matches: &ArgMatches) -> Result<u8, Failure> {
    let path = matches
        .get_one::<PathBuf>("file")
        .ok_or_else(|| Failure::usage("no record; see tailback judge --help"))?;
    let (record, meta) = records::judgeable(path)?;
    if matches.get_flag("json") {
        output::json(&record.to_json());
    } else {
        let name = path.display().to_string();
        let shown = Shown::new(&record, Some(meta), &name);
        output::print(&report::record(&shown, output::look_of(matches)));
    }
    Ok(record.judgement.state.exit_code())
}
