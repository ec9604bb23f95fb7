//! `tailback sim fleet`: brief records of a fleet of which the truth is known.

use crate::exit::Failure;
use crate::output;
use census::simulated::{self, World};
use clap::ArgMatches;
use std::io::{BufWriter, ErrorKind};

/// Writes the fleet to standard output, and says on standard error what is true of it.
pub fn fleet(matches: &ArgMatches) -> Result<u8, Failure> {
    let number = |name: &str, usual: u32| matches.get_one(name).copied().unwrap_or(usual);
    let (hosts, seed) = (number("hosts", 1000), number("seed", 1));
    let world = World::of(hosts, seed.into(), matches.get_flag("plant"));
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    match simulated::write(world, &mut out) {
        Ok(truth) => {
            output::note(&format!(
                "seed {seed}: {} affected, {} clear; {} duplicates, {} older ones, {} wrong clocks, {} \
                 verdicts against their own counts, {} lines that are no record",
                truth.affected,
                truth.clear,
                truth.duplicates,
                truth.superseded,
                truth.wrong_clocks,
                truth.liars,
                truth.hostile
            ));
            Ok(0)
        }
        // A reader that has gone away, as `head` does, needs nothing more.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::need(format!(
            "standard output: {error}; free some room or write elsewhere"
        ))),
    }
}
