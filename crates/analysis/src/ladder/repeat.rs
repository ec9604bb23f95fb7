//! Steps that are run again. Two runs of one version may differ as much as two versions do. So a
//! step is a boundary only if fresh runs differ in the same way.

use super::way::{Way, effect};
use super::{POWER, widest_half};
use model::ladder::{Ladder, Repeated, Spread, Step};
use model::{Judged, Meta};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use std::collections::BTreeMap;

/// Most steps that are repeated: those with the largest differences.
const MOST: usize = 3;

/// A step of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// The step with this index.
    Neighbours(usize),
    /// From the first version to the last.
    Ends,
}

impl Between {
    /// The step.
    pub fn of(self, ladder: &Ladder) -> Option<&Step> {
        match self {
            Between::Neighbours(number) => ladder.steps.get(number),
            Between::Ends => ladder.whole.as_ref(),
        }
    }

    /// The step, to add more to it.
    pub fn of_mut(self, ladder: &mut Ladder) -> Option<&mut Step> {
        match self {
            Between::Neighbours(number) => ladder.steps.get_mut(number),
            Between::Ends => ladder.whole.as_mut(),
        }
    }
}

/// The steps in which the first runs differ: the largest first, at most three. If the first and
/// the last version differ, that step follows. It is repeated only if [`is_due`].
pub fn to_repeat(ladder: &Ladder) -> Vec<Between> {
    let size = |step: &Step| step.shift.as_ref().map_or(0.0, |shift| shift.shift.abs());
    let mut differ: Vec<(usize, &Step)> =
        ladder.steps.iter().enumerate().filter(|(_, step)| step.differs()).collect();
    differ.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    differ.truncate(MOST);
    let ends = ladder.whole.iter().filter(|step| step.differs()).map(|_| Between::Ends);
    differ.into_iter().map(|(number, _)| Between::Neighbours(number)).chain(ends).collect()
}

/// Whether a step still has to be repeated. The step from the first version to the last is
/// repeated only if no step between them is a boundary.
pub fn is_due(ladder: &Ladder, between: Between) -> bool {
    between != Between::Ends || !ladder.steps.iter().any(Step::is_boundary)
}

/// Pairs that a step needs if `among` steps may be repeated.
fn needed(ladder: &Ladder, among: usize) -> usize {
    let error_rate = (1.0 - ladder.confidence) / among.max(1) as f64;
    error_rate.log(0.5).ceil().max(1.0) as usize
}

/// A step that is being repeated.
///
/// Each pair is a fresh run of each version, side by side, in random order. Suppose that runs of
/// both have the same distribution, or one that is shifted by at most the margin. Then a pair
/// goes in the direction of the first runs by more than the margin in at most half of all cases,
/// however much two runs of a version differ. The reason is that their difference is symmetric
/// (the sign test; Arbuthnott 1710). The first runs, which selected the step and the direction,
/// are not counted. So n pairs that all go that way have a probability of at most 2^-n. The error
/// rate is split over the steps that are repeated.
#[derive(Debug)]
pub struct Repeating<'a> {
    way: Way<'a>,
    rises: bool,
    so_far: Repeated,
    is_over: bool,
}

impl<'a> Repeating<'a> {
    /// Repeats a step of this ladder; `among` steps may be repeated in all. `None` if its
    /// versions were not compared. `by` names the parameter that selects the version.
    pub fn new(
        ladder: &'a Ladder,
        between: Between,
        among: usize,
        meta: Option<&'a Meta>,
        by: Option<&'a str>,
    ) -> Option<Self> {
        let shift = between.of(ladder)?.shift.as_ref()?;
        let needed = needed(ladder, among);
        Some(Repeating {
            way: Way { arm: ladder.arm.as_deref(), meta, by, among: 1 },
            rises: shift.shift > 0.0,
            so_far: Repeated { pairs: Vec::new(), alike: 0, needed, among },
            is_over: false,
        })
    }

    /// Pairs that are needed.
    pub fn needed(&self) -> usize {
        self.so_far.needed
    }

    /// Whether the result is settled, so that no further pair can change it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Adds a pair. Returns whether the two could be compared.
    pub fn add(&mut self, before: &Judged, after: &Judged) -> bool {
        let change = self.way.change((before, "before"), (after, "after"));
        let Some(found) = self.way.judged(&change, before) else { return false };
        let Some(margin) = found.margin else { return false };
        self.count(found.comparison.shift, margin);
        true
    }

    /// Counts a pair with this difference.
    fn count(&mut self, shift: f64, margin: f64) {
        let towards = if self.rises { shift } else { -shift };
        self.so_far.pairs.push(shift);
        self.so_far.alike += usize::from(towards > margin);
        self.is_over = towards <= margin || self.so_far.holds();
    }

    /// The result of the pairs.
    pub fn end(self) -> Repeated {
        self.so_far
    }
}

/// Sets how much runs of one version differ; `None` if no version was run twice. Each run comes
/// with the name of its version.
pub fn add_spread<'r>(ladder: &mut Ladder, runs: impl IntoIterator<Item = (&'r str, &'r Judged)>) {
    ladder.spread = spread(ladder, runs);
}

/// Sets the size of the step that would have been named; `None` if no version was run twice.
///
/// It is the approximate size of the smallest step that would be named with a probability of 95%,
/// if runs are normally distributed. The first runs have to differ by the margin and half of
/// their interval, and each fresh pair by the margin. The difference of two runs has the square
/// root of two times the deviation of one run. For that deviation, the upper limit with the same
/// probability is used (chi-squared).
pub fn add_would_be_named(ladder: &mut Ladder) {
    ladder.would_be_named = would_be_named(ladder);
}

fn would_be_named(ladder: &Ladder) -> Option<f64> {
    let spread = ladder.spread?;
    let freedom = spread.runs.checked_sub(spread.versions).filter(|freedom| *freedom > 0)? as f64;
    let low = ChiSquared::new(freedom).ok()?.inverse_cdf(1.0 - POWER);
    let of_two = (2.0 * freedom / low).sqrt() * spread.deviation;
    // A ladder with such a step would repeat that step, and also the step between the ends if
    // there is one.
    let among = to_repeat(ladder).len().max(1 + usize::from(ladder.whole.is_some()));
    let all_differ = needed(ladder, among) as f64 + 1.0;
    let away = Normal::standard().inverse_cdf(POWER.powf(1.0 / all_differ)) * of_two;
    let step = ladder.margin? + widest_half(&ladder.steps)? + away;
    Some(step).filter(|step| step.is_finite())
}

/// How much runs of one version differ, for the figure and the arm that this ladder compares.
fn spread<'r>(
    ladder: &Ladder,
    runs: impl IntoIterator<Item = (&'r str, &'r Judged)>,
) -> Option<Spread> {
    let arm = ladder.arm.as_deref()?;
    let mut versions: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (version, record) in runs {
        let effects = versions.entry(version).or_default();
        effects.extend(effect(record, arm).map(|effect| effect.shift));
    }
    of_effects(versions.values().map(Vec::as_slice))
}

/// How much runs of one version differ, from the effects of each version.
fn of_effects<'e>(versions: impl Iterator<Item = &'e [f64]>) -> Option<Spread> {
    let several: Vec<&[f64]> = versions.filter(|effects| effects.len() > 1).collect();
    let runs: usize = several.iter().map(|effects| effects.len()).sum();
    let squares = |effects: &&[f64]| {
        let mean = effects.iter().sum::<f64>() / effects.len() as f64;
        effects.iter().map(|effect| (effect - mean).powi(2)).sum::<f64>()
    };
    let range = |effects: &&[f64]| {
        let ends = effects.iter().fold((f64::MAX, f64::MIN), |(low, high), effect| {
            (low.min(*effect), high.max(*effect))
        });
        ends.1 - ends.0
    };
    let most = several.iter().map(range).reduce(f64::max)?;
    let freedom = (runs - several.len()) as f64;
    let deviation = (several.iter().map(squares).sum::<f64>() / freedom).sqrt();
    Some(Spread { deviation, most, versions: several.len(), runs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ChangeState, Comparison, testing};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn differs(number: usize, shift: f64) -> Step {
        let (from, to) = (number.to_string(), (number + 1).to_string());
        Step {
            shift: Some(testing::shift(shift)),
            ..testing::step(&from, &to, ChangeState::Differs)
        }
    }

    fn repeating(shift: f64, among: usize) -> Repeating<'static> {
        let ladder = testing::ladder(vec![differs(0, shift)]);
        // The borrowed values are not used here.
        let ladder = Box::leak(Box::new(ladder));
        Repeating::new(ladder, Between::Neighbours(0), among, None, None).unwrap()
    }

    #[test]
    fn the_largest_differences_are_repeated_and_the_ends_where_none_holds() {
        let steps = [10.0, -500.0, 40.0, 30.0].iter().enumerate();
        let mut ladder = testing::ladder(steps.map(|(at, shift)| differs(at, *shift)).collect());
        ladder.whole = Some(differs(9, -420.0));
        let [a, b, c] = [1, 2, 3].map(Between::Neighbours);
        assert_eq!(to_repeat(&ladder), [a, b, c, Between::Ends]);
        assert!(is_due(&ladder, a) && is_due(&ladder, Between::Ends));
        let mut with = ladder.clone();
        with.steps[1].repeated = Some(testing::repeated(-500.0, 6));
        assert!(!is_due(&with, Between::Ends), "a boundary explains it");
        ladder.steps.iter_mut().for_each(|step| step.state = ChangeState::NoDifferenceShown);
        assert_eq!(to_repeat(&ladder), [Between::Ends]);
        ladder.whole = None;
        assert_eq!(to_repeat(&ladder), []);
    }

    #[test]
    fn so_many_pairs_are_needed_and_the_first_that_differs_not_ends_it() {
        // 2^-5 is 3.1%, 2^-6 1.6%.
        assert_eq!([1, 2, 3].map(|among| repeating(9.0, among).needed()), [5, 6, 6]);
        let mut one = repeating(-200.0, 1);
        for pair in 0..5 {
            assert!(!one.is_over(), "{pair}");
            one.count(-150.0, 20.0);
        }
        assert!(one.is_over() && one.end().holds());
        let mut one = repeating(-200.0, 1);
        one.count(-150.0, 20.0);
        one.count(-20.0, 20.0);
        assert!(one.is_over());
        let end = one.end();
        assert!(!end.holds() && (end.pairs.len(), end.alike) == (2, 1));
        let mut other_way = repeating(200.0, 1);
        other_way.count(-150.0, 20.0);
        assert!(other_way.is_over() && !other_way.end().holds());
    }

    #[test]
    fn the_spread_is_that_of_versions_that_were_run_twice() {
        let effects: [&[f64]; 3] = [&[10.0, 14.0], &[500.0], &[100.0, 100.0, 106.0]];
        let spread = of_effects(effects.into_iter()).unwrap();
        assert_eq!((spread.versions, spread.runs, spread.most), (2, 5, 6.0));
        assert!((spread.deviation - (32.0_f64 / 3.0).sqrt()).abs() < 1e-9, "{spread:?}");
        assert_eq!(of_effects([&[1.0][..]].into_iter()), None);
    }

    /// The spread of twelve runs is estimated again for each ladder. The first runs and the pairs
    /// are simulated.
    #[test]
    fn a_step_of_the_size_that_would_be_named_is() {
        let half = 10.0;
        let shift = testing::shift(1.0);
        let shift = Comparison { low: Some(1.0 - half), high: Some(1.0 + half), ..shift };
        let first = Step { shift: Some(shift), ..differs(0, 1.0) };
        let flat = Step { state: ChangeState::NoDifferenceShown, ..differs(9, 1.0) };
        let with = |spread, whole: bool| {
            let whole = whole.then(|| flat.clone());
            let ladder = testing::ladder(vec![first.clone()]);
            Ladder { margin: Some(20.0), spread, whole, ..ladder }
        };
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut run = || 30.0 * ((0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0);
        for whole in [false, true] {
            let pairs = needed(&with(None, whole), 1 + usize::from(whole));
            let named = (0..4_000).filter(|_| {
                let runs: Vec<f64> = (0..12).map(|_| run()).collect();
                let ladder = with(of_effects([&runs[..]].into_iter()), whole);
                let size = would_be_named(&ladder).unwrap();
                let mut differ = || size + run() - run();
                differ() - half > 20.0 && (0..pairs).all(|_| differ() > 20.0)
            });
            let share = named.count() as f64 / 4_000.0;
            assert!((0.95..1.0).contains(&share), "{share}");
        }
        assert_eq!(would_be_named(&with(None, false)), None);
    }

    /// Runs of one version differ by as much as blocks do, and by three times that. The first
    /// runs show a difference in some steps, and fresh runs do not.
    #[test]
    fn equal_versions_get_a_boundary_in_less_than_one_ladder_of_twenty() {
        const LADDERS: usize = 4_000;
        let mut random = ChaCha8Rng::seed_from_u64(33);
        for (spread, margin) in [(1.0, 0.0), (3.0, 0.0), (3.0, 1.0)] {
            let run = |random: &mut ChaCha8Rng| {
                let noise: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                noise * spread
            };
            let mut named = 0;
            for _ in 0..LADDERS {
                let firsts: Vec<f64> = (0..12).map(|_| run(&mut random)).collect();
                let two = firsts.windows(2).enumerate();
                let steps: Vec<Step> = two
                    .map(|(at, two)| differs(at, two[1] - two[0]))
                    .map(|step| match step.shift.as_ref().unwrap().shift.abs() > margin {
                        true => step,
                        false => Step { state: ChangeState::NoDifferenceShown, ..step },
                    })
                    .collect();
                let ladder = testing::ladder(steps);
                let again = to_repeat(&ladder);
                let one = |between: &Between, random: &mut ChaCha8Rng| {
                    let step = Repeating::new(&ladder, *between, again.len(), None, None);
                    let mut step = step.unwrap();
                    while !step.is_over() {
                        step.count(run(random) - run(random), margin);
                    }
                    step.end().holds()
                };
                // Without the step between the ends, which such a ladder does not have.
                named += usize::from(again.iter().any(|between| one(between, &mut random)));
            }
            // Three steps with pairs at 1.6% each give 4.7% of ladders if the margin is zero.
            let most = LADDERS / 20 + 3 * ((LADDERS / 20) as f64).sqrt() as usize;
            assert!(named <= most, "spread {spread}: {named} of {LADDERS}");
        }
    }
}
