//! The anytime-valid test of a study.
//!
//! In each block every control and every case runs once, in random order. If no arm had an
//! effect, each reading of a control and its cases could equally have come from any of them,
//! whatever the drift and the noise of the machine. So the random order alone gives the
//! probability that the control is the best trial, and no model of the noise is needed. Several
//! controls, each with its own cases, are permuted independently.

use crate::bet::{AbsenceBets, EffectBet, MOST_WEALTH};
use model::State;

/// The wealth at which a claim is made: one divided by its error rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// For "affected".
    pub affected: f64,
    /// For "not affected".
    pub not_affected: f64,
}

impl Thresholds {
    /// The same threshold for both claims.
    pub fn both(wealth: f64) -> Self {
        Thresholds { affected: wealth, not_affected: wealth }
    }
}

/// The evidence of all whole blocks so far, for some arms compared with their controls.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    margin: f64,
    control_limit: f64,
    blocks: u32,
    /// The index of each arm's control among the controls.
    control_of: Vec<usize>,
    /// For each control, the bet on all of its arms together.
    together: Vec<EffectBet>,
    effects: Vec<EffectBet>,
    absences: Vec<AbsenceBets>,
}

impl Evidence {
    /// Evidence without blocks, for this number of arms with one control. Differences up to
    /// `margin` do not matter.
    pub fn new(arms: usize, margin: f64) -> Self {
        Self::with_controls(&vec![0; arms], margin)
    }

    /// Evidence without blocks. Each arm is given by the index of its control among the controls.
    pub fn with_controls(control_of: &[usize], margin: f64) -> Self {
        let controls = control_of.iter().map(|control| control + 1).max().unwrap_or(0);
        let arms_of = |control: usize| control_of.iter().filter(|c| **c == control).count();
        Evidence {
            margin,
            control_limit: 0.0,
            blocks: 0,
            control_of: control_of.to_vec(),
            together: (0..controls).map(|control| EffectBet::among(arms_of(control))).collect(),
            effects: vec![EffectBet::among(1); control_of.len()],
            absences: vec![AbsenceBets::default(); control_of.len()],
        }
    }

    /// The same evidence, if up to `limit` above the margin can be noise of the control.
    pub fn with_limit(self, limit: f64) -> Self {
        Evidence { control_limit: limit, ..self }
    }

    /// Evidence from counts: for each control the bet on all of its arms together, and for each
    /// arm the index of its control and the bets on it.
    pub fn of(
        margin: f64,
        blocks: u32,
        together: Vec<EffectBet>,
        arms: Vec<(usize, EffectBet, AbsenceBets)>,
    ) -> Self {
        let (control_of, bets): (Vec<usize>, Vec<_>) =
            arms.into_iter().map(|(control, effect, absence)| (control, (effect, absence))).unzip();
        let (effects, absences) = bets.into_iter().unzip();
        Evidence { margin, control_limit: 0.0, blocks, control_of, together, effects, absences }
    }

    /// The bet on all arms of each control together.
    pub fn together(&self) -> &[EffectBet] {
        &self.together
    }

    /// For each arm, the index of its control and the bets on it.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &EffectBet, &AbsenceBets)> {
        let bets = self.effects.iter().zip(&self.absences).zip(&self.control_of);
        bets.map(|((effect, absence), control)| (*control, effect, absence))
    }

    /// Adds a block: the readings of the controls, one reading of each arm, and the most that each
    /// of these may be. Lower is better.
    ///
    /// A reading that was cut off counts with its known value, for which every order of the trials
    /// is as probable as for the whole value. That an arm has no stall is shown only by the most
    /// that its reading may be. A reading that hung is infinite. An arm without its control is left
    /// out.
    pub fn record(&mut self, controls: &[f64], arms: &[f64], most: &[f64]) {
        self.blocks = self.blocks.saturating_add(1);
        for (place, (bet, control)) in self.together.iter_mut().zip(controls).enumerate() {
            let own = self.control_of.iter().zip(arms).filter(|(control, _)| **control == place);
            let own: Vec<f64> = own.map(|(_, arm)| *arm).collect();
            if let Some(best) = control_is_best(*control, &own, self.margin) {
                bet.record(best);
            }
        }
        let bets = self.effects.iter_mut().zip(&mut self.absences).zip(&self.control_of);
        for (((effect, absence), control), (arm, most)) in bets.zip(arms.iter().zip(most)) {
            let Some(control) = controls.get(*control) else { continue };
            if let Some(best) = control_is_best(*control, &[*arm], self.margin) {
                effect.record(best);
            }
            absence.record(*control, *most, self.margin, self.control_limit);
        }
    }

    /// Blocks that were added.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The bets against a stall of each arm.
    pub fn absences(&self) -> &[AbsenceBets] {
        &self.absences
    }

    /// Evidence against "no arm has an effect".
    ///
    /// One half is the bet on all arms of a block together; the other half is the mean of the
    /// bets on each arm alone. A mean of such wealths is again a wealth (Vovk and Wang 2021,
    /// "E-values: calibration, combination and applications", Annals of Statistics 49,
    /// 1736-1754). Without any effect, the orders among the arms of different controls are
    /// independent. So the bets on different controls are multiplied.
    pub fn effect(&self) -> f64 {
        let arms = self.effects.len();
        if arms == 0 {
            return 1.0;
        }
        let alone: f64 = self.effects.iter().map(|bet| bet.wealth() / arms as f64).sum();
        // Logarithms are used because a product of the largest and the smallest wealth can be
        // undefined.
        let together: f64 = self.together.iter().map(|bet| bet.wealth().ln()).sum();
        together.min(MOST_WEALTH.ln()).exp() / 2.0 + alone / 2.0
    }

    /// Evidence against "this arm has no effect", from only this arm and its control.
    pub fn effect_of(&self, arm: usize) -> f64 {
        self.effects.get(arm).map_or(1.0, EffectBet::wealth)
    }

    /// Evidence against "an arm stalls in a third of the blocks": the smallest evidence of any
    /// arm.
    pub fn absence(&self) -> f64 {
        self.absences.iter().map(AbsenceBets::wealth).reduce(f64::min).unwrap_or(1.0)
    }

    /// Whether each arm is settled to be affected.
    ///
    /// By closed testing (Marcus, Peritz and Gabriel 1976, Biometrika 63, 655-660), an arm is
    /// named if the mean wealth reaches the threshold in every set of arms that contains it (Vovk
    /// and Wang 2021, as above). Among sets of one size, the set with the least wealth contains
    /// the poorest other arms, so one set for each size is enough. The study as a whole has to
    /// reach the threshold too. So no arm is affected in a study that is not affected.
    pub fn named(&self, threshold: f64) -> Vec<bool> {
        let wealth: Vec<f64> = self.effects.iter().map(EffectBet::wealth).collect();
        let study = self.effect() >= threshold;
        (0..wealth.len()).map(|arm| study && worst_mean(&wealth, arm) >= threshold).collect()
    }

    /// Whether each arm is settled to be without the stall: its absence is shown, and an effect
    /// is not.
    pub fn absent(&self, thresholds: Thresholds) -> Vec<bool> {
        let Thresholds { affected, not_affected } = thresholds;
        let bets = self.effects.iter().zip(&self.absences);
        bets.map(|(effect, absence)| absence.wealth() >= not_affected && effect.wealth() < affected)
            .collect()
    }

    /// The verdict, if no arm hung more often than its control.
    pub fn state(&self, thresholds: Thresholds) -> State {
        let absent = self.absent(thresholds);
        if self.effect() >= thresholds.affected {
            State::Affected
        } else if !absent.is_empty() && absent.into_iter().all(|absent| absent) {
            State::NotAffected
        } else {
            State::Inconclusive
        }
    }

    /// The total number of blocks after which the evidence would be enough, if the next blocks
    /// are like those so far. `None` if more than `most` blocks are needed.
    pub fn blocks_to_settle(&self, thresholds: Thresholds, most: u32) -> Option<u32> {
        let seen = self.blocks.max(1);
        (self.blocks + 1..=most).find(|blocks| {
            let more = self.scaled(f64::from(*blocks) / f64::from(seen));
            more.state(thresholds) != State::Inconclusive
        })
    }

    fn scaled(&self, factor: f64) -> Evidence {
        Evidence {
            margin: self.margin,
            control_limit: self.control_limit,
            blocks: self.blocks,
            control_of: self.control_of.clone(),
            together: self.together.iter().map(|bet| bet.scaled(factor)).collect(),
            effects: self.effects.iter().map(|bet| bet.scaled(factor)).collect(),
            absences: self.absences.iter().map(|bet| bet.scaled(factor)).collect(),
        }
    }
}

/// Whether the control is the best trial; `None` if no trial is clearly the best.
///
/// Which trial is best depends only on the readings, not on their arms. So in random order each
/// arm has the same probability to be the best.
fn control_is_best(control: f64, arms: &[f64], margin: f64) -> Option<bool> {
    let best_arm = arms.iter().copied().reduce(f64::min)?;
    let others_of_arm = || {
        let place = arms.iter().position(|arm| *arm == best_arm);
        arms.iter().enumerate().filter(move |(i, _)| Some(*i) != place).map(|(_, arm)| *arm)
    };
    if best_arm - control > margin {
        return Some(true);
    }
    let second = others_of_arm().fold(control, f64::min);
    (second - best_arm > margin).then_some(false)
}

/// The smallest mean wealth of any set of arms that contains this arm.
fn worst_mean(wealth: &[f64], arm: usize) -> f64 {
    let mut others: Vec<f64> =
        wealth.iter().enumerate().filter(|(i, _)| *i != arm).map(|(_, wealth)| *wealth).collect();
    others.sort_by(f64::total_cmp);
    let (mut sum, mut worst) = (wealth[arm], wealth[arm]);
    for (i, other) in others.iter().enumerate() {
        sum += other;
        worst = worst.min(sum / (i as f64 + 2.0));
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: Thresholds = Thresholds { affected: 20.0, not_affected: 20.0 };

    /// Adds a block whose readings are all known.
    fn add(evidence: &mut Evidence, controls: &[f64], arms: &[f64]) {
        evidence.record(controls, arms, arms);
    }

    /// Blocks until the study is settled, if all blocks are equal.
    fn blocks_until(control: f64, arms: &[f64]) -> (u32, State) {
        let mut evidence = Evidence::new(arms.len(), 1.0);
        while evidence.state(BOTH) == State::Inconclusive {
            add(&mut evidence, &[control], arms);
            assert!(evidence.blocks() < 1000);
        }
        (evidence.blocks(), evidence.state(BOTH))
    }

    #[test]
    fn a_stall_that_always_strikes_takes_five_blocks_for_one_arm_and_three_for_three() {
        assert_eq!(blocks_until(0.0, &[500.0]), (5, State::Affected));
        assert_eq!(blocks_until(0.0, &[500.0; 3]), (3, State::Affected));
    }

    #[test]
    fn a_clean_study_takes_ten_blocks_whatever_the_number_of_arms() {
        assert_eq!(blocks_until(0.0, &[0.0]), (10, State::NotAffected));
        assert_eq!(blocks_until(0.0, &[0.5, 0.0, 1.0]), (10, State::NotAffected));
    }

    #[test]
    fn a_reading_that_may_be_larger_does_not_show_that_there_is_no_stall() {
        let mut cut_off = Evidence::new(1, 1.0);
        (0..1000).for_each(|_| cut_off.record(&[0.0], &[0.5], &[f64::INFINITY]));
        assert_eq!(cut_off.state(BOTH), State::Inconclusive);
        let mut rarely = Evidence::new(1, 1.0);
        (0..40).for_each(|block| {
            let most = if block % 10 == 0 { f64::INFINITY } else { 0.5 };
            rarely.record(&[0.0], &[0.5], &[most]);
        });
        assert_eq!(rarely.state(BOTH), State::NotAffected);
        let mut stalls = Evidence::new(1, 1.0);
        (0..5).for_each(|_| stalls.record(&[0.0], &[9.0], &[f64::INFINITY]));
        assert_eq!(stalls.state(BOTH), State::Affected);
    }

    #[test]
    fn an_arm_that_is_a_little_better_in_most_blocks_may_stall_in_the_others() {
        let seen = |stall: f64| {
            let mut evidence = Evidence::new(1, 2.0).with_limit(5.0);
            for block in 0..31 {
                let arm = if block % 8 < 3 { 3.5 + stall } else { 0.7 };
                add(&mut evidence, &[3.5], &[arm]);
            }
            evidence.state(BOTH)
        };
        assert_eq!(seen(60.0), State::Inconclusive);
        assert_eq!(seen(7.1), State::Inconclusive);
        assert_eq!(seen(6.9), State::NotAffected, "as far as noise of the control may reach");
    }

    #[test]
    fn no_arms_settle_nothing() {
        let mut evidence = Evidence::new(0, 1.0);
        (0..100).for_each(|_| add(&mut evidence, &[0.0], &[]));
        assert_eq!(evidence.state(BOTH), State::Inconclusive);
        assert_eq!((evidence.effect(), evidence.absence()), (1.0, 1.0));
        assert_eq!(evidence.blocks_to_settle(BOTH, 1000), None);
    }

    #[test]
    fn the_arm_that_stalls_is_named_and_the_quiet_one_is_not() {
        let mut evidence = Evidence::new(2, 1.0);
        (0..14).for_each(|_| add(&mut evidence, &[0.0], &[900.0, 0.0]));
        assert_eq!(evidence.named(20.0), [true, false]);
        assert_eq!(evidence.absent(BOTH), [false, true]);
        assert_eq!(evidence.state(BOTH), State::Affected);
    }

    #[test]
    fn the_need_for_blocks_is_foreseen() {
        let mut evidence = Evidence::new(1, 1.0);
        (0..3).for_each(|_| add(&mut evidence, &[0.0], &[500.0]));
        assert_eq!(evidence.blocks_to_settle(BOTH, 1000), Some(5));
        let mut evidence = Evidence::new(1, 1.0);
        (0..7).for_each(|_| add(&mut evidence, &[0.0], &[0.0]));
        assert_eq!(evidence.blocks_to_settle(BOTH, 1000), Some(10));
        assert_eq!(evidence.blocks_to_settle(BOTH, 9), None);
    }

    #[test]
    fn a_best_trial_has_to_be_clearly_so() {
        assert_eq!(control_is_best(0.0, &[5.0, 9.0], 1.0), Some(true));
        assert_eq!(control_is_best(5.0, &[0.0, 9.0], 1.0), Some(false));
        assert_eq!(control_is_best(5.0, &[0.0, 0.5], 1.0), None);
        assert_eq!(control_is_best(0.0, &[1.0], 1.0), None);
        assert_eq!(control_is_best(5.0, &[0.0, 0.0], 0.0), None);
        assert_eq!(control_is_best(5.0, &[], 0.0), None);
    }

    fn arms_of(readings: &[f64], control: usize) -> Vec<f64> {
        readings.iter().enumerate().filter(|(i, _)| *i != control).map(|(_, r)| *r).collect()
    }

    /// All assignments of the readings of a block to the arms.
    fn assignments(readings: &[f64]) -> Vec<Vec<f64>> {
        if readings.is_empty() {
            return vec![Vec::new()];
        }
        let first = |i: usize| {
            assignments(&arms_of(readings, i)).into_iter().map(move |mut rest| {
                rest.insert(0, readings[i]);
                rest
            })
        };
        (0..readings.len()).flat_map(first).collect()
    }

    fn block() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0u8..6).prop_map(f64::from), 3)
    }

    #[test]
    fn pairs_with_a_control_each_add_up() {
        let mut evidence = Evidence::with_controls(&[0, 1], 1.0);
        (0..3).for_each(|_| add(&mut evidence, &[0.0, 100.0], &[500.0, 600.0]));
        let one = evidence.effect_of(0);
        assert!((evidence.effect() - (one * one / 2.0 + one / 2.0)).abs() < 1e-9);
        // A hang exceeds every figure, and two hangs cannot be compared.
        let mut evidence = Evidence::with_controls(&[0], 1.0);
        (0..6).for_each(|_| add(&mut evidence, &[900.0], &[f64::INFINITY]));
        assert_eq!(evidence.state(BOTH), State::Affected);
        let mut evidence = Evidence::with_controls(&[0], 1.0);
        (0..30).for_each(|_| add(&mut evidence, &[f64::INFINITY], &[f64::INFINITY]));
        assert_eq!(evidence.state(BOTH), State::Inconclusive);
        // An arm without its control shows nothing.
        let mut evidence = Evidence::with_controls(&[3], 1.0);
        (0..30).for_each(|_| add(&mut evidence, &[0.0], &[9.0]));
        assert_eq!(evidence.state(BOTH), State::Inconclusive);
    }

    proptest! {
        /// The same for two pairs with a control each: each pair is permuted separately.
        #[test]
        fn no_order_within_pairs_is_favoured(
            past in prop::collection::vec((block(), block()), 0..12), next in (block(), block()),
        ) {
            let mut before = Evidence::with_controls(&[0, 1], 1.0);
            past.iter().for_each(|(a, b)| add(&mut before, &[a[0], b[0]], &[a[1], b[1]]));
            let (a, b) = next;
            let mut mean = 0.0;
            for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let mut after = before.clone();
                add(&mut after, &[a[first], b[second]], &[a[1 - first], b[1 - second]]);
                mean += after.effect() / 4.0;
            }
            prop_assert!((mean / before.effect() - 1.0).abs() < 1e-9);
        }

        /// The martingale property itself: averaged over all assignments of a block's readings to
        /// the arms, the evidence stays the same, after any past.
        #[test]
        fn no_assignment_of_a_block_is_favoured(
            past in prop::collection::vec(block(), 0..12), next in block(), margin in 0u8..3,
        ) {
            let mut before = Evidence::new(2, f64::from(margin));
            past.iter().for_each(|block| add(&mut before, &block[..1], &block[1..]));
            let after: Vec<Evidence> = assignments(&next).iter().map(|block| {
                let mut after = before.clone();
                add(&mut after, &block[..1], &block[1..]);
                after
            }).collect();
            prop_assert_eq!(after.len(), 6);
            let mean = |wealth: &dyn Fn(&Evidence) -> f64| {
                after.iter().map(wealth).sum::<f64>() / 6.0
            };
            prop_assert!((mean(&Evidence::effect) / before.effect() - 1.0).abs() < 1e-9);
            for arm in 0..2 {
                let now = before.effect_of(arm);
                prop_assert!((mean(&|e| e.effect_of(arm)) / now - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn wealth_is_never_negative_nor_nan(
            blocks in prop::collection::vec(prop::collection::vec(any::<f64>(), 4), 0..30),
        ) {
            let mut evidence = Evidence::new(3, 1.0);
            blocks.iter().for_each(|block| add(&mut evidence, &block[..1], &block[1..]));
            prop_assert!(evidence.effect() >= 0.0 && evidence.absence() >= 0.0);
            prop_assert!(evidence.effect().is_finite() && evidence.absence().is_finite());
        }

        /// The sorted search names the same arms as a search through all sets.
        #[test]
        fn closed_testing_is_that_over_all_sets(
            wealth in prop::collection::vec(0.0f64..100.0, 1..7),
        ) {
            for arm in 0..wealth.len() {
                let worst = (1u32..1 << wealth.len()).filter(|set| set >> arm & 1 == 1).map(|set| {
                    let members = wealth.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
                    members.map(|(_, wealth)| wealth).sum::<f64>() / f64::from(set.count_ones())
                }).fold(f64::INFINITY, f64::min);
                prop_assert!((worst_mean(&wealth, arm) - worst).abs() < 1e-9);
            }
        }
    }
}
