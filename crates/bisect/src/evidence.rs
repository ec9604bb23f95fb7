//! What several boots say of one version.

/// By what a boot answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By the verdict of its study, which is wrong in at most one case of twenty.
    Verdict,
    /// By the side of a threshold on which its effect falls. Only this is assumed: each boot falls
    /// on its version's own side with a probability of at least a half, whatever boots before did.
    Effect,
}

impl By {
    /// How often one boot may say of a version what is not so.
    fn wrong(self) -> f64 {
        match self {
            By::Verdict => 0.05,
            By::Effect => 0.5,
        }
    }

    /// The part of what is at stake that each boot bets on what it will say.
    fn bet(self) -> f64 {
        match self {
            By::Verdict => 0.95,
            By::Effect => 0.8,
        }
    }

    /// By what the evidence is multiplied where a boot says it, or does not.
    fn factor(self, says: bool) -> f64 {
        1.0 - self.bet() + if says { self.bet() / self.wrong() } else { 0.0 }
    }
}

/// What the study of a boot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The stall is there.
    Bad,
    /// It is not.
    Good,
    /// Neither.
    Nothing,
}

/// What is answered of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The stall is there.
    Bad,
    /// It is not.
    Good,
}

impl Answer {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Answer::Bad => Answer::Good,
            Answer::Good => Answer::Bad,
        }
    }
}

/// What the boots of a version have said.
///
/// The study of a boot says `affected` of a version without the stall in at most one case of
/// twenty. So a factor of 19.05 where it says so, and of 0.05 where it does not, has a mean of at
/// most 1 on such a version: it is an e-value, and the product over boots is one too, whenever they
/// stop. By Ville's inequality (1939) it ever reaches 1 / rate with at most this rate. The same
/// holds for `not-affected` on a version with the stall. Two boots that agree give 363.
///
/// By the side of a threshold the bet is smaller, since more boots are on the other side: the
/// factors are 1.8 and 0.2, and nine boots that agree give 198.
///
/// ```
/// use bisect::{Answer, By, Evidence, Said};
///
/// let mut evidence = Evidence::new(By::Verdict);
/// evidence.add(Said::Bad);
/// assert_eq!(evidence.answer(0.01), None);
/// evidence.add(Said::Bad);
/// assert_eq!(evidence.answer(0.01), Some(Answer::Bad));
/// // A boot without a verdict takes nearly all of it back.
/// evidence.add(Said::Nothing);
/// assert_eq!(evidence.answer(0.01), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    by: By,
    bad: f64,
    good: f64,
    boots: u32,
}

impl Evidence {
    /// Without a boot yet.
    pub fn new(by: By) -> Self {
        Evidence { by, bad: 1.0, good: 1.0, boots: 0 }
    }

    /// Adds what a boot said.
    pub fn add(&mut self, said: Said) {
        self.bad *= self.by.factor(said == Said::Bad);
        self.good *= self.by.factor(said == Said::Good);
        self.boots += 1;
    }

    /// The answer that is wrong with at most this rate, where there is one.
    pub fn answer(&self, rate: f64) -> Option<Answer> {
        match (self.bad >= 1.0 / rate, self.good >= 1.0 / rate) {
            (true, false) => Some(Answer::Bad),
            (false, true) => Some(Answer::Good),
            _ => None,
        }
    }

    /// How many boots that agree it takes at least for an answer that is wrong with at most this
    /// rate.
    pub fn fewest(by: By, rate: f64) -> u32 {
        let mut evidence = Evidence::new(by);
        while evidence.answer(rate).is_none() {
            evidence.add(Said::Bad);
        }
        evidence.boots()
    }

    /// How many boots there were.
    pub fn boots(&self) -> u32 {
        self.boots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(all: &[Said]) -> Evidence {
        by(By::Verdict, all)
    }

    fn by(by: By, all: &[Said]) -> Evidence {
        let mut evidence = Evidence::new(by);
        all.iter().for_each(|said| evidence.add(*said));
        evidence
    }

    #[test]
    fn two_boots_that_agree_answer_and_others_take_more() {
        use Said::{Bad, Good, Nothing};
        let answer = |all: &[Said]| of(all).answer(0.005);
        assert_eq!(answer(&[Bad]), None, "one boot is one cluster");
        assert_eq!(answer(&[Bad, Bad]), Some(Answer::Bad));
        assert_eq!(answer(&[Good, Good]), Some(Answer::Good));
        assert_eq!(answer(&[Bad, Good]), None);
        assert_eq!(answer(&[Bad, Nothing, Bad]), None);
        assert_eq!(answer(&[Bad, Good, Bad, Good]), None);
        assert_eq!(answer(&[Bad, Nothing, Bad, Bad]), Some(Answer::Bad));
    }

    #[test]
    fn by_effect_nine_boots_that_agree_answer() {
        use Said::{Bad, Good};
        let answer = |all: &[Said]| by(By::Effect, all).answer(0.05 / 6.0);
        assert_eq!(answer(&[Bad; 8]), None, "eight coins fall alike in one case of 128");
        assert_eq!(answer(&[Bad; 9]), Some(Answer::Bad));
        assert_eq!(Evidence::fewest(By::Effect, 0.05 / 6.0), 9);
        assert_eq!(Evidence::fewest(By::Verdict, 0.05 / 6.0), 2);
        assert_eq!(answer(&[&[Good][..], &[Bad; 10]].concat()), None);
        assert_eq!(answer(&[&[Good][..], &[Bad; 11]].concat()), Some(Answer::Bad));
    }

    /// That the mean of a factor is at most 1 is all that the proof takes.
    #[test]
    fn a_boot_that_is_wrong_as_often_as_it_may_be_gains_nothing() {
        for by in [By::Verdict, By::Effect] {
            let mean = by.wrong() * by.factor(true) + (1.0 - by.wrong()) * by.factor(false);
            assert!((mean - 1.0).abs() < 1e-12, "{mean}");
        }
    }

    proptest! {
        #[test]
        fn the_opposite_boots_give_the_opposite_answer(all in prop::collection::vec(0..3, 0..30)) {
            let said = |words: [Said; 3]| -> Vec<Said> {
                all.iter().map(|one| words[*one as usize]).collect()
            };
            let these = of(&said([Said::Bad, Said::Good, Said::Nothing]));
            let others = of(&said([Said::Good, Said::Bad, Said::Nothing]));
            prop_assert_eq!(these.answer(0.005).map(Answer::opposite), others.answer(0.005));
            prop_assert_eq!(these.boots(), all.len() as u32);
        }
    }
}
