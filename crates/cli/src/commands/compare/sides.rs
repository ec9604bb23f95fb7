//! The two study files that are compared, and the check that they can be compared.

use crate::commands::run::RunContext;
use crate::commands::study::{HowPlanned, PlannedFile, planned, take_calibrated};
use crate::exit::Failure;
use model::record::Plan;
use model::{Machine, Role};
use scenarios::erlang::Otps;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The studies of both sides: before, after.
pub struct TwoStudies([PlannedFile; 2]);

impl TwoStudies {
    /// Reads both files and checks that they can be compared. No trial is run.
    ///
    /// # Errors
    /// If one of them cannot be used, or they have nothing in common that could be compared.
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

    /// The study of one side.
    pub fn of(&self, side: usize) -> &PlannedFile {
        &self.0[side]
    }

    /// The number of judged figures. Each of them is one chance to be wrong.
    pub fn judged(&self) -> usize {
        common_cases(&self.0[0].plan, &self.0[1].plan).len() * (1 + self.0[0].plan.also.len())
    }

    /// Blocks per run.
    pub fn blocks(&self) -> u32 {
        self.0.iter().map(|side| side.plan.max_blocks).max().unwrap_or(0)
    }

    /// Expected time of the two runs of a pair.
    pub fn pair_time(&self) -> Duration {
        let of = |side: &PlannedFile| -> Duration {
            let block = side.scenario.expected_of_block(&side.plan.arms, side.plan.wash_out);
            block.saturating_mul(side.plan.max_blocks)
        };
        self.0.iter().map(of).sum()
    }

    /// Runs the calibration of the scenario once, for all runs of both sides. A separate
    /// calibration for each run would be one more difference between them.
    ///
    /// # Errors
    /// If the calibration fails, or the user interrupts.
    pub fn calibrate(&mut self, context: &RunContext) -> Result<(), Failure> {
        let [before, after] = &mut self.0;
        calibrate(before, context)?;
        take_calibrated(&mut after.plan, &before.plan);
        calibrate(after, context)
    }

    /// Why the two studies could not be compared in any run.
    fn obstacle(&self) -> Option<String> {
        let [before, after] = &self.0;
        let (was, is) = (before.scenario.meta().id, after.scenario.meta().id);
        if was != is {
            return Some(format!(
                "they are studies of {was} and {is}; name two studies of one scenario"
            ));
        }
        if (&before.plan.judging, &before.plan.also) != (&after.plan.judging, &after.plan.also) {
            return Some("they are judged by different figures or margins".to_owned());
        }
        let common = common_cases(&before.plan, &after.plan);
        common.is_empty().then(|| {
            "no arm with the cause is in both studies; give both the same [factors], and put the \
             compared setting into [fixed]"
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
