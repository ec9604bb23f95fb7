//! `tailback identify`.

use crate::exit::Failure;
use crate::{identity, output};
use clap::ArgMatches;
use model::identity::{IDENTIFIED, Identified};

/// Prints what groups this machine with others.
pub fn identify(matches: &ArgMatches) -> Result<u8, Failure> {
    let found = Identified {
        schema: IDENTIFIED.to_owned(),
        host: identity::name(matches)?,
        identity: identity::here(),
    };
    if matches.get_flag("json") {
        // Text keys and whole numbers only, which always serialise.
        let text = serde_json::to_string_pretty(&found).unwrap_or_default();
        output::json(&format!("{text}\n"));
    } else {
        output::print(&report::identity(&found));
    }
    Ok(0)
}
