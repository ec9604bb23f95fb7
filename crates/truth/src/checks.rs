//! Studies that are reported together, like those of `tailback check`: how often one of them
//! makes a wrong claim, and how many blocks they take.
//!
//! Only the test judges them, many times for each block. A review can only withdraw verdicts, so
//! a real check has at most as many wrong claims, and may leave more studies open.

use crate::Answer;
use analysis::together::{Claims, share as share_out};
use model::record::Share;
use model::{Facts, State};
use serde::{Deserialize, Serialize};

/// The studies of one check. The injected stall affects only the first `stalling` of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The number of studies.
    pub studies: u32,
    /// The number of studies with the stall.
    pub stalling: u32,
    /// Whether each study has a fixed equal part of the error rate. Otherwise the studies share
    /// it according to their claims.
    #[serde(default)]
    pub apart: bool,
}

/// The result of a check.
#[derive(Debug)]
pub struct Came {
    /// Its answer.
    pub answer: Answer,
    /// Mean number of blocks per study.
    pub blocks: f64,
    /// A study with that answer. None if the check has no studies.
    pub study: Option<Facts>,
}

/// A study in progress.
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
        let trials = &self.facts.trials;
        let arms = analysis::estimate_arms(&plan, trials);
        analysis::decide(&plan, trials, &arms, analysis::Ground::default()).state
    }

    fn with(&self, share: Share) -> Facts {
        let mut facts = self.facts.clone();
        facts.plan.share_error_rate(share);
        facts
    }

    /// The contribution of the study to the answer.
    fn answer(&self, share: Share) -> Answer {
        match (self.state(share), self.stalls) {
            (State::Affected, true) | (State::NotAffected, false) => Answer::AllSettled,
            (State::Affected, false) | (State::NotAffected, true) => Answer::WrongClaim,
            _ => Answer::Inconclusive,
        }
    }

    fn is_open(&self, share: Share) -> bool {
        let settled = matches!(self.state(share), State::Affected | State::NotAffected);
        let plan = &self.facts.plan;
        self.blocks < plan.max_blocks && !(settled && self.blocks >= plan.min_blocks)
    }
}

impl Check {
    /// Simulates one check. `begin` creates the study with a number. `run` runs one block of a
    /// study, with or without the stall.
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
                share = share_out(self.studies, all.iter().map(|study| &study.claims));
            }
        }
        let blocks: u32 = all.iter().map(|study| study.blocks).sum();
        let answers: Vec<Answer> = all.iter().map(|study| study.answer(share)).collect();
        let answer = together(&answers);
        let study = answers.iter().position(|one| *one == answer).map(|at| all[at].with(share));
        Came { answer, blocks: f64::from(blocks) / f64::from(self.studies.max(1)), study }
    }
}

/// Wrong claims come first, then studies without a verdict.
fn together(answers: &[Answer]) -> Answer {
    let order = [Answer::WrongClaim, Answer::Inconclusive];
    order.into_iter().find(|one| answers.contains(one)).unwrap_or(Answer::AllSettled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_claim_counts_before_a_study_without_a_verdict() {
        use Answer::{AllSettled, Inconclusive, WrongClaim};
        assert_eq!(together(&[AllSettled, AllSettled]), AllSettled);
        assert_eq!(together(&[AllSettled, Inconclusive]), Inconclusive);
        assert_eq!(together(&[Inconclusive, WrongClaim, AllSettled]), WrongClaim);
    }
}
