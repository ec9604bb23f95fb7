//! How often a comparison is wrong if nothing changed between the runs, and how often it is
//! right.
//!
//! All seeds are fixed. `--nocapture` prints the figures, and docs/statistics.md quotes them. The
//! figure of a trial has a standard deviation of one. The rows `sim-pairs-*` of
//! truth/simulated.toml give the same rates for whole studies.

use super::tests::{in_order, in_pairs, of_blocks};
use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Comparisons in each simulation.
const MANY: usize = 400;

/// Blocks of a record.
const BLOCKS: usize = 10;

/// The highest count that a true rate of 5% explains: three standard errors above it.
const MOST_WRONG: usize = 33;

/// What may vary between runs, as standard deviations, and what the code changes.
#[derive(Clone, Copy, Default)]
struct World {
    /// An offset of a run that all its arms share.
    day: f64,
    /// An offset of a run that only the case has.
    run: f64,
    /// The correlation of that offset with the offset of the previous run.
    rho: f64,
    /// By how much the case becomes worse with each run.
    drift: f64,
    /// By how much the case is worse in the second half of all runs.
    step: f64,
    /// By how much the case is worse after the change.
    change: f64,
}

/// How the order within the pairs is decided.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    /// One record on each side.
    Once,
    /// Chance decides in each pair.
    ByChance,
    /// By hand: before, after, after, before.
    TurnedRound,
    /// The same order, in records that claim that chance decided.
    TurnedRoundAsByChance,
    /// Before, after, before, after, in records that claim that chance decided.
    StrictAsByChance,
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (one, two): (f64, f64) = (rng.random_range(1e-12..1.0), rng.random_range(0.0..1.0));
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
}

/// Consecutive runs; `after` says which of them belong to the second side.
fn runs(rng: &mut ChaCha8Rng, world: World, after: &[bool]) -> Vec<Judged> {
    let mut offset = normal(rng);
    let mut run = |place: usize| {
        let day = world.day * normal(rng);
        let mut more = world.run * offset + world.drift * place as f64;
        more += if 2 * place >= after.len() { world.step } else { 0.0 };
        more += if after[place] { world.change } else { 0.0 };
        offset = world.rho * offset + (1.0 - world.rho * world.rho).sqrt() * normal(rng);
        let blocks: Vec<(f64, f64)> = (0..BLOCKS)
            .map(|_| (50.0 + day + normal(rng), 80.0 + day + more + normal(rng)))
            .collect();
        let mut record = of_blocks(&blocks, &[]);
        // Every difference matters here. A margin would only hide mistakes.
        record.plan.judging.margin = 0.0;
        record
    };
    (0..after.len()).map(&mut run).collect()
}

/// One comparison of `pairs` pairs.
fn compared(rng: &mut ChaCha8Rng, world: World, made: Made, pairs: usize) -> ChangeState {
    let after_first = |pair: usize, rng: &mut ChaCha8Rng| match made {
        Made::Once | Made::StrictAsByChance => false,
        Made::ByChance => rng.random_bool(0.5),
        Made::TurnedRound | Made::TurnedRoundAsByChance => pair % 2 == 1,
    };
    let order: Vec<bool> = (0..pairs)
        .flat_map(|pair| {
            let first = after_first(pair, rng);
            [first, !first]
        })
        .collect();
    let mut records = runs(rng, world, &order);
    if matches!(made, Made::Once | Made::TurnedRound) {
        let words: Vec<&str> =
            order.iter().map(|after| if *after { "after" } else { "before" }).collect();
        return in_order(&words, &records).state;
    }
    for two in records.chunks_mut(2).zip(order.chunks(2)).filter(|(_, order)| order[0]) {
        two.0.swap(0, 1);
    }
    in_pairs(&records).state
}

/// How many comparisons ended with each verdict.
fn rates(world: World, made: Made, pairs: usize) -> [usize; 3] {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut counts = [0; 3];
    for _ in 0..MANY {
        match compared(&mut rng, world, made, pairs) {
            ChangeState::Worse => counts[0] += 1,
            ChangeState::Better => counts[1] += 1,
            ChangeState::Differs => counts[2] += 1,
            _ => {}
        }
    }
    let World { day, run, rho, drift, step, change } = world;
    println!(
        "day {day}, run {run}, rho {rho}, drift {drift}, step {step}, change {change}; {pairs} \
         pairs: of {MANY} worse {}, better {}, differs {}",
        counts[0], counts[1], counts[2]
    );
    counts
}

/// How many comparisons were called worse or better although nothing changed.
fn wrong(world: World, made: Made, pairs: usize) -> usize {
    let [worse, better, _] = rates(world, made, pairs);
    worse + better
}

#[test]
fn the_day_alone_is_no_change() {
    for day in [0.5, 1.0, 5.0] {
        let world = World { day, ..World::default() };
        let [worse, better, differs] = rates(world, Made::Once, 1);
        assert_eq!((worse, better), (0, 0));
        assert!(differs <= MOST_WRONG, "{differs}");
        let [worse, better, differs] = rates(world, Made::ByChance, 6);
        assert!(worse + better <= MOST_WRONG && differs == 0, "{worse} {better} {differs}");
    }
}

#[test]
fn runs_that_differ_by_themselves_are_no_change() {
    for run in [0.5, 1.0, 5.0] {
        let world = World { day: 1.0, run, ..World::default() };
        let [worse, better, _] = rates(world, Made::Once, 1);
        assert_eq!((worse, better), (0, 0));
        for pairs in [6, 8] {
            let wrong = wrong(world, Made::ByChance, pairs);
            assert!(wrong <= MOST_WRONG, "{pairs}: {wrong}");
        }
    }
}

/// For runs that resemble the previous run, or are its opposite: a random order is wrong at most
/// at the stated rate. An alternating order chosen by hand keeps the rate when it is halved.
#[test]
fn runs_that_resemble_their_neighbours_are_no_change() {
    for rho in [0.8, 0.5, -0.5, -0.8] {
        let world = World { run: 5.0, rho, ..World::default() };
        for made in [Made::ByChance, Made::TurnedRound] {
            let wrong = wrong(world, made, 8);
            assert!(wrong <= MOST_WRONG, "{rho}: {wrong}");
        }
    }
}

/// Why an order has to be random, or else the error rate halved.
#[test]
fn an_order_that_only_says_that_it_was_left_to_chance_is_wrong_more_often() {
    let of = |rho, made| wrong(World { run: 5.0, rho, ..World::default() }, made, 8);
    let strict = of(-0.8, Made::StrictAsByChance);
    assert!(strict > MANY / 4, "{strict}");
    let (full, half) = (of(0.5, Made::TurnedRoundAsByChance), of(0.5, Made::TurnedRound));
    assert!(half < full, "{half} {full}");
}

#[test]
fn drift_and_a_step_in_the_middle_are_no_change() {
    for (drift, step) in [(0.3, 0.0), (5.0, 0.0), (0.0, 10.0)] {
        let world = World { day: 1.0, run: 1.0, drift, step, ..World::default() };
        for pairs in [6, 9] {
            let wrong = wrong(world, Made::ByChance, pairs);
            assert!(wrong <= MOST_WRONG, "{drift} {step} {pairs}: {wrong}");
        }
    }
}

#[test]
fn a_large_change_is_called_worse_in_most() {
    let world = World { day: 1.0, run: 1.0, change: 3.0, ..World::default() };
    let [worse, better, _] = rates(world, Made::ByChance, 8);
    assert!(worse > MANY * 9 / 10 && better == 0, "{worse} {better}");
    let world = World { run: 0.3, ..world };
    let [.., differs] = rates(world, Made::Once, 1);
    assert!(differs > MANY * 9 / 10, "{differs}");
}
