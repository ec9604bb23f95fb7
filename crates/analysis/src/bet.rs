//! Wealth of a gambler who bets against a claim: evidence that may be looked at after every block.
//!
//! Start with a wealth of one and stake part of it on every block, at odds that are fair or worse
//! if the claim holds. Then the wealth is a nonnegative supermartingale, and the chance that it
//! *ever* reaches `1/a` is at most `a` (Ville 1939, "Etude critique de la notion de collectif").
//! So one may stop at any time, for any reason, and the error rate holds. See Waudby-Smith and
//! Ramdas (online 2023), "Estimating means of bounded random variables by betting", Journal of the
//! Royal Statistical Society B 86, 1-27, and Ramdas, Gruenwald, Vovk and Shafer 2023,
//! "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38, 576-601.

/// The highest wealth that is told apart: sums of a million such still fit a record.
pub(crate) const MOST_WEALTH: f64 = 1e300;

/// How many chances the second half of an [`EffectBet`] is spread over.
///
/// Any number keeps the bet fair; at 64 its wealth is within 0.1% of an even spread's where
/// verdicts fall.
const SPREAD: u32 = 64;

/// The chance that the first half of an [`EffectBet`] is staked on.
const NEARLY_SURE: f64 = 0.99;

/// Bets that the control is the best trial of a block more often than by random order.
///
/// Half of the wealth is staked on a chance of 0.99, for a stall that nearly always hits; the
/// other half is spread evenly over 64 chances from that of random order up to one, for any other.
/// Each part is a martingale if the claim holds, and so is their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectBet {
    by_chance: f64,
    wins: f64,
    losses: f64,
}

impl EffectBet {
    /// A bet among so many arms besides the control: by chance it is the best in 1 of `arms` + 1.
    pub fn among(arms: usize) -> Self {
        EffectBet { by_chance: 1.0 / (arms as f64 + 1.0), wins: 0.0, losses: 0.0 }
    }

    /// The same after blocks in which the control was the best trial so often, and another was.
    pub fn of(arms: usize, wins: u32, losses: u32) -> Self {
        EffectBet { wins: wins.into(), losses: losses.into(), ..Self::among(arms) }
    }

    /// One more block that had a clear best trial.
    pub fn record(&mut self, control_was_best: bool) {
        if control_was_best {
            self.wins += 1.0;
        } else {
            self.losses += 1.0;
        }
    }

    /// Blocks in which the control was the best trial.
    pub fn wins(&self) -> f64 {
        self.wins
    }

    /// Blocks in which another trial was.
    pub fn losses(&self) -> f64 {
        self.losses
    }

    /// The same bet with all counts multiplied: what more of the same would give.
    pub fn scaled(&self, factor: f64) -> Self {
        EffectBet { wins: self.wins * factor, losses: self.losses * factor, ..*self }
    }

    /// The wealth now; never negative, never above 1e300.
    pub fn wealth(&self) -> f64 {
        if self.by_chance >= 1.0 {
            return 1.0;
        }
        let step = (1.0 - self.by_chance) / f64::from(SPREAD);
        let spread = |i: u32| self.wealth_at(self.by_chance + step * (f64::from(i) + 0.5));
        let spread = (0..SPREAD).map(|i| spread(i) / f64::from(SPREAD)).sum::<f64>();
        (self.wealth_at(NEARLY_SURE) / 2.0 + spread / 2.0).min(MOST_WEALTH)
    }

    /// Wealth of a bet on one chance of the control being the best.
    fn wealth_at(&self, chance: f64) -> f64 {
        let on_win = (chance / self.by_chance).ln();
        let on_loss = ((1.0 - chance) / (1.0 - self.by_chance)).ln();
        exp_capped(self.wins * on_win + self.losses * on_loss)
    }
}

/// What an [`AbsenceBet`] bets against: worse in this share of the blocks, beyond the reverse.
pub const STALL_RATE: f64 = 1.0 / 3.0;

/// The stakes of an [`AbsenceBet`], half of the wealth each.
///
/// Any stake from 0 to 1.5 keeps the error rate. The higher one settles a clean machine soon, and
/// the lower one survives a block in which noise hit the case alone. Both were picked by
/// simulation (docs/statistics.md).
const STAKES: [f64; 2] = [0.85, 1.2];

/// Bets against "the arm stalls in a third of the blocks".
///
/// The claim: in a block, the chance that the arm is worse than the control by more than the
/// margin exceeds the chance of the reverse by [`STALL_RATE`] or more. A score of 1, 0 or -1 for
/// worse, alike and better then has a mean of a third or more, and a factor
/// `1 + stake (1/3 - score)` has a mean of one or less. Since the reverse counts, blips that hit
/// both arms alike cancel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AbsenceBet {
    worse: f64,
    alike: f64,
    better: f64,
}

impl AbsenceBet {
    /// The bet after so many blocks of each kind.
    pub fn of(worse: u32, alike: u32, better: u32) -> Self {
        AbsenceBet { worse: worse.into(), alike: alike.into(), better: better.into() }
    }

    /// Blocks in which the arm was worse, in which neither was, and in which it was better.
    pub fn counts(&self) -> [u32; 3] {
        [self.worse, self.alike, self.better].map(|blocks| blocks as u32)
    }

    /// One more block; none where both hung, since two trials that were cut off say nothing about
    /// each other.
    pub fn record(&mut self, control: f64, arm: f64, margin: f64) {
        if control.is_infinite() && arm.is_infinite() {
            return;
        }
        if arm - control > margin {
            self.worse += 1.0;
        } else if control - arm > margin {
            self.better += 1.0;
        } else {
            self.alike += 1.0;
        }
    }

    /// Blocks in which the arm was worse.
    pub fn worse(&self) -> f64 {
        self.worse
    }

    /// Blocks in which the arm was better.
    pub fn better(&self) -> f64 {
        self.better
    }

    /// The same bet with all counts multiplied: what more of the same would give.
    pub fn scaled(&self, factor: f64) -> Self {
        AbsenceBet {
            worse: self.worse * factor,
            alike: self.alike * factor,
            better: self.better * factor,
        }
    }

    /// After how many blocks without a difference the wealth has reached this.
    ///
    /// It is the fewest after which absence can be said: a block in which the arm was better counts
    /// more, but none can be reckoned with.
    pub fn blocks_to(wealth: f64) -> u32 {
        // Beyond any threshold that a record may ask for.
        const MOST: u32 = 10_000;
        let wealth = wealth.min(MOST_WEALTH);
        let reached = |blocks: &u32| {
            AbsenceBet { alike: f64::from(*blocks), ..AbsenceBet::default() }.wealth() >= wealth
        };
        (0..MOST).find(reached).unwrap_or(MOST)
    }

    /// The wealth now; never negative, never above 1e300.
    pub fn wealth(&self) -> f64 {
        let scores = [(self.worse, 1.0), (self.alike, 0.0), (self.better, -1.0)];
        mean_wealth(STAKES, STALL_RATE, &scores)
    }
}

/// What a [`GoneBet`] bets against: the stall is left in this share of the trials.
pub const LEFT_RATE: f64 = 0.15;

/// The stakes of a bet against a rate, half of the wealth each, as shares of the most that may be
/// staked against that rate. The higher one settles soon where nothing was hit; the lower one
/// survives a hit. Any shares up to one keep the error rate.
const RATE_STAKES: [f64; 2] = [0.65, 0.98];

/// Bets against "a fix leaves the stall in 15% of the trials or more".
///
/// Blocks in which the case itself did not stall say nothing and are not bet on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GoneBet {
    gone: f64,
    left: f64,
}

impl GoneBet {
    /// One more block in which the case stalled, and whether the fix left a stall there.
    pub fn record(&mut self, left: bool) {
        if left {
            self.left += 1.0;
        } else {
            self.gone += 1.0;
        }
    }

    /// Blocks bet on so far: gone, and left.
    pub fn counts(&self) -> (f64, f64) {
        (self.gone, self.left)
    }

    /// The wealth now; never negative, never above 1e300.
    pub fn wealth(&self) -> f64 {
        against_rate(LEFT_RATE, self.left, self.gone)
    }

    /// The highest share of the trials in which a stall may still be left, where a rate is refuted
    /// by so much wealth: below [`LEFT_RATE`] exactly where the wealth exceeds it.
    pub fn left_at_most(&self, wealth: f64) -> f64 {
        highest_rate(self.left, self.gone, wealth)
    }
}

/// The highest share of trials that is still possible where `hit` of some trials were and the
/// others were `spared`, valid however long was looked: the highest rate that a bet against it has
/// not refuted with this wealth (a confidence sequence; Waudby-Smith and
/// Ramdas, section 4).
pub fn highest_rate(hit: f64, spared: f64, wealth: f64) -> f64 {
    let refuted = |rate: f64| against_rate(rate, hit, spared) >= wealth;
    // The wealth grows with the rate, so the border is found by halving.
    let (mut low, mut high) = (0.0, 0.999);
    if !refuted(high) {
        return 1.0;
    }
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if refuted(middle) { high = middle } else { low = middle }
    }
    high
}

/// Wealth of the bets against "a trial is hit with this rate or more".
fn against_rate(rate: f64, hit: f64, spared: f64) -> f64 {
    let stakes = RATE_STAKES.map(|share| share / (1.0 - rate));
    mean_wealth(stakes, rate, &[(hit, 1.0), (spared, 0.0)])
}

/// Mean wealth of two bets on a rate: each score, so often, has the factor `1 + stake (rate -
/// score)`.
fn mean_wealth(stakes: [f64; 2], rate: f64, scores: &[(f64, f64)]) -> f64 {
    let wealth = |stake: f64| {
        let ln = |score: f64| (1.0 + stake * (rate - score)).ln();
        exp_capped(scores.iter().map(|(count, score)| count * ln(*score)).sum())
    };
    stakes.into_iter().map(|stake| wealth(stake) / 2.0).sum()
}

fn exp_capped(ln: f64) -> f64 {
    ln.min(MOST_WEALTH.ln()).exp().min(MOST_WEALTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn effect(arms: usize, wins: u32, losses: u32) -> f64 {
        let mut bet = EffectBet::among(arms);
        (0..wins).for_each(|_| bet.record(true));
        (0..losses).for_each(|_| bet.record(false));
        bet.wealth()
    }

    /// With wins only, the even spread from p0 to 1 integrates to
    /// `(1 - p0^(n+1)) / (p0^n (n+1) (1 - p0))`.
    #[test]
    fn wealth_is_near_the_closed_form() {
        for (arms, wins) in [(1, 1), (1, 5), (1, 20), (3, 3), (3, 12), (9, 6)] {
            let (p0, n) = (1.0 / (arms as f64 + 1.0), f64::from(wins));
            let spread = (1.0 - p0.powf(n + 1.0)) / (p0.powf(n) * (n + 1.0) * (1.0 - p0));
            let want = (0.99 / p0).powf(n) / 2.0 + spread / 2.0;
            let found = effect(arms, wins, 0);
            assert!((found / want - 1.0).abs() < 1e-3, "{arms} {wins}: {found} {want}");
        }
    }

    #[test]
    fn a_million_blocks_neither_overflow_nor_vanish_into_nan() {
        for (worse, better) in [(0.0, 1e6), (1e6, 0.0), (5e5, 5e5)] {
            let bet = EffectBet { by_chance: 0.25, wins: better, losses: worse };
            assert!((0.0..=MOST_WEALTH).contains(&bet.wealth()));
            let bet = AbsenceBet { worse, better, alike: 1e6 };
            assert!((0.0..=MOST_WEALTH).contains(&bet.wealth()));
        }
        assert_eq!(EffectBet::among(0).wealth(), 1.0);
    }

    #[test]
    fn absence_takes_the_blocks_that_it_is_said_to_take() {
        for threshold in [2.0, 20.0, 40.0, 60.0, 1e12] {
            let alike = |blocks: u32| AbsenceBet { alike: blocks.into(), ..AbsenceBet::default() };
            let blocks = AbsenceBet::blocks_to(threshold);
            assert!(alike(blocks).wealth() >= threshold, "{threshold}: {blocks}");
            assert!(alike(blocks - 1).wealth() < threshold, "{threshold}: {blocks}");
        }
        assert_eq!(AbsenceBet::blocks_to(0.0), 0);
    }

    #[test]
    fn the_factors_of_absence_are_plain() {
        // Means over the two stakes: 1 + 1.025 (1/3 - score).
        let factors = [(0.0, 9.0, 1.0 - 1.025 * 2.0 / 3.0), (0.0, 0.5, 1.0 + 1.025 / 3.0)];
        let reverse = (9.0, 0.0, 1.0 + 1.025 * 4.0 / 3.0);
        for (control, arm, factor) in factors.into_iter().chain([reverse]) {
            let mut bet = AbsenceBet::default();
            bet.record(control, arm, 1.0);
            assert!((bet.wealth() - factor).abs() < 1e-12, "{}", bet.wealth());
        }
    }

    #[test]
    fn a_fix_takes_22_clean_blocks_and_a_relapse_takes_twice_as_many() {
        let wealth = |gone: f64, left: f64| GoneBet { gone, left }.wealth();
        assert!(wealth(21.0, 0.0) < 20.0 && wealth(22.0, 0.0) >= 20.0);
        assert!(wealth(40.0, 1.0) < 20.0 && wealth(41.0, 1.0) >= 20.0);
        let bound = |gone| GoneBet { gone, left: 0.0 }.left_at_most(20.0);
        assert!(bound(21.0) > LEFT_RATE && bound(22.0) <= LEFT_RATE && bound(12.0) < 0.26);
    }

    #[test]
    fn the_highest_rate_falls_with_clean_trials_and_rises_with_stalls() {
        let rate = |hit, spared| highest_rate(hit, spared, 20.0);
        assert_eq!(rate(0.0, 0.0), 1.0);
        assert!(rate(0.0, 10.0) < 0.32 && rate(0.0, 10.0) > 0.26, "{}", rate(0.0, 10.0));
        assert!(rate(0.0, 100.0) < 0.04 && rate(0.0, 24.0) < rate(1.0, 23.0));
        assert!(rate(10.0, 10.0) > 0.5);
    }

    proptest! {
        /// The next block multiplies the wealth by one on average, whatever went before.
        #[test]
        fn the_bet_on_an_effect_is_fair(arms in 1usize..9, wins in 0u32..60, losses in 0u32..60) {
            let p0 = 1.0 / (arms as f64 + 1.0);
            let now = effect(arms, wins, losses);
            let next = p0 * effect(arms, wins + 1, losses)
                + (1.0 - p0) * effect(arms, wins, losses + 1);
            prop_assert!((next / now - 1.0).abs() < 1e-9, "{} {}", now, next);
        }

        /// Whatever the chances, if the claim holds the wealth does not grow on average.
        #[test]
        fn the_bet_on_absence_is_not_better_than_fair(better in 0.0f64..0.33, extra in 0.0f64..1.0) {
            let most = 1.0 - 2.0 * better - STALL_RATE;
            let worse = better + STALL_RATE + extra * most.max(0.0);
            let alike = 1.0 - better - worse;
            let factor = |better, alike, worse| AbsenceBet { better, alike, worse }.wealth();
            let mean = better * factor(1.0, 0.0, 0.0) + alike * factor(0.0, 1.0, 0.0)
                + worse * factor(0.0, 0.0, 1.0);
            prop_assert!(mean <= 1.0 + 1e-12, "{}", mean);
        }

        #[test]
        fn the_bet_on_gone_is_not_better_than_fair(left in LEFT_RATE..1.0) {
            let mean = left * GoneBet { gone: 0.0, left: 1.0 }.wealth()
                + (1.0 - left) * GoneBet { gone: 1.0, left: 0.0 }.wealth();
            prop_assert!(mean <= 1.0 + 1e-12, "{}", mean);
        }
    }
}
