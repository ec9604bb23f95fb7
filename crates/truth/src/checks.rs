//! Studies that are reported together, as those of `tailback check`: how often one of them claims
//! something wrong, and how many blocks they take.

use crate::Answer;
use analysis::together::{self, Claims};
use model::record::Share;
use model::{Facts, State};
use serde::{Deserialize, Serialize};

/// Studies of one check. What is injected beside it hits the first of them alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// How many there are.
    pub studies: u32,
    /// How many of them have the stall.
    pub stalling: u32,
    /// Each has an equal part of the error rate, whatever they claim; else they share it.
    #[serde(default)]
    pub apart: bool,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Came {
    /// Its answer.
    pub answer: Answer,
    /// Blocks of a study, on average.
    pub blocks: f64,
}

/// A study under way.
struct Study {
    facts: Facts,
    stalls: bool,
    blocks: u32,
    claims: Claims,
}

impl Study {
    fn state(&self, share: Share) -> State {
        let mut plan = self.facts.plan.clone();
        plan.share_error_rate(share);
        let arms = analysis::estimate_arms(&plan, &self.facts.trials);
        analysis::decide(&plan, &self.facts.trials, &arms, analysis::Ground::default()).state
    }

    fn is_open(&self, share: Share) -> bool {
        let settled = matches!(self.state(share), State::Affected | State::NotAffected);
        let plan = &self.facts.plan;
        self.blocks < plan.max_blocks && !(settled && self.blocks >= plan.min_blocks)
    }
}

impl Check {
    /// Simulates one: `begin` makes a study of that number, and `run` a block of it, with the stall
    /// or without.
    pub fn simulate(
        &self,
        begin: impl Fn(u32) -> Facts,
        mut run: impl FnMut(&mut Facts, u32, bool),
    ) -> Came {
        let study = |number| Study {
            facts: begin(number),
            stalls: number < self.stalling,
            blocks: 0,
            claims: Claims::default(),
        };
        let mut all: Vec<Study> = (0..self.studies).map(study).collect();
        let mut share = Share { studies: self.studies, affected: 1, not_affected: 1 };
        loop {
            let open: Vec<&mut Study> = all.iter_mut().filter(|one| one.is_open(share)).collect();
            if open.is_empty() {
                break;
            }
            for study in open {
                run(&mut study.facts, study.blocks, study.stalls);
                study.blocks += 1;
                if !self.apart {
                    study.claims = Claims::of(self.studies, |share| study.state(share));
                }
            }
            if !self.apart {
                share = together::share(self.studies, all.iter().map(|study| study.claims));
            }
        }
        let blocks: u32 = all.iter().map(|study| study.blocks).sum();
        let states = all.iter().map(|study| (study.state(share), study.stalls));
        Came { answer: answer(states), blocks: f64::from(blocks) / f64::from(self.studies.max(1)) }
    }
}

/// A wrong claim counts first, then a study without a verdict.
fn answer(states: impl Iterator<Item = (State, bool)>) -> Answer {
    states.fold(Answer::AllSettled, |so_far, one| match (so_far, one) {
        (Answer::WrongClaim, _) | (_, (State::Affected, false) | (State::NotAffected, true)) => {
            Answer::WrongClaim
        }
        (_, (State::Affected, true) | (State::NotAffected, false)) => so_far,
        _ => Answer::Inconclusive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_claim_counts_before_a_study_without_a_verdict() {
        use State::{Affected, Inconclusive, NotAffected};
        let of = |states: &[(State, bool)]| answer(states.iter().copied());
        let right = [(Affected, true), (NotAffected, false)];
        assert_eq!(of(&right), Answer::AllSettled);
        assert_eq!(of(&[&right[..], &[(Inconclusive, true)]].concat()), Answer::Inconclusive);
        let wrong = [(Affected, false), (Inconclusive, true), (Affected, true)];
        assert_eq!(of(&wrong), Answer::WrongClaim);
        assert_eq!(of(&[(Inconclusive, false), (NotAffected, true)]), Answer::WrongClaim);
    }
}
