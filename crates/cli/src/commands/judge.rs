//! `tailback judge RECORD`.

use crate::exit::Failure;
use crate::{input, output};
use clap::ArgMatches;
use model::{Meta, Record};
use scenarios::Scenario;
use std::path::{Path, PathBuf};

/// The largest record that is read, in bytes; a study of thousands of trials is far smaller.
const MOST: u64 = 256 << 20;

/// Judges a record again; the exit code of its verdict.
pub fn judge(matches: &ArgMatches) -> Result<u8, Failure> {
    let path = matches
        .get_one::<PathBuf>("file")
        .ok_or_else(|| Failure::usage("no record; see tailback judge --help"))?;
    let (mut record, meta) = read(path)?;
    scenarios::judge(&mut record);
    if matches.get_flag("json") {
        output::print(&record.to_json());
    } else {
        output::print(&report::record(&record, Some(meta), output::look()));
    }
    Ok(record.verdict.state.exit_code())
}

/// Reads a record of a scenario that this version knows.
pub(super) fn read(path: &Path) -> Result<(Record, &'static Meta), Failure> {
    let refuse = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
    let text = input::read_text(path, MOST).map_err(|error| {
        refuse(&format!("{error}; name a record, as the last line of a run names it"))
    })?;
    let record = Record::from_json(&text).map_err(|error| refuse(&error))?;
    let scenario = scenarios::find(&record.scenario).ok_or_else(|| {
        refuse(&format!(
            "a record of `{}`, which this version does not know; use the tailback that wrote it ({})",
            record.scenario, record.tool.version
        ))
    })?;
    Ok((record, Scenario::meta(scenario)))
}
