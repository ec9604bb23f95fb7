//! The bisection: first the two ends, then the middle of the remaining versions.

use crate::budget::{Budget, ERROR_RATE};
use crate::evidence::{Answer, By, Evidence, Said};
use serde::{Deserialize, Serialize};

/// The source of versions: a list or a git history.
pub trait Source {
    /// The error of this source.
    type Error;

    /// The version without the stall and the version with the stall, as the user named them.
    fn ends(&self) -> [String; 2];

    /// The next version to test. None if nothing is left to test.
    ///
    /// # Errors
    /// If the source cannot find it.
    fn next(&mut self) -> Result<Option<String>, Self::Error>;

    /// Number of steps that are still expected.
    ///
    /// # Errors
    /// If the source cannot find it.
    fn steps(&mut self) -> Result<u32, Self::Error>;

    /// Takes the answer for a version. None means that the version got no answer and is skipped.
    ///
    /// # Errors
    /// If the source cannot take it.
    fn tell(&mut self, version: &str, answer: Option<Answer>) -> Result<(), Self::Error>;

    /// The versions that remain.
    ///
    /// # Errors
    /// If the source cannot find them.
    fn found(&mut self) -> Result<Found, Self::Error>;
}

/// Boots versions.
pub trait Boots {
    /// The error of a boot.
    type Error;

    /// Boots a version. `number` counts the boots of this version, from 1.
    ///
    /// # Errors
    /// If the bisection cannot continue.
    fn boot(&mut self, version: &str, number: u32) -> Result<Boot, Self::Error>;
}

/// The result of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boot {
    /// The stall is present.
    Bad,
    /// The stall is absent.
    Good,
    /// The study of this boot has no verdict; the text is the reason.
    Nothing(String),
    /// The version cannot be tested, and more boots would not help; the text is the reason.
    Untestable(String),
}

/// The result for one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The version.
    pub version: String,
    /// The answer. None if the boots gave no answer.
    pub answer: Option<Answer>,
    /// The result of each of its boots.
    pub boots: Vec<Boot>,
}

/// The versions that remain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Whether the stall begins at the change. If false, it ends there.
    pub begins: bool,
    /// The last version before the change.
    pub before: String,
    /// The stall changed at one of these versions. There is only one if no version was skipped.
    pub among: Vec<String>,
}

/// How a bisection ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The bisection is complete.
    Found {
        /// The versions that remain.
        found: Found,
        /// Upper limit of the probability that the bisection names a wrong version.
        error_rate: f64,
        /// The tested versions.
        steps: Vec<Step>,
    },
    /// The answer of one end differs from what the user said, or the end has no answer.
    EndDiffers {
        /// The end with its answer.
        step: Step,
        /// The answer that the user expected.
        said: Answer,
    },
}

/// A progress message of a running bisection.
#[derive(Debug)]
pub enum Event<'a> {
    /// The test of a version begins. The number is the expected steps, including this one.
    Begins(&'a str, u32),
    /// A boot ended.
    Booted(&'a str, &'a Boot),
    /// The test of a version ended, with or without an answer.
    Ends(&'a Step),
}

/// How a boot answers, and how many boots a version gets.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What the answer of a boot is based on.
    pub by: By,
    /// Most boots of one version.
    pub most: u32,
}

impl Rule {
    /// Fewest boots that give a version an answer, with `inside` steps expected between the ends.
    pub fn fewest(by: By, inside: u32) -> u32 {
        Evidence::fewest(by, Budget::new(ERROR_RATE).spend(inside.saturating_add(2)))
    }
}

/// Runs a bisection.
///
/// # Errors
/// The errors of the source and of the boots.
pub fn search<E>(
    source: &mut dyn Source<Error = E>,
    boots: &mut dyn Boots<Error = E>,
    rule: Rule,
    told: &mut dyn FnMut(Event),
) -> Result<Outcome, E> {
    let mut budget = Budget::new(ERROR_RATE);
    let mut steps = Vec::new();
    let inside = source.steps()?;
    let ends = source.ends();
    for (place, said) in [Answer::Good, Answer::Bad].into_iter().enumerate() {
        let left = inside + 2 - place as u32;
        let step = answered(&ends[place], boots, budget.spend(left), rule, left, told)?;
        if step.answer != Some(said) {
            return Ok(Outcome::EndDiffers { step, said });
        }
        steps.push(step);
    }
    while let Some(version) = source.next()? {
        let left = source.steps()?.max(1);
        let rate = budget.spend(left);
        let step = answered(&version, boots, rate, rule, left, told)?;
        if matches!(step.boots.as_slice(), [Boot::Untestable(_)]) {
            budget.give_back(rate);
        }
        source.tell(&version, step.answer)?;
        steps.push(step);
    }
    Ok(Outcome::Found { found: source.found()?, error_rate: budget.spent(), steps })
}

/// Boots a version until its answer is wrong with at most probability `rate`.
fn answered<E>(
    version: &str,
    boots: &mut dyn Boots<Error = E>,
    rate: f64,
    rule: Rule,
    left: u32,
    told: &mut dyn FnMut(Event),
) -> Result<Step, E> {
    told(Event::Begins(version, left));
    let mut evidence = Evidence::new(rule.by);
    let mut all = Vec::new();
    while evidence.answer(rate).is_none() && evidence.boots() < rule.most {
        let boot = boots.boot(version, evidence.boots() + 1)?;
        told(Event::Booted(version, &boot));
        let said = boot.answer_kind();
        all.push(boot);
        match said {
            Some(said) => evidence.add(said),
            None => break,
        }
    }
    let step = Step { version: version.to_owned(), answer: evidence.answer(rate), boots: all };
    told(Event::Ends(&step));
    Ok(step)
}

impl Boot {
    fn answer_kind(&self) -> Option<Said> {
        match self {
            Boot::Bad => Some(Said::Bad),
            Boot::Good => Some(Said::Good),
            Boot::Nothing(_) => Some(Said::Nothing),
            Boot::Untestable(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halving::Halving;
    use std::convert::Infallible;

    /// Versions that are named by their position.
    struct List(Halving, usize);

    impl Source for List {
        type Error = Infallible;

        fn ends(&self) -> [String; 2] {
            ["0".to_owned(), self.1.to_string()]
        }

        fn next(&mut self) -> Result<Option<String>, Infallible> {
            Ok(self.0.next().map(|place| place.to_string()))
        }

        fn steps(&mut self) -> Result<u32, Infallible> {
            Ok(self.0.steps())
        }

        fn tell(&mut self, version: &str, answer: Option<Answer>) -> Result<(), Infallible> {
            self.0.tell(version.parse().unwrap(), answer);
            Ok(())
        }

        fn found(&mut self) -> Result<Found, Infallible> {
            let (good, bad) = self.0.ends();
            let among = (good + 1..=bad).map(|place| place.to_string()).collect();
            Ok(Found { begins: true, before: good.to_string(), among })
        }
    }

    /// Boots whose results come from a function.
    struct Made<F>(F);

    impl<F: FnMut(usize, u32) -> Boot> Boots for Made<F> {
        type Error = Infallible;

        fn boot(&mut self, version: &str, number: u32) -> Result<Boot, Infallible> {
            Ok((self.0)(version.parse().unwrap(), number))
        }
    }

    const VERDICTS: Rule = Rule { by: By::Verdict, most: 12 };
    const EFFECTS: Rule = Rule { by: By::Effect, most: 40 };

    fn searched(of: usize, boot: impl FnMut(usize, u32) -> Boot) -> Outcome {
        searched_by(VERDICTS, of, boot)
    }

    fn searched_by(rule: Rule, of: usize, boot: impl FnMut(usize, u32) -> Boot) -> Outcome {
        let mut list = List(Halving::new(0, of - 1), of - 1);
        let Ok(outcome) = search(&mut list, &mut Made(boot), rule, &mut |_| {});
        outcome
    }

    fn among(outcome: &Outcome) -> Vec<String> {
        match outcome {
            Outcome::Found { found, .. } => found.among.clone(),
            Outcome::EndDiffers { .. } => Vec::new(),
        }
    }

    #[test]
    fn the_fewest_boots_are_those_that_the_page_names() {
        let fewest = |by, steps: &[u32]| -> Vec<u32> {
            steps.iter().map(|inside| Rule::fewest(by, *inside)).collect()
        };
        assert_eq!(fewest(By::Effect, &[1, 2, 3, 6, 15]), [8, 8, 9, 9, 11]);
        assert_eq!(fewest(By::Verdict, &[1, 15, 16]), [2, 2, 3]);
    }

    #[test]
    fn each_version_is_booted_twice_where_boots_agree() {
        let mut boots = 0;
        let outcome = searched(16, |place, _| {
            boots += 1;
            if place >= 5 { Boot::Bad } else { Boot::Good }
        });
        assert_eq!(among(&outcome), ["5"]);
        assert_eq!(boots, 2 * 6, "both ends and four steps");
        let Outcome::Found { error_rate, .. } = outcome else { panic!() };
        assert!(error_rate > 0.0 && error_rate < ERROR_RATE);
    }

    #[test]
    fn a_wrong_boot_is_outvoted_and_an_undecided_version_is_gone_round() {
        let outcome = searched(16, |place, number| match (place >= 5, place, number) {
            (_, 7, _) => Boot::Nothing("noise".to_owned()),
            (true, _, 2) => Boot::Good,
            (true, ..) => Boot::Bad,
            (false, ..) => Boot::Good,
        });
        assert_eq!(among(&outcome), ["5"]);
        let outcome = searched(16, |place, _| match place {
            4..=6 => Boot::Untestable("it does not build".to_owned()),
            place if place >= 5 => Boot::Bad,
            _ => Boot::Good,
        });
        assert_eq!(among(&outcome), ["4", "5", "6", "7"]);
    }

    #[test]
    fn an_end_that_is_not_what_was_said_stops_it_at_once() {
        let outcome = searched(16, |_, _| Boot::Good);
        let Outcome::EndDiffers { step, said } = outcome else { panic!() };
        assert_eq!(
            (step.version.as_str(), step.answer, said),
            ("15", Some(Answer::Good), Answer::Bad)
        );
    }

    /// A pseudo-random number from 0 to 1 (Knuth, The Art of Computer Programming 2, 3.3.4).
    fn chance(state: &mut u64) -> f64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Bisects 16 versions 2,000 times. Returns how many runs named a wrong version, and how many
    /// did not name a single version. `bad` and `good` describe 1,000 boots of a bad and of a good
    /// version: the number without a verdict, and the number with a wrong verdict.
    fn simulated(rule: Rule, bad: [u32; 2], good: [u32; 2]) -> (u32, u32) {
        let mut state = 7;
        let (mut wrong, mut open) = (0, 0);
        for round in 0..2000 {
            let begins = 1 + round % 15;
            let outcome = searched_by(rule, 16, |place, _| {
                let is_bad = place >= begins;
                let [nothing, lies] = if is_bad { bad } else { good };
                match (chance(&mut state) * 1000.0) as u32 {
                    drawn if drawn < nothing => Boot::Nothing("noise".to_owned()),
                    drawn if (drawn < nothing + lies) == is_bad => Boot::Good,
                    _ => Boot::Bad,
                }
            });
            let among = among(&outcome);
            wrong += u32::from(!among.is_empty() && !among.contains(&begins.to_string()));
            open += u32::from(among.len() != 1);
        }
        (wrong, open)
    }

    #[test]
    fn a_wrong_version_is_named_in_at_most_one_of_twenty() {
        // The largest error rate that a study may have.
        let (wrong, open) = simulated(VERDICTS, [100, 50], [100, 50]);
        assert!(wrong <= 100 && open < 100, "{wrong} wrong, {open} open");
        // A stall in three of ten trials. The rates of missed and false stalls are those of the
        // known answers sim-rare-30 and sim-no-stall.
        let (wrong, open) = simulated(VERDICTS, [338, 26], [25, 0]);
        assert!(wrong <= 100 && open < 600, "{wrong} wrong, {open} open");
    }

    #[test]
    fn by_effect_a_wrong_version_is_named_in_at_most_one_of_twenty() {
        let (wrong, open) = simulated(EFFECTS, [20, 100], [20, 100]);
        assert!(wrong <= 100 && open < 500, "{wrong} wrong, {open} open");
        // A third of these boots fall on the wrong side.
        let (wrong, open) = simulated(EFFECTS, [0, 333], [0, 333]);
        assert!(wrong <= 100 && open > 1900, "{wrong} wrong, {open} open");
        // The largest error rate that a boot may have, so nothing is found.
        let (wrong, open) = simulated(EFFECTS, [0, 500], [0, 500]);
        assert!(wrong <= 100 && open > 1900, "{wrong} wrong, {open} open");
    }
}
