//! `tailback judge RECORD`.

use crate::exit::Failure;
use crate::{output, records};
use clap::ArgMatches;
use std::path::PathBuf;

/// Judges a record again; the exit code of its verdict.
pub fn judge(matches: &ArgMatches) -> Result<u8, Failure> {
    let path = matches
        .get_one::<PathBuf>("file")
        .ok_or_else(|| Failure::usage("no record; see tailback judge --help"))?;
    let (mut record, meta) = records::judgeable(path)?;
    scenarios::judge(&mut record);
    scenarios::weigh_factors(&mut record);
    if matches.get_flag("json") {
        output::json(&record.to_json());
    } else {
        output::print(&report::record(&record, Some(meta), output::look()));
    }
    Ok(record.verdict.state.exit_code())
}
