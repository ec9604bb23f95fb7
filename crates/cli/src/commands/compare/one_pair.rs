//! The two runs of a pair, which take turns.

use super::files::files;
use super::sides::TwoStudies;
use crate::commands::run::{Done, Planned, RunContext, Running, begin_planned};
use crate::exit::Failure;
use crate::progress::{Among, Shared};
use model::{Pair, Plan};
use runner::End;
use std::path::{Path, PathBuf};

/// The number of sides.
const TWO: usize = 2;

/// The inputs of every pair.
pub struct Pairs<'a> {
    /// Both studies.
    pub studies: &'a TwoStudies,
    /// Where they run.
    pub context: &'a RunContext<'a>,
    /// Seed of the order in every pair.
    pub seed: u64,
    /// The folder of the records.
    pub folder: &'a Path,
    /// The progress bar.
    pub bar: &'a Shared,
}

/// A pair that was run, or only begun: before, after.
pub struct Ran {
    /// Its runs.
    pub runs: [Done; TWO],
    /// The intended files of the records.
    pub files: [PathBuf; TWO],
}

impl Pairs<'_> {
    /// Runs the pair of this number. Which side comes first is random. Then the sides take turns,
    /// one block each, so that other work on the machine affects both.
    ///
    /// # Errors
    /// If a record cannot be kept.
    pub fn run(&self, number: u32, told: &dyn Fn(u32)) -> Result<Ran, Failure> {
        let files = files(self.folder, number);
        let mut runs: [Option<Done>; TWO] = [None, None];
        let mut left: Vec<(usize, Running)> = Vec::new();
        for (place, side) in runner::order_of_block(self.seed, number, TWO).into_iter().enumerate()
        {
            left.push((side, self.begin(number, side, place == 0, &files[side])?));
        }
        let (mut is_whole, mut blocks) = (true, 0);
        while !left.is_empty() {
            for (side, mut running) in std::mem::take(&mut left) {
                let end = if is_whole { running.turn() } else { Some(End::Interrupted) };
                blocks += 1;
                told(blocks);
                match end {
                    None => left.push((side, running)),
                    Some(end) => {
                        is_whole &= matches!(end, End::Complete);
                        runs[side] = Some(running.end(end));
                    }
                }
            }
        }
        let [Some(before), Some(after)] = runs else {
            return Err(Failure::broken(format!("pair {number} does not have two runs")));
        };
        Ok(Ran { runs: [before, after], files })
    }

    fn begin(
        &self,
        number: u32,
        side: usize,
        first: bool,
        record: &Path,
    ) -> Result<Running<'_>, Failure> {
        let study = self.studies.of(side);
        // The seed is below 2^53, because JSON readers of every language keep such a number
        // exactly. Both runs of a pair share the seed, so their blocks have the same order.
        let seed = runner::seed_of_trial(self.seed, number) >> 11;
        let planned = Planned {
            scenario: study.scenario,
            plan: Plan { seed, ..study.plan.clone() },
            factorial: study.factorial.clone(),
            pair: Pair { seed: self.seed, number, first },
            record,
        };
        let name = format!("pair {number}, {}", ["before", "after"][side]);
        begin_planned(planned, self.context, Among::Pair(self.bar.clone(), name))
    }
}
