//! The effects of the levels of a factorial study: main effects and interactions.

use crate::blocks::measured;
use crate::paired::{self, Change};
use crate::quantile::count;
use crate::reading::Reading;
use model::factorial::{Change as LevelChange, Effect, Effects};
use model::{Factorial, Trial, Unit};
use std::collections::{BTreeMap, HashMap};

/// The most effects that are computed. A study with many levels has more interactions than
/// anybody reads.
pub const MOST_EFFECTS: usize = 200;

/// Main effects, factor by factor, then interactions of two factors. The number is how many
/// exceed [`MOST_EFFECTS`].
///
/// Effects are defined as in a factorial experiment (Yates 1937, "The design and analysis of
/// factorial experiments", Technical Communication 35 of the Imperial Bureau of Soil Science). A
/// main effect is the change from the control's level of a factor to another level. It is the
/// mean over all combinations of the other factors' levels that were run with both. An
/// interaction is how much of that change depends on another factor: the difference of two such
/// differences. Each block gives one change, so drift between blocks cancels. The estimate over
/// blocks is that of Hodges and Lehmann, with Tukey's interval. Trials that were cut off count as
/// bounds. A block with a missing trial has no part in the effects that need that trial.
///
/// Each interval has its own confidence: on average one of twenty intervals with 95% misses.
pub fn effects(
    factorial: &Factorial,
    trials: &[Trial],
    measures: &[&str],
    confidence: f64,
) -> Effects {
    let Some(cells) = Cells::of(factorial) else { return Effects::default() };
    let (contrasts, beyond) = contrasts(factorial, &cells);
    let mut effects: Vec<Effect> = contrasts
        .iter()
        .map(|contrast| Effect {
            changes: contrast.changes.clone(),
            over: count(contrast.combinations.len()),
            measures: BTreeMap::new(),
        })
        .collect();
    for measure in measures {
        let Some(readings) = Readings::of(factorial, trials, measure) else { continue };
        for (effect, contrast) in effects.iter_mut().zip(&contrasts) {
            let changes: Vec<Change> =
                readings.blocks.values().filter_map(|block| contrast.change(block)).collect();
            if let Some(shift) = paired::shift(&changes, readings.unit, confidence) {
                effect.measures.insert((*measure).to_owned(), shift);
            }
        }
    }
    Effects { shown: effects, left_out: beyond }
}

/// The combinations that were run, by the indices of their levels.
struct Cells {
    /// Indices of the control's levels.
    control: Vec<usize>,
    /// Levels of each cell, in the order of the study.
    levels: Vec<Vec<usize>>,
    by_levels: HashMap<Vec<usize>, usize>,
}

impl Cells {
    /// `None` if the control has a level that no factor has.
    fn of(factorial: &Factorial) -> Option<Self> {
        let number = |levels: &[String]| -> Option<Vec<usize>> {
            let pairs = factorial.factors.iter().zip(levels);
            pairs.map(|(factor, level)| factor.levels.iter().position(|l| l == level)).collect()
        };
        let control = number(&factorial.control)?;
        let levels: Vec<Vec<usize>> =
            factorial.cells.iter().map(|cell| number(&cell.levels)).collect::<Option<_>>()?;
        let by_levels = levels.iter().cloned().enumerate().map(|(i, l)| (l, i)).collect();
        Some(Cells { control, levels, by_levels })
    }

    /// The cell with some factors set back to the control's level.
    fn back(&self, cell: usize, factors: &[usize]) -> Option<usize> {
        let mut levels = self.levels[cell].clone();
        factors.iter().for_each(|factor| levels[*factor] = self.control[*factor]);
        self.by_levels.get(&levels).copied()
    }
}

/// Cells to add up and to subtract.
struct Contrast {
    changes: Vec<LevelChange>,
    /// For each combination of the other factors: the cells that are added, and those that are
    /// subtracted.
    combinations: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Contrast {
    /// The change within a block: the mean over all combinations.
    fn change(&self, block: &[Option<Reading>]) -> Option<Change> {
        let mut change = Change::NONE;
        for (added, subtracted) in &self.combinations {
            for cell in added {
                change = change.plus(block.get(*cell)?.as_ref()?);
            }
            for cell in subtracted {
                change = change.minus(block.get(*cell)?.as_ref()?);
            }
        }
        Some(change.over(self.combinations.len() as f64))
    }
}

/// A factor and one of its levels other than the control's, by their indices.
type Level = (usize, usize);

fn contrasts(factorial: &Factorial, cells: &Cells) -> (Vec<Contrast>, u64) {
    let levels = |factor: usize| {
        let all = 0..factorial.factors[factor].levels.len();
        all.filter(move |level| *level != cells.control[factor]).map(move |level| (factor, level))
    };
    let factors = 0..factorial.factors.len();
    let mains = factors.clone().flat_map(levels).map(|level| vec![level]);
    let pairs = factors.clone().flat_map(|one| {
        let others = one + 1..factorial.factors.len();
        others.flat_map(move |other| {
            levels(one).flat_map(move |a| levels(other).map(move |b| vec![a, b]))
        })
    });
    let found = mains.chain(pairs).filter_map(|levels| contrast(factorial, cells, &levels));
    let contrasts: Vec<Contrast> = found.take(MOST_EFFECTS).collect();
    let counts: Vec<u64> = factors.map(|factor| levels(factor).count() as u64).collect();
    let squares: u64 = counts.iter().map(|count| count * count).sum();
    let sum: u64 = counts.iter().sum();
    let all = sum + sum.saturating_mul(sum).saturating_sub(squares) / 2;
    let full = contrasts.len() == MOST_EFFECTS;
    (contrasts, if full { all.saturating_sub(MOST_EFFECTS as u64) } else { 0 })
}

/// The contrast of one level with the control's level, or of two levels together. `None` if no
/// combination of the other factors was run with all of them.
fn contrast(factorial: &Factorial, cells: &Cells, levels: &[Level]) -> Option<Contrast> {
    let here =
        |cell: &usize| levels.iter().all(|(factor, level)| cells.levels[*cell][*factor] == *level);
    let factors: Vec<usize> = levels.iter().map(|(factor, _)| *factor).collect();
    let combination = |cell: usize| match *factors.as_slice() {
        [one] => Some((vec![cell], vec![cells.back(cell, &[one])?])),
        [one, other] => Some((
            vec![cell, cells.back(cell, &[one, other])?],
            vec![cells.back(cell, &[one])?, cells.back(cell, &[other])?],
        )),
        _ => None,
    };
    let combinations: Vec<_> =
        (0..cells.levels.len()).filter(here).filter_map(combination).collect();
    let change = |(factor, level): &Level| {
        let of = &factorial.factors[*factor];
        LevelChange {
            factor: of.name.clone(),
            from: factorial.control[*factor].clone(),
            to: of.levels[*level].clone(),
        }
    };
    let changes = levels.iter().map(change).collect();
    (!combinations.is_empty()).then_some(Contrast { changes, combinations })
}

/// The readings of one figure.
struct Readings {
    unit: Unit,
    /// By block number: a reading for each cell whose arm ran once and yielded one.
    blocks: BTreeMap<u32, Vec<Option<Reading>>>,
}

impl Readings {
    /// `None` if no trial yielded the figure.
    fn of(factorial: &Factorial, trials: &[Trial], measure: &str) -> Option<Self> {
        let cells: HashMap<&str, usize> =
            factorial.cells.iter().enumerate().map(|(i, cell)| (cell.arm.as_str(), i)).collect();
        let unit = trials.iter().find_map(|trial| measured(trial, measure))?.unit;
        let mut blocks: BTreeMap<u32, Vec<Option<Reading>>> = BTreeMap::new();
        let mut seen: BTreeMap<(u32, usize), u32> = BTreeMap::new();
        for trial in trials {
            let Some(cell) = cells.get(trial.arm.as_str()).copied() else { continue };
            let block =
                blocks.entry(trial.block).or_insert_with(|| vec![None; factorial.cells.len()]);
            let times = seen.entry((trial.block, cell)).or_default();
            *times += 1;
            // A figure with another unit, or an arm twice in a block: the record was edited by
            // hand.
            let reading = measured(trial, measure).filter(|m| m.unit == unit && *times == 1);
            block[cell] = reading.map(Reading::from);
        }
        Some(Readings { unit, blocks })
    }
}
