//! Brief records on standard output, for a fleet.

use crate::exit::Failure;
use crate::{identity, output};
use clap::ArgMatches;
use model::identity::HostName;
use model::{Identity, Record};

/// Brief records of this machine, by its name.
pub struct Briefs {
    host: HostName,
    identity: Identity,
}

impl Briefs {
    /// Those that `--brief` asks for; none where it does not.
    ///
    /// # Errors
    /// If the name of the machine or its salt cannot be used: before anything is measured.
    pub fn asked(matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        if !matches.get_flag("brief") {
            return Ok(None);
        }
        Ok(Some(Briefs { host: identity::name(matches)?, identity: identity::here() }))
    }

    /// Prints a line for each record.
    pub fn print<'a>(&self, records: impl Iterator<Item = &'a Record>) {
        for record in records {
            let host = Some(self.host.clone());
            output::json(&scenarios::brief(record, self.identity.clone(), host).to_line());
        }
    }
}
