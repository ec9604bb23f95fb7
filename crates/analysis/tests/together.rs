//! How often studies that share one error rate claim something wrong, and how many blocks they
//! take, by simulation with fixed seeds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::record::{Plan, Share};
use model::testing::{plan, trial};
use model::{Role, State, Trial};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tailback_analysis::together::{self, Claims};
use tailback_analysis::{Ground, decide, estimate_arms};

/// Studies that are reported together.
const TOGETHER: u32 = 8;

/// Simulated checks.
const CHECKS: u32 = 40;

/// Blocks of a study at most.
const BLOCKS: u32 = 32;

/// Chance that a trial without a stall loses up to 10 ms/s all the same.
const BLIPS: f64 = 0.1;

/// A study, and what it says with so many claims.
struct Study {
    plan: Plan,
    trials: Vec<Trial>,
    stalls: f64,
    claims: Claims,
}

/// What came of many checks.
#[derive(Debug, Default)]
struct Seen {
    wrong_affected: u32,
    wrong_absent: u32,
    settled: u32,
    blocks: u32,
}

impl Study {
    fn of(stalls: f64) -> Self {
        let plan = plan(&[("control", Role::Control), ("case", Role::Case)]);
        Study { plan, trials: Vec::new(), stalls, claims: Claims::default() }
    }

    fn blocks(&self) -> u32 {
        self.trials.len() as u32 / 2
    }

    fn run_block(&mut self, rng: &mut ChaCha8Rng) {
        let block = self.blocks();
        for id in ["control", "case"] {
            let mut lost = rng.random_range(0.0..0.5);
            if rng.random_bool(BLIPS) {
                lost += rng.random_range(0.0..10.0);
            }
            if id == "case" && rng.random_bool(self.stalls) {
                lost += rng.random_range(100.0..300.0);
            }
            self.trials.push(trial(block, id, lost));
        }
    }

    fn state(&self, share: Share) -> State {
        let mut plan = self.plan.clone();
        plan.share_error_rate(share);
        let arms = estimate_arms(&plan, &self.trials);
        decide(&plan, &self.trials, &arms, Ground::default()).state
    }

    fn is_open(&self, share: Share) -> bool {
        let settled = matches!(self.state(share), State::Affected | State::NotAffected);
        self.blocks() < BLOCKS && !(settled && self.blocks() >= 6)
    }
}

/// A check in which so many of eight studies stall always; with `shared` they share the error rate
/// by what they claim, else each has an eighth.
fn check(rng: &mut ChaCha8Rng, stalling: u32, shared: bool, seen: &mut Seen) {
    let stalls = |number: u32| if number < stalling { 1.0 } else { 0.0 };
    let mut all: Vec<Study> = (0..TOGETHER).map(|number| Study::of(stalls(number))).collect();
    let mut share = Share { studies: TOGETHER, affected: 1, not_affected: 1 };
    loop {
        let open: Vec<usize> = (0..all.len()).filter(|at| all[*at].is_open(share)).collect();
        if open.is_empty() {
            break;
        }
        for at in open {
            all[at].run_block(rng);
            if shared {
                all[at].claims = Claims::of(TOGETHER, |share| all[at].state(share));
            }
        }
        if shared {
            share = together::share(TOGETHER, all.iter().map(|study| study.claims));
        }
    }
    let states: Vec<(State, f64)> = all.iter().map(|s| (s.state(share), s.stalls)).collect();
    let any = |state, stalls: f64| u32::from(states.contains(&(state, stalls)));
    seen.wrong_affected += any(State::Affected, 0.0);
    seen.wrong_absent += any(State::NotAffected, 1.0);
    let open = states.iter().any(|(state, _)| *state == State::Inconclusive);
    seen.settled += u32::from(!open);
    seen.blocks += all.iter().map(Study::blocks).sum::<u32>();
}

fn checks(stalling: u32, shared: bool) -> Seen {
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(stalling) + 11);
    let mut seen = Seen::default();
    (0..CHECKS).for_each(|_| check(&mut rng, stalling, shared, &mut seen));
    println!("{stalling} of {TOGETHER} stall, shared {shared}: {seen:?} of {CHECKS}");
    seen
}

#[test]
fn claims_that_share_a_rate_are_as_right_and_settle_sooner() {
    for stalling in [0, 1, 4, 7] {
        let (apart, shared) = (checks(stalling, false), checks(stalling, true));
        assert!(shared.wrong_affected <= CHECKS / 20 + 3, "{shared:?}");
        assert!(shared.wrong_absent <= CHECKS / 20 + 3, "{shared:?}");
        assert!(shared.blocks < apart.blocks, "{shared:?} {apart:?}");
        assert!(shared.settled + CHECKS / 10 >= apart.settled, "{shared:?} {apart:?}");
    }
}
