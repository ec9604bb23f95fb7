//! The evidence that several boots give about one version.

/// What the answer of a boot is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The verdict of its study, which is wrong with a probability of at most 5%.
    Verdict,
    /// Whether the effect is above or below a threshold. The only assumption: each boot falls on
    /// the correct side of its version with a probability of at least 50%, whatever earlier boots
    /// did.
    Effect,
}

impl By {
    /// Upper limit of the probability that one boot is wrong about its version.
    fn wrong(self) -> f64 {
        match self {
            By::Verdict => 0.05,
            By::Effect => 0.5,
        }
    }

    /// The part of the current stake that a boot bets on its answer.
    fn bet(self) -> f64 {
        match self {
            By::Verdict => 0.95,
            By::Effect => 0.8,
        }
    }

    /// The factor on the evidence for an answer. `says` is whether the boot gives this answer.
    fn factor(self, says: bool) -> f64 {
        1.0 - self.bet() + if says { self.bet() / self.wrong() } else { 0.0 }
    }
}

/// What the study of one boot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The stall is present.
    Bad,
    /// The stall is absent.
    Good,
    /// The study has no verdict.
    Nothing,
}

/// The answer for one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The stall is present.
    Bad,
    /// The stall is absent.
    Good,
}

impl Answer {
    /// The opposite answer.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Answer::Bad => Answer::Good,
            Answer::Good => Answer::Bad,
        }
    }
}

/// The collected evidence of the boots of one version.
///
/// The study of a boot says `affected` about a version without the stall with a probability of at
/// most 5%. The factor is 19.05 if the study says so, and 0.05 if it does not. On a version
/// without the stall its mean is at most 1, so the factor is an e-value. The product over all
/// boots is an e-value too, whenever the boots stop. By Ville's inequality (1939) the product ever
/// reaches 1 / rate with at most probability `rate`. The same holds for `not-affected` on a
/// version with the stall. Two boots that agree give 363.
///
/// With a threshold the bet is smaller, because more boots fall on the wrong side. The factors are
/// 1.8 and 0.2, and nine boots that agree give 198.
///
/// ```
/// use bisect::{Answer, By, Evidence, Said};
///
/// let mut evidence = Evidence::new(By::Verdict);
/// evidence.add(Said::Bad);
/// assert_eq!(evidence.answer(0.01), None);
/// evidence.add(Said::Bad);
/// assert_eq!(evidence.answer(0.01), Some(Answer::Bad));
/// // A boot without a verdict cancels nearly all of the evidence.
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
    /// Evidence without any boot.
    pub fn new(by: By) -> Self {
        Evidence { by, bad: 1.0, good: 1.0, boots: 0 }
    }

    /// Adds the result of one boot.
    pub fn add(&mut self, said: Said) {
        self.bad *= self.by.factor(said == Said::Bad);
        self.good *= self.by.factor(said == Said::Good);
        self.boots += 1;
    }

    /// The answer that is wrong with at most probability `rate`. None if the evidence is too weak.
    pub fn answer(&self, rate: f64) -> Option<Answer> {
        match (self.bad >= 1.0 / rate, self.good >= 1.0 / rate) {
            (true, false) => Some(Answer::Bad),
            (false, true) => Some(Answer::Good),
            _ => None,
        }
    }

    /// Fewest boots, all with the same answer, that give an answer that is wrong with at most
    /// probability `rate`.
    pub fn fewest(by: By, rate: f64) -> u32 {
        let mut evidence = Evidence::new(by);
        while evidence.answer(rate).is_none() {
            evidence.add(Said::Bad);
        }
        evidence.boots()
    }

    /// Number of boots so far.
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

    /// The proof needs only that the mean of a factor is at most 1.
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
