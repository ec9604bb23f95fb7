//! How often a fix that works only sometimes is called fixed, by simulation with fixed seeds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::testing::{plan, trial};
use model::{FixOutcome, Role, Trial};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tailback_analysis::{estimate_arms, fixes};

/// Studies in each simulation.
const STUDIES: u32 = 200;

/// In how many studies each fix is called fixed, if it leaves the whole stall in such a part of the
/// trials; each study stops as soon as one of its fixes is called so.
fn called_fixed(seed: u64, fixes_tried: usize, fails: f64, blocks: u32) -> u32 {
    let names: Vec<String> = (0..fixes_tried).map(|number| format!("fix-{number}")).collect();
    let mut arms = vec![("control", Role::Control), ("case", Role::Case)];
    arms.extend(names.iter().map(|name| (name.as_str(), Role::Fix)));
    let plan = plan(&arms);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut fixed = 0;
    for _ in 0..STUDIES {
        let mut trials: Vec<Trial> = Vec::new();
        for block in 0..blocks {
            let stall = |rng: &mut ChaCha8Rng| rng.random_range(300.0..700.0);
            let quiet = |rng: &mut ChaCha8Rng| rng.random_range(0.0..0.5);
            trials.push(trial(block, "control", quiet(&mut rng)));
            trials.push(trial(block, "case", stall(&mut rng)));
            for name in &names {
                let left = rng.random_bool(fails);
                let lost = if left { stall(&mut rng) } else { quiet(&mut rng) };
                trials.push(trial(block, name, lost));
            }
            let arms = estimate_arms(&plan, &trials);
            let found = fixes(&plan, &trials, &arms);
            if found.iter().any(|fix| fix.outcome == FixOutcome::Fixed) {
                fixed += 1;
                break;
            }
        }
    }
    println!(
        "{fixes_tried} fixes that fail in {:.0}%: fixed in {fixed} of {STUDIES}",
        100.0 * fails
    );
    fixed
}

#[test]
fn a_fix_that_fails_in_three_trials_of_ten_is_hardly_ever_called_fixed() {
    assert!(called_fixed(1, 1, 0.3, 24) <= STUDIES / 20);
    assert!(called_fixed(2, 3, 0.3, 24) <= STUDIES / 20);
}

#[test]
fn a_fix_that_works_is_called_fixed_within_seventeen_blocks() {
    assert_eq!(called_fixed(3, 1, 0.0, 12), STUDIES);
    assert!(called_fixed(4, 3, 0.0, 17) == STUDIES);
}

#[test]
fn a_fix_that_fails_once_in_twenty_is_called_fixed_more_often_than_not() {
    assert!(called_fixed(5, 1, 0.05, 24) > STUDIES / 2);
}

/// Two nodes, each with a control, a case and a fix of its own; only the second stalls.
#[test]
fn a_fix_is_not_held_against_a_stall_that_has_another_control() {
    let mut plan = plan(&[
        ("control-a", Role::Control),
        ("case-a", Role::Case),
        ("fix-a", Role::Fix),
        ("control-b", Role::Control),
        ("case-b", Role::Case),
        ("fix-b", Role::Fix),
    ]);
    for (arm, control) in [(1, "control-a"), (2, "control-a"), (4, "control-b"), (5, "control-b")] {
        plan.arms[arm].against = Some(control.to_owned());
    }
    let block = |block: u32| {
        let lost = |id: &str| if id == "case-b" { 700.0 } else { 0.0 };
        plan.arms.iter().map(|arm| trial(block, &arm.id, lost(&arm.id))).collect::<Vec<_>>()
    };
    let trials: Vec<Trial> = (0..20).flat_map(block).collect();
    let arms = estimate_arms(&plan, &trials);
    let found = fixes(&plan, &trials, &arms);
    let told: Vec<(&str, &str)> =
        found.iter().map(|fix| (fix.arm.as_str(), fix.outcome.word())).collect();
    assert_eq!(told, [("fix-b", "fixed")]);
}
