//! Pairs of runs with known offsets, for comparisons.
//!
//! An offset shifts a whole run and not single trials, so only other runs can show how large it
//! is. It may be correlated with the offset of the previous run, grow from run to run, or jump in
//! the middle.

use crate::Answer;
use crate::random::normal;
use model::{Judged, Pair};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scenarios::mmap_lock::META;
use serde::{Deserialize, Serialize};

/// The differences between the two sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Standard deviation of the offset of a run, in standard deviations of the stall within a
    /// study. Drift and step have the same unit.
    pub day_offset: f64,
    /// Whether the offset shifts only the arm with the cause. Otherwise it shifts all arms
    /// equally.
    #[serde(default)]
    pub case_alone: bool,
    /// The true additional loss of the second side, in ms/s.
    #[serde(default)]
    pub change: f64,
    /// Records per side.
    #[serde(default = "one")]
    pub records: u32,
    /// The order in which they are made.
    #[serde(default)]
    pub order: Order,
    /// Correlation between the offsets of consecutive runs (a first-order autoregressive
    /// process).
    #[serde(default)]
    pub rho: f64,
    /// Growth of the offset from each run to the next.
    #[serde(default)]
    pub drift: f64,
    /// Increase of the offset from the middle of all runs on.
    #[serde(default)]
    pub step: f64,
}

fn one() -> u32 {
    1
}

/// The order in which the records of the two sides are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Before, after, before, after.
    #[default]
    Strict,
    /// Before, after, after, before.
    TurnedRound,
    /// Random in each pair; the records contain the order.
    Chance,
}

/// A run to be simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Whether it belongs to the second side.
    pub after: bool,
    /// Its offset, in standard deviations of the stall within a study.
    pub offset: f64,
    /// Its start (RFC 3339, UTC).
    pub started: String,
    /// Its pair, if the order was random.
    pub pair: Option<Pair>,
}

impl Compare {
    /// The runs, in the order in which they are made.
    pub fn runs(&self, rng: &mut ChaCha8Rng, seed: u64) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut correlated = normal(rng);
        for number in 0..self.records {
            let after_first = match self.order {
                Order::Strict => false,
                Order::TurnedRound => number % 2 == 1,
                Order::Chance => rng.random_bool(0.5),
            };
            for second in [false, true] {
                let place = 2 * number + u32::from(second);
                let late = if place >= self.records { self.step } else { 0.0 };
                let offset = correlated + self.drift * f64::from(place) + late;
                correlated =
                    self.rho * correlated + (1.0 - self.rho * self.rho).sqrt() * normal(rng);
                runs.push(Run {
                    after: after_first != second,
                    offset: self.day_offset * offset,
                    started: hour(place),
                    pair: (self.order == Order::Chance).then_some(Pair {
                        seed,
                        number: number + 1,
                        first: !second,
                    }),
                });
            }
        }
        runs
    }
}

/// The start of a run, one hour after that of the previous run.
fn hour(place: u32) -> String {
    format!("1970-01-{:02}T{:02}:00:00Z", 1 + place / 24 % 28, place % 24)
}

/// The answer of `tailback compare` for two sides.
pub fn compared(before: &[Judged], after: &[Judged]) -> Answer {
    let before: Vec<(&Judged, &str)> = before.iter().map(|record| (record, "before")).collect();
    let after: Vec<(&Judged, &str)> = after.iter().map(|record| (record, "after")).collect();
    let sides = analysis::Sides {
        before: &before,
        after: &after,
        meta: Some(&META),
        across: &[],
        among: 1,
    };
    analysis::change(&sides).state.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn of(records: u32, order: Order, rho: f64) -> Compare {
        let (case_alone, change, drift, step) = (true, 0.0, 0.0, 0.0);
        Compare { day_offset: 1.0, case_alone, change, records, order, rho, drift, step }
    }

    fn runs(compare: &Compare) -> Vec<Run> {
        compare.runs(&mut ChaCha8Rng::seed_from_u64(1), 7)
    }

    #[test]
    fn orders_are_what_they_are_called() {
        let sides =
            |order| -> Vec<bool> { runs(&of(4, order, 0.0)).iter().map(|run| run.after).collect() };
        let (b, a) = (false, true);
        assert_eq!(sides(Order::Strict), [b, a, b, a, b, a, b, a]);
        assert_eq!(sides(Order::TurnedRound), [b, a, a, b, b, a, a, b]);
        let by_chance = runs(&of(400, Order::Chance, 0.0));
        let after_first = by_chance.iter().step_by(2).filter(|run| run.after).count();
        // The limits are five standard deviations of a fair coin.
        assert!((150..250).contains(&after_first), "{after_first}");
        for two in by_chance.chunks(2) {
            let pairs = [0, 1].map(|place| two[place].pair.unwrap());
            assert!(pairs[0].first && !pairs[1].first && pairs[0].number == pairs[1].number);
            assert!(two[0].after != two[1].after);
        }
    }

    #[test]
    fn offsets_have_the_correlation_drift_and_step_that_they_are_given() {
        for rho in [-0.8, 0.0, 0.8] {
            let offsets: Vec<f64> =
                runs(&of(5000, Order::Chance, rho)).iter().map(|run| run.offset).collect();
            let products = offsets.windows(2).map(|two| two[0] * two[1]).sum::<f64>();
            let found = products / offsets.iter().map(|one| one * one).sum::<f64>();
            // The limit is five standard errors for 10,000 uncorrelated offsets.
            assert!((found - rho).abs() < 0.05, "{rho}: {found}");
        }
        let still = of(2, Order::Strict, 0.0);
        let moved = runs(&Compare { drift: 1.0, step: 10.0, ..still.clone() });
        let by: Vec<f64> = moved
            .iter()
            .zip(runs(&still))
            .map(|(moved, still)| moved.offset - still.offset)
            .collect();
        for (found, wanted) in by.iter().zip([0.0, 1.0, 12.0, 13.0]) {
            assert!((found - wanted).abs() < 1e-9, "{by:?}");
        }
    }
}
