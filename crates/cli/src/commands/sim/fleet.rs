//! `tailback sim fleet`: brief records of a simulated fleet with a known answer.

use crate::command::{Failure, Run, Session, below};
use crate::output;
use census::simulated::{self, World};
use std::io::{BufWriter, ErrorKind};

/// Print brief records of a simulated fleet, to test tailback census.
///
/// There is one record per line. The true answer is known, and is printed on standard error. The
/// fleet has groups of unequal sizes, wrong answers, wrong clocks, duplicates and lines that are
/// no records. The same seed gives the same bytes.
#[derive(clap::Args)]
#[command(after_help = below("", [
    "tailback sim fleet | tailback census -",
    "tailback sim fleet --hosts 100000 --plant > fleet.jsonl",
]))]
pub struct SimFleet {
    /// Number of hosts
    #[arg(long, value_name = "N", default_value_t = 1000)]
    hosts: u32,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u32,
    /// Make hosts with kernel 6.1 and HZ 250 affected, so that census has a group to find
    #[arg(long)]
    plant: bool,
}

impl Run for SimFleet {
    fn run(&self, _: &Session) -> Result<u8, Failure> {
        let seed = self.seed;
        let world = World::of(self.hosts, seed.into(), self.plant);
        let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
        match simulated::write(world, &mut out) {
            Ok(truth) => {
                output::note(&format!(
                    "seed {seed}: {} affected, {} clear; {} duplicates, {} older records, {} wrong \
                     clocks, {} verdicts that contradict their counts, {} lines that are not \
                     records",
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
            // A reader that has gone, such as `head`, needs nothing more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
            Err(error) => Err(Failure::need(format!(
                "standard output: {error}; free some disk space or write elsewhere"
            ))),
        }
    }
}
