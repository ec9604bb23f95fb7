//! The two study files that are compared, and whether that is possible at all.

use crate::commands::run::RunContext;
use crate::commands::study::{HowPlanned, PlannedFile, planned, take_calibrated};
use crate::exit::Failure;
use model::record::Plan;
use model::{Machine, Role};
use scenarios::erlang::Otps;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The study of either side: before, after.
pub struct TwoStudies([PlannedFile; 2]);

impl TwoStudies {
    /// Reads both files and checks them against each other; no trial is run.
    ///
    /// # Errors
    /// If one of them cannot be used, or the two have nothing that could be compared.
    pub fn read(
        files: [&Path; 2],
        how: HowPlanned,
        machine: &Machine,
        otps: &Otps,
    ) -> Result<Self, Failure> {
        let [before, after] = files.map(|file| planned(file, how, machine, otps));
        let two = TwoStudies([before?, after?]);
        two.obstacle().map_or(Ok(two), |why| {
            let [before, after] = files.map(Path::display);
            Err(Failure::usage(format!("{before} and {after}: {why}")))
        })
    }

    /// Either side.
    pub fn of(&self, side: usize) -> &PlannedFile {
        &self.0[side]
    }

    /// The figures that are judged: each is one chance to be wrong.
    pub fn judged(&self) -> usize {
        common_cases(&self.0[0].plan, &self.0[1].plan).len() * (1 + self.0[0].plan.also.len())
    }

    /// Blocks of a run.
    pub fn blocks(&self) -> u32 {
        self.0.iter().map(|side| side.plan.max_blocks).max().unwrap_or(0)
    }

    /// How long the two runs of a pair take, about.
    pub fn pair_time(&self) -> Duration {
        let of = |side: &PlannedFile| -> Duration {
            let block = side.scenario.expected_of_block(&side.plan.arms, side.plan.wash_out);
            block.saturating_mul(side.plan.max_blocks)
        };
        self.0.iter().map(of).sum()
    }

    /// Tries out what the scenario decides by trying: once for all runs of both sides, since a rate
    /// that each found for itself would be one more difference between them.
    ///
    /// # Errors
    /// If it cannot be tried out, or the user interrupts.
    pub fn calibrate(&mut self, context: &RunContext) -> Result<(), Failure> {
        let [before, after] = &mut self.0;
        calibrate(before, context)?;
        take_calibrated(&mut after.plan, &before.plan);
        calibrate(after, context)
    }

    /// Why the two could not be compared however they are run.
    fn obstacle(&self) -> Option<String> {
        let [before, after] = &self.0;
        let (was, is) = (before.scenario.meta().id, after.scenario.meta().id);
        if was != is {
            return Some(format!("of {was} and of {is}; name two studies of one scenario"));
        }
        if (&before.plan.judging, &before.plan.also) != (&after.plan.judging, &after.plan.also) {
            return Some("they are judged by different figures or margins".to_owned());
        }
        let common = common_cases(&before.plan, &after.plan);
        common.is_empty().then(|| {
            "no arm with the cause is in both; give both the same [factors], and put what is \
             compared into [fixed]"
                .to_owned()
        })
    }
}

fn calibrate(side: &mut PlannedFile, context: &RunContext) -> Result<(), Failure> {
    side.scenario
        .calibrate(&mut side.plan.arms, &context.host(), &|| context.interrupted())
        .map_err(|error| Failure::of(error, Some(side.scenario.meta())))
}

fn common_cases<'p>(before: &'p Plan, after: &'p Plan) -> BTreeSet<&'p str> {
    let [before, after] = [before, after].map(|plan| -> BTreeSet<&str> {
        let cases = plan.arms.iter().filter(|arm| arm.role == Role::Case);
        cases.map(|arm| arm.id.as_str()).collect()
    });
    before.intersection(&after).copied().collect()
}
