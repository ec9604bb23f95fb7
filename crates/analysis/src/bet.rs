//! The wealth of a gambler who bets against a claim: evidence that may be checked after every
//! block.
//!
//! Start with a wealth of one. Stake part of it on every block, at odds that are fair or worse if
//! the claim holds. Then the wealth is a nonnegative supermartingale, and the probability that it
//! *ever* reaches `1/a` is at most `a` (Ville 1939, "Etude critique de la notion de collectif").
//! So a study may stop at any time, for any reason, and the error rate holds. See Waudby-Smith
//! and Ramdas (online 2023), "Estimating means of bounded random variables by betting", Journal
//! of the Royal Statistical Society B 86, 1-27, and Ramdas, Gruenwald, Vovk and Shafer 2023,
//! "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38, 576-601.

/// The cap of the wealth. Sums of a million such values still fit a record.
pub(crate) const MOST_WEALTH: f64 = 1e300;

/// The number of chances over which the second half of an [`EffectBet`] is spread.
///
/// Any number keeps the bet fair. With 64, the wealth is within 0.1% of the wealth of a
/// continuous even spread in the range in which verdicts are reached.
const SPREAD: u32 = 64;

/// The chance on which the first half of an [`EffectBet`] is staked.
const NEARLY_SURE: f64 = 0.99;

/// A bet that the control is the best trial of a block more often than random order would make
/// it.
///
/// Half of the wealth is staked on a chance of 0.99, for a stall that nearly always hits. The
/// other half is for all other stalls. It is spread evenly over 64 chances, from the chance in
/// random order up to one. Each part is a martingale if the claim holds, and so is their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectBet {
    by_chance: f64,
    wins: f64,
    losses: f64,
}

impl EffectBet {
    /// A bet with this number of arms besides the control. By chance the control is the best in 1
    /// of `arms` + 1 blocks.
    pub fn among(arms: usize) -> Self {
        EffectBet { by_chance: 1.0 / (arms as f64 + 1.0), wins: 0.0, losses: 0.0 }
    }

    /// The same bet after `wins` blocks in which the control was the best trial and `losses`
    /// blocks in which another trial was.
    pub fn of(arms: usize, wins: u32, losses: u32) -> Self {
        EffectBet { wins: wins.into(), losses: losses.into(), ..Self::among(arms) }
    }

    /// Adds a block that had a clear best trial.
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

    /// Blocks in which another trial was the best.
    pub fn losses(&self) -> f64 {
        self.losses
    }

    /// The same bet with all counts multiplied, as a forecast for more blocks like these.
    pub fn scaled(&self, factor: f64) -> Self {
        EffectBet { wins: self.wins * factor, losses: self.losses * factor, ..*self }
    }

    /// The current wealth: never negative, never above 1e300.
    pub fn wealth(&self) -> f64 {
        if self.by_chance >= 1.0 {
            return 1.0;
        }
        let step = (1.0 - self.by_chance) / f64::from(SPREAD);
        let spread = |i: u32| self.wealth_at(self.by_chance + step * (f64::from(i) + 0.5));
        let spread = (0..SPREAD).map(|i| spread(i) / f64::from(SPREAD)).sum::<f64>();
        (self.wealth_at(NEARLY_SURE) / 2.0 + spread / 2.0).min(MOST_WEALTH)
    }

    /// Wealth of a bet on a single value of the chance that the control is the best.
    fn wealth_at(&self, chance: f64) -> f64 {
        let on_win = (chance / self.by_chance).ln();
        let on_loss = ((1.0 - chance) / (1.0 - self.by_chance)).ln();
        exp_capped(self.wins * on_win + self.losses * on_loss)
    }
}

/// The claim against which an [`AbsenceBet`] bets: the share of blocks in which the arm is worse
/// exceeds the share in which it is better by this.
pub const STALL_RATE: f64 = 1.0 / 3.0;

/// The stakes of an [`AbsenceBet`], for half of the wealth each.
///
/// Any stake from 0 to 1.5 keeps the error rate. The higher stake settles a clean machine soon.
/// The lower stake survives a block in which noise hit only the case. Both were chosen by
/// simulation (docs/statistics.md).
const STAKES: [f64; 2] = [0.85, 1.2];

/// Bets against "the arm stalls in a third of the blocks".
///
/// The claim is: in a block, the probability that the arm is worse than the control by more than
/// the margin exceeds the probability of the reverse by [`STALL_RATE`] or more. Score worse,
/// alike and better as 1, 0 and -1. The score then has a mean of a third or more, so a factor
/// `1 + stake (1/3 - score)` has a mean of one or less. Because the reverse counts too, blips that
/// hit both arms equally cancel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AbsenceBet {
    worse: f64,
    alike: f64,
    better: f64,
}

impl AbsenceBet {
    /// The bet after these numbers of blocks.
    pub fn of(worse: u32, alike: u32, better: u32) -> Self {
        AbsenceBet { worse: worse.into(), alike: alike.into(), better: better.into() }
    }

    /// Blocks in which the arm was worse, blocks without a difference, and blocks in which it was
    /// better.
    pub fn counts(&self) -> [u32; 3] {
        [self.worse, self.alike, self.better].map(|blocks| blocks as u32)
    }

    /// Adds a block. If both trials hung, nothing is added: two trials that were cut off cannot
    /// be compared.
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

    /// The same bet with all counts multiplied, as a forecast for more blocks like these.
    pub fn scaled(&self, factor: f64) -> Self {
        AbsenceBet {
            worse: self.worse * factor,
            alike: self.alike * factor,
            better: self.better * factor,
        }
    }

    /// The number of blocks without a difference after which the wealth reaches `wealth`.
    ///
    /// It is the least number that absence usually needs. A block in which the arm was better
    /// counts more, but a study cannot count on such blocks.
    pub fn blocks_to(wealth: f64) -> u32 {
        // This is beyond any threshold that a record may have.
        const MOST: u32 = 10_000;
        let wealth = wealth.min(MOST_WEALTH);
        let reached = |blocks: &u32| {
            AbsenceBet { alike: f64::from(*blocks), ..AbsenceBet::default() }.wealth() >= wealth
        };
        (0..MOST).find(reached).unwrap_or(MOST)
    }

    /// The current wealth: never negative, never above 1e300.
    pub fn wealth(&self) -> f64 {
        let scores = [(self.worse, 1.0), (self.alike, 0.0), (self.better, -1.0)];
        mean_wealth(STAKES, STALL_RATE, &scores)
    }
}

/// Two bets against a stall: one that counts differences above the margin, and one that counts
/// only differences above the margin and the limit of the control together. Both have to win.
///
/// The first alone would be won by an arm that is a little better than its control in most blocks,
/// and stalls in the others: there, blocks in which it was better make up for those in which it
/// stalled. A difference that large is no noise, so in the second only its reverse makes up for it.
/// A further condition cannot raise an error rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AbsenceBets {
    near: AbsenceBet,
    far: AbsenceBet,
}

impl AbsenceBets {
    /// Both bets from their counts.
    pub fn of(near: AbsenceBet, far: AbsenceBet) -> Self {
        AbsenceBets { near, far }
    }

    /// Adds a block.
    pub fn record(&mut self, control: f64, arm: f64, margin: f64, limit: f64) {
        self.near.record(control, arm, margin);
        self.far.record(control, arm, margin + limit);
    }

    /// The bet on differences above the margin.
    pub fn near(&self) -> &AbsenceBet {
        &self.near
    }

    /// The bet on differences above the margin and the limit of the control.
    pub fn far(&self) -> &AbsenceBet {
        &self.far
    }

    /// The same bets with all counts multiplied, as a forecast for more blocks like these.
    pub fn scaled(&self, factor: f64) -> Self {
        AbsenceBets { near: self.near.scaled(factor), far: self.far.scaled(factor) }
    }

    /// The smaller wealth of the two.
    pub fn wealth(&self) -> f64 {
        self.near.wealth().min(self.far.wealth())
    }
}

/// The claim against which a [`GoneBet`] bets: the stall is left in this share of the trials.
pub const LEFT_RATE: f64 = 0.15;

/// The stakes of a bet against a rate, for half of the wealth each. They are shares of the
/// largest possible stake against that rate. The higher stake settles soon if nothing was hit;
/// the lower stake survives a hit. Any shares up to one keep the error rate.
const RATE_STAKES: [f64; 2] = [0.65, 0.98];

/// A bet against "a fix leaves the stall in 15% of the trials or more".
///
/// Blocks in which the case itself did not stall show nothing and are skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GoneBet {
    gone: f64,
    left: f64,
}

impl GoneBet {
    /// Adds a block in which the case stalled, and whether the fix left a stall there.
    pub fn record(&mut self, left: bool) {
        if left {
            self.left += 1.0;
        } else {
            self.gone += 1.0;
        }
    }

    /// Blocks so far: those in which the stall was gone, and those in which it was left.
    pub fn counts(&self) -> (f64, f64) {
        (self.gone, self.left)
    }

    /// The current wealth: never negative, never above 1e300.
    pub fn wealth(&self) -> f64 {
        against_rate(LEFT_RATE, self.left, self.gone)
    }

    /// The highest share of the trials in which a stall may still be left, if a wealth of
    /// `wealth` refutes a rate. It is below [`LEFT_RATE`] exactly if the wealth exceeds `wealth`.
    pub fn left_at_most(&self, wealth: f64) -> f64 {
        highest_rate(self.left, self.gone, wealth)
    }
}

/// The highest share of hit trials that is still possible after `hit` trials were hit and
/// `spared` were not. It is the highest rate that a bet against it has not refuted with this
/// wealth, and it is valid at any stopping time (a confidence sequence; Waudby-Smith and Ramdas,
/// section 4).
pub fn highest_rate(hit: f64, spared: f64, wealth: f64) -> f64 {
    let refuted = |rate: f64| against_rate(rate, hit, spared) >= wealth;
    // The wealth grows with the rate, so the boundary is found by bisection.
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

/// Mean wealth of two bets on a rate. A score with its count contributes the factor
/// `1 + stake (rate - score)` that many times.
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

    /// With wins only, the integral of the even spread from p0 to 1 is
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
        // The mean over the two stakes is 1 + 1.025 (1/3 - score).
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
        /// On average the next block multiplies the wealth by one, whatever came before.
        #[test]
        fn the_bet_on_an_effect_is_fair(arms in 1usize..9, wins in 0u32..60, losses in 0u32..60) {
            let p0 = 1.0 / (arms as f64 + 1.0);
            let now = effect(arms, wins, losses);
            let next = p0 * effect(arms, wins + 1, losses)
                + (1.0 - p0) * effect(arms, wins, losses + 1);
            prop_assert!((next / now - 1.0).abs() < 1e-9, "{} {}", now, next);
        }

        /// If the claim holds, the wealth does not grow on average, whatever the probabilities
        /// are.
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
