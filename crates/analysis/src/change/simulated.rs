//! How often a comparison is wrong where nothing changed but the day, and how often it is right.
//!
//! All seeds are fixed; `--nocapture` prints the figures, and docs/statistics.md quotes them. A
//! figure of a trial has a standard deviation of one.

use super::tests::{in_order, of_blocks};
use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Comparisons in each simulation.
const MANY: usize = 400;

/// Blocks of a record.
const BLOCKS: usize = 10;

/// What a true rate of 5% explains: three standard errors above it.
const MOST_WRONG: usize = 33;

/// What may move from run to run, as standard deviations, and what the code changes.
#[derive(Clone, Copy, Default)]
struct World {
    /// An offset of a run that all its arms share.
    day: f64,
    /// An offset of a run that the case alone has.
    run: f64,
    /// By how much the case grows with each run.
    drift: f64,
    /// By how much the case is worse after the change.
    change: f64,
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (one, two): (f64, f64) = (rng.random_range(1e-12..1.0), rng.random_range(0.0..1.0));
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
}

/// A record of this place in the order of all.
fn run(rng: &mut ChaCha8Rng, world: World, after: bool, place: usize) -> Judged {
    let day = world.day * normal(rng);
    let more = world.run * normal(rng)
        + world.drift * place as f64
        + if after { world.change } else { 0.0 };
    let blocks: Vec<(f64, f64)> =
        (0..BLOCKS).map(|_| (50.0 + day + normal(rng), 80.0 + day + more + normal(rng))).collect();
    let mut record = of_blocks(&blocks, &[]);
    // Every difference matters: a margin would only hide mistakes.
    record.plan.judging.margin = 0.0;
    record
}

/// The share of comparisons that ended in each of these words.
fn rates(what: &str, order: &[&str], world: World) -> [usize; 3] {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut counts = [0; 3];
    for _ in 0..MANY {
        let records: Vec<Judged> = order
            .iter()
            .enumerate()
            .map(|(place, side)| run(&mut rng, world, *side == "after", place))
            .collect();
        match in_order(order, &records).state {
            ChangeState::Worse => counts[0] += 1,
            ChangeState::Better => counts[1] += 1,
            ChangeState::Differs => counts[2] += 1,
            _ => {}
        }
    }
    println!("{what}: of {MANY} worse {}, better {}, differs {}", counts[0], counts[1], counts[2]);
    counts
}

const ONE: [&str; 2] = ["before", "after"];

fn turns(pairs: usize) -> Vec<&'static str> {
    ONE.repeat(pairs)
}

#[test]
fn the_day_alone_is_no_change() {
    for day in [0.5, 1.0, 5.0] {
        let world = World { day, ..World::default() };
        let [worse, better, differs] = rates(&format!("day {day}, 1 a side"), &ONE, world);
        assert_eq!((worse, better), (0, 0));
        assert!(differs <= MOST_WRONG, "{differs}");
        let [worse, better, differs] = rates(&format!("day {day}, 4 a side"), &turns(4), world);
        assert!(worse + better <= MOST_WRONG && differs == 0, "{worse} {better} {differs}");
    }
}

#[test]
fn runs_that_differ_by_themselves_are_no_change() {
    for (run, drift) in [(0.5, 0.0), (1.0, 0.0), (5.0, 0.0), (1.0, 0.3), (0.0, 0.3)] {
        let world = World { day: 1.0, run, drift, ..World::default() };
        let [worse, better, _] = rates(&format!("run {run} drift {drift}, 1 a side"), &ONE, world);
        assert_eq!((worse, better), (0, 0));
        for pairs in [4, 6] {
            let what = format!("run {run} drift {drift}, {pairs} a side");
            let [worse, better, _] = rates(&what, &turns(pairs), world);
            assert!(worse + better <= MOST_WRONG, "{pairs}: {worse} {better}");
        }
    }
}

#[test]
fn drift_between_sides_that_were_not_made_in_turns_is_called_neither() {
    let order = [["before"; 4], ["after"; 4]].concat();
    let world = World { day: 1.0, run: 0.3, drift: 1.0, change: 0.0 };
    let [worse, better, _] = rates("drift 1, not in turns", &order, world);
    assert_eq!((worse, better), (0, 0));
}

#[test]
fn a_large_change_is_called_worse_in_most() {
    let world = World { day: 1.0, run: 1.0, drift: 0.0, change: 3.0 };
    let [worse, better, _] = rates("change 3, run 1, 4 a side", &turns(4), world);
    // All four have to lie above all four: 74% with these seeds.
    assert!(worse > MANY * 2 / 3 && better == 0, "{worse} {better}");
    let world = World { run: 0.3, ..world };
    let [worse, ..] = rates("change 3, run 0.3, 4 a side", &turns(4), world);
    assert!(worse > MANY * 9 / 10, "{worse}");
    let [.., differs] = rates("change 3, run 0.3, 1 a side", &ONE, world);
    assert!(differs > MANY * 9 / 10, "{differs}");
}
