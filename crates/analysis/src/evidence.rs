//! The anytime-valid test of a study.
//!
//! In each block every arm runs once, in an order drawn by lot. If no arm had an effect, each
//! reading of the block could as well have come from any arm, however the machine drifted and
//! whatever its noise looks like. So the lot alone says how often the control is the best trial,
//! and no model of the noise is needed.

use crate::bet::{AbsenceBet, EffectBet};
use model::State;

/// The evidence of all whole blocks so far, for some arms held against the control.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    margin: f64,
    blocks: u32,
    together: EffectBet,
    effects: Vec<EffectBet>,
    absences: Vec<AbsenceBet>,
}

impl Evidence {
    /// No blocks yet, for so many arms; differences up to `margin` do not matter.
    pub fn new(arms: usize, margin: f64) -> Self {
        Evidence {
            margin,
            blocks: 0,
            together: EffectBet::among(arms),
            effects: vec![EffectBet::among(1); arms],
            absences: vec![AbsenceBet::default(); arms],
        }
    }

    /// Takes in a block: the control's reading and one of each arm, lower being better.
    ///
    /// A reading that was cut off counts as what is known of it.
    pub fn record(&mut self, control: f64, arms: &[f64]) {
        self.blocks = self.blocks.saturating_add(1);
        if let Some(best) = control_is_best(control, arms, self.margin) {
            self.together.record(best);
        }
        let bets = self.effects.iter_mut().zip(&mut self.absences);
        for ((effect, absence), arm) in bets.zip(arms) {
            if let Some(best) = control_is_best(control, &[*arm], self.margin) {
                effect.record(best);
            }
            absence.record(control, *arm, self.margin);
        }
    }

    /// Blocks taken in.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The bet on all arms of a block together.
    pub fn together(&self) -> &EffectBet {
        &self.together
    }

    /// The bet against absence of each arm.
    pub fn absences(&self) -> &[AbsenceBet] {
        &self.absences
    }

    /// Evidence against "no arm has an effect".
    ///
    /// Half is the bet on all arms of a block together, half the mean of the bets on each arm
    /// alone; a mean of such wealths is one again (Vovk and Wang 2021, "E-values: calibration,
    /// combination and applications", Annals of Statistics 49, 1736-1754).
    pub fn effect(&self) -> f64 {
        let arms = self.effects.len();
        if arms == 0 {
            return 1.0;
        }
        let alone: f64 = self.effects.iter().map(|bet| bet.wealth() / arms as f64).sum();
        self.together.wealth() / 2.0 + alone / 2.0
    }

    /// Evidence against "this arm has no effect", from this arm and the control alone.
    pub fn effect_of(&self, arm: usize) -> f64 {
        self.effects.get(arm).map_or(1.0, EffectBet::wealth)
    }

    /// Evidence against "an arm stalls in a third of the blocks", of the arm with the least.
    pub fn absence(&self) -> f64 {
        self.absences.iter().map(AbsenceBet::wealth).reduce(f64::min).unwrap_or(1.0)
    }

    /// Whether each arm is affected beyond doubt.
    ///
    /// By closed testing (Marcus, Peritz and Gabriel 1976, Biometrika 63, 655-660): an arm is named if in every set of arms that holds it the mean wealth
    /// reaches the threshold (Vovk and Wang 2021, as above). For a given size the set with the
    /// least wealth holds the poorest others, so one such set a size is enough. The study as a
    /// whole has to reach the threshold too, so that no arm is affected in a study that is not.
    pub fn named(&self, threshold: f64) -> Vec<bool> {
        let wealth: Vec<f64> = self.effects.iter().map(EffectBet::wealth).collect();
        let study = self.effect() >= threshold;
        (0..wealth.len()).map(|arm| study && worst_mean(&wealth, arm) >= threshold).collect()
    }

    /// Whether each arm is without the stall beyond doubt: its absence is shown and its effect
    /// is not.
    pub fn absent(&self, threshold: f64) -> Vec<bool> {
        let bets = self.effects.iter().zip(&self.absences);
        bets.map(|(effect, absence)| absence.wealth() >= threshold && effect.wealth() < threshold)
            .collect()
    }

    /// What follows, where no arm hung more often than the control.
    pub fn state(&self, threshold: f64) -> State {
        let absent = self.absent(threshold);
        if self.effect() >= threshold {
            State::Affected
        } else if !absent.is_empty() && absent.into_iter().all(|absent| absent) {
            State::NotAffected
        } else {
            State::Inconclusive
        }
    }

    /// After how many blocks in all the evidence would suffice, if the blocks to come are like
    /// those so far; `None` where that takes more than `most`.
    pub fn blocks_to_settle(&self, threshold: f64, most: u32) -> Option<u32> {
        let seen = self.blocks.max(1);
        (self.blocks + 1..=most).find(|blocks| {
            let more = self.scaled(f64::from(*blocks) / f64::from(seen));
            more.state(threshold) != State::Inconclusive
        })
    }

    fn scaled(&self, factor: f64) -> Evidence {
        Evidence {
            margin: self.margin,
            blocks: self.blocks,
            together: self.together.scaled(factor),
            effects: self.effects.iter().map(|bet| bet.scaled(factor)).collect(),
            absences: self.absences.iter().map(|bet| bet.scaled(factor)).collect(),
        }
    }
}

/// Whether the control is the best trial; `None` where no trial is clearly the best.
///
/// Which trial that is depends on the readings alone, not on which arm they are of, so by the
/// lot it is each arm's with the same chance.
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

/// The least mean wealth of any set of arms that holds this one.
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

    /// Blocks until the study is settled, if every block is the same.
    fn blocks_until(control: f64, arms: &[f64]) -> (u32, State) {
        let mut evidence = Evidence::new(arms.len(), 1.0);
        while evidence.state(20.0) == State::Inconclusive {
            evidence.record(control, arms);
            assert!(evidence.blocks() < 1000);
        }
        (evidence.blocks(), evidence.state(20.0))
    }

    #[test]
    fn a_stall_that_always_strikes_takes_five_blocks_for_one_arm_and_three_for_three() {
        assert_eq!(blocks_until(0.0, &[500.0]), (5, State::Affected));
        assert_eq!(blocks_until(0.0, &[500.0; 3]), (3, State::Affected));
    }

    #[test]
    fn a_clean_study_takes_twelve_blocks_whatever_the_number_of_arms() {
        assert_eq!(blocks_until(0.0, &[0.0]), (12, State::NotAffected));
        assert_eq!(blocks_until(0.0, &[0.5, 0.0, 1.0]), (12, State::NotAffected));
    }

    #[test]
    fn no_arms_settle_nothing() {
        let mut evidence = Evidence::new(0, 1.0);
        (0..100).for_each(|_| evidence.record(0.0, &[]));
        assert_eq!(evidence.state(20.0), State::Inconclusive);
        assert_eq!((evidence.effect(), evidence.absence()), (1.0, 1.0));
        assert_eq!(evidence.blocks_to_settle(20.0, 1000), None);
    }

    #[test]
    fn the_arm_that_stalls_is_named_and_the_quiet_one_is_not() {
        let mut evidence = Evidence::new(2, 1.0);
        (0..14).for_each(|_| evidence.record(0.0, &[900.0, 0.0]));
        assert_eq!(evidence.named(20.0), [true, false]);
        assert_eq!(evidence.absent(20.0), [false, true]);
        assert_eq!(evidence.state(20.0), State::Affected);
    }

    #[test]
    fn the_need_for_blocks_is_foreseen() {
        let mut evidence = Evidence::new(1, 1.0);
        (0..3).for_each(|_| evidence.record(0.0, &[500.0]));
        assert_eq!(evidence.blocks_to_settle(20.0, 1000), Some(5));
        let mut evidence = Evidence::new(1, 1.0);
        (0..7).for_each(|_| evidence.record(0.0, &[0.0]));
        assert_eq!(evidence.blocks_to_settle(20.0, 1000), Some(12));
        assert_eq!(evidence.blocks_to_settle(20.0, 11), None);
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

    /// Every assignment of the readings of a block to the arms.
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

    proptest! {
        /// The martingale property itself: over all assignments of a block's readings to the arms
        /// the evidence is on average what it was, after any past.
        #[test]
        fn no_assignment_of_a_block_is_favoured(
            past in prop::collection::vec(block(), 0..12), next in block(), margin in 0u8..3,
        ) {
            let mut before = Evidence::new(2, f64::from(margin));
            past.iter().for_each(|block| before.record(block[0], &block[1..]));
            let after: Vec<Evidence> = assignments(&next).iter().map(|block| {
                let mut after = before.clone();
                after.record(block[0], &block[1..]);
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
            blocks.iter().for_each(|block| evidence.record(block[0], &block[1..]));
            prop_assert!(evidence.effect() >= 0.0 && evidence.absence() >= 0.0);
            prop_assert!(evidence.effect().is_finite() && evidence.absence().is_finite());
        }

        /// The sorted search names the same arms as going through all sets.
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
