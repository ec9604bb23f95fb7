//! Main effects and interactions, compared with values computed by hand, and in simulated studies
//! with known effects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::factorial::{Cell, Effect, Effects, Factor, Shift};
use model::testing::{LOST, trial};
use model::{Factorial, Measure, Trial, Unit};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tailback_analysis::effects::{MOST_EFFECTS, effects};

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor { name: name.to_owned(), levels: levels.iter().map(|&l| l.to_owned()).collect() }
}

/// All combinations, with the first level of each factor as the control.
fn factorial(factors: &[Factor]) -> Factorial {
    let mut levels: Vec<Vec<String>> = vec![Vec::new()];
    for factor in factors {
        let with = |before: &Vec<String>, level: &String| {
            before.iter().chain([level]).cloned().collect::<Vec<String>>()
        };
        levels = levels
            .iter()
            .flat_map(|before| factor.levels.iter().map(move |level| with(before, level)))
            .collect();
    }
    let cell = |levels: &Vec<String>| Cell { arm: levels.join(","), levels: levels.clone() };
    Factorial {
        name: "test".to_owned(),
        factors: factors.to_vec(),
        control: levels[0].clone(),
        cells: levels.iter().map(cell).collect(),
        ..Factorial::default()
    }
}

/// Two factors with two levels each: `a,x`, `a,y`, `b,x`, `b,y`.
fn two_by_two() -> Factorial {
    factorial(&[factor("one", &["a", "b"]), factor("other", &["x", "y"])])
}

fn shift(effect: &Effect) -> &Shift {
    &effect.measures[LOST]
}

fn of(factorial: &Factorial, trials: &[Trial]) -> Vec<Effect> {
    effects(factorial, trials, &[LOST], 0.95).shown
}

/// Six blocks of `a,x`, `a,y`, `b,x`, `b,y`, with a level that rises by 100 in each block.
fn block_of_four(values: [[f64; 4]; 6]) -> Vec<Trial> {
    let arms = ["a,x", "a,y", "b,x", "b,y"];
    let block = |(number, values): (u32, [f64; 4])| {
        arms.into_iter()
            .zip(values)
            .map(move |(arm, value)| trial(number, arm, value + 100.0 * f64::from(number)))
    };
    (0..).zip(values).flat_map(block).collect()
}

/// Computed by hand. `b` against `a`, mean of the changes under `x` and `y`: 15, 16, 14, 15,
/// 16, 14. All averages of two of these lie evenly around 15. `y` against `x`: 7, 8, 6, 7, 8, 6.
/// Interaction, the change by `b` under `y` minus the change under `x`: 10 in each block.
#[test]
fn effects_are_those_worked_out_by_hand() {
    let trials = block_of_four([
        [0.0, 2.0, 10.0, 22.0],
        [0.0, 3.0, 11.0, 24.0],
        [0.0, 1.0, 9.0, 20.0],
        [5.0, 7.0, 15.0, 27.0],
        [5.0, 8.0, 16.0, 29.0],
        [5.0, 6.0, 14.0, 25.0],
    ]);
    let found = of(&two_by_two(), &trials);
    let names: Vec<Vec<&str>> = found
        .iter()
        .map(|effect| effect.changes.iter().map(|change| change.to.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["b"], vec!["y"], vec!["b", "y"]]);
    let figures: Vec<_> =
        found.iter().map(|e| (shift(e).shift, shift(e).low, shift(e).high)).collect();
    assert_eq!(figures[0], (15.0, Some(14.0), Some(16.0)));
    assert_eq!(figures[1], (7.0, Some(6.0), Some(8.0)));
    assert_eq!(figures[2], (10.0, Some(10.0), Some(10.0)));
    assert_eq!(found.iter().map(|effect| effect.over).collect::<Vec<_>>(), [2, 2, 1]);
    assert!(found.iter().all(|e| shift(e).blocks == 6 && shift(e).confidence == 0.96875));
    assert!(found.iter().all(|e| shift(e).clear()));
}

#[test]
fn a_cut_off_trial_is_a_bound_and_a_missing_one_takes_its_block_out() {
    let mut trials = block_of_four([[0.0, 2.0, 10.0, 22.0]; 6]);
    let cut = Measure::at_least(22.0, Unit::MillisecondsPerSecond);
    for trial in trials.iter_mut().filter(|trial| trial.arm == "b,y") {
        trial.observation.measures.insert(LOST.to_owned(), cut);
    }
    let found = of(&two_by_two(), &trials);
    assert!(found.iter().all(|effect| shift(effect).at_least && shift(effect).high.is_none()));
    trials.retain(|trial| (trial.block, trial.arm.as_str()) != (3, "b,y"));
    let found = of(&two_by_two(), &trials);
    assert!(found.iter().all(|effect| shift(effect).blocks == 5));
    trials.push(trial(2, "b,y", 1.0));
    let found = of(&two_by_two(), &trials);
    assert!(found.iter().all(|effect| shift(effect).blocks == 4), "an arm twice in a block");
}

#[test]
fn a_combination_that_was_left_out_is_no_part_of_any_effect() {
    let mut factorial = two_by_two();
    factorial.cells.retain(|cell| cell.arm != "b,y");
    let trials = block_of_four([[0.0, 2.0, 10.0, 0.0]; 6]);
    let found = of(&factorial, &trials);
    assert_eq!(found.len(), 2, "no interaction without the fourth cell");
    assert_eq!((shift(&found[0]).shift, found[0].over), (10.0, 1));
}

#[test]
fn more_effects_than_anybody_reads_are_counted_and_left_out() {
    let levels: Vec<String> = (0..16).map(|level| level.to_string()).collect();
    let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
    let factorial = factorial(&[factor("one", &levels), factor("other", &levels)]);
    let Effects { shown: found, left_out: beyond } = effects(&factorial, &[], &[LOST], 0.95);
    assert_eq!((found.len(), beyond), (MOST_EFFECTS, 15 + 15 + 15 * 15 - MOST_EFFECTS as u64));
}

#[test]
fn a_record_that_does_not_fit_yields_nothing() {
    let mut factorial = two_by_two();
    factorial.control[0] = "c".to_owned();
    assert_eq!(of(&factorial, &block_of_four([[0.0; 4]; 6])), []);
}

/// Noise with the tails of a Laplace distribution.
fn noise(rng: &mut impl Rng) -> f64 {
    let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
    -sign * (1.0 - rng.random::<f64>()).ln()
}

/// Studies of eight blocks on a machine whose drift is a hundred times the noise. It counts how
/// many of 1000 intervals contain each true effect.
#[test]
fn intervals_hold_known_effects_as_often_as_they_say() {
    let (main, other, together) = (3.0, -2.0, 1.5);
    let truth = [main + together / 2.0, other + together / 2.0, together];
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let (mut held, mut off) = ([0u32; 3], [0.0; 3]);
    for _ in 0..1000 {
        let mut trials = Vec::new();
        for block in 0..8 {
            let drift = 100.0 * noise(&mut rng);
            for (arm, effect) in
                [("a,x", 0.0), ("a,y", other), ("b,x", main), ("b,y", main + other + together)]
            {
                trials.push(trial(block, arm, drift + effect + noise(&mut rng)));
            }
        }
        for (i, effect) in of(&two_by_two(), &trials).iter().enumerate() {
            let shift = shift(effect);
            held[i] += u32::from((shift.low.unwrap()..=shift.high.unwrap()).contains(&truth[i]));
            off[i] += (shift.shift - truth[i]) / 1000.0;
        }
    }
    // The distribution gives 96.1%; three standard errors of 1000 studies are 1.8%.
    assert!(held.iter().all(|held| (942..=979).contains(held)), "{held:?}");
    // The spread of the estimate is below 1, so three standard errors of the mean of 1000 are
    // below 0.1.
    assert!(off.iter().all(|off: &f64| off.abs() < 0.1), "{off:?}");
}
