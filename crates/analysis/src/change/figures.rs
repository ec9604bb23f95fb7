//! Every figure of every arm on both sides.

use super::absent::allowance;
use super::bounded::{Bounded, compare, compare_pairs, median};
use super::design::Design;
use super::sides::{Named, Sides, control_of, judgings};
use crate::blocks::measured;
use crate::reading::Reading;
use model::{ArmChange, Basis, ChangeState, Comparison, Difference, Judged, Judging, Role, Trial};
use model::{Measure, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// Most blocks of a side that are compared. All pairs of blocks are compared, so memory grows
/// with the square.
pub(super) const MOST_BLOCKS: usize = 500;

/// The arms that all records have. Arms with the cause also have a verdict.
pub(super) fn arms(sides: &Sides, design: &Design) -> Vec<ArmChange> {
    let Some(((first, _), _)) = sides.first() else { return Vec::new() };
    let judged: BTreeMap<&str, &Judging> =
        judgings(first).into_iter().map(|judging| (judging.measure.as_ref(), judging)).collect();
    let roles = [Role::Control, Role::Case, Role::Fix, Role::Baseline];
    let ids =
        roles.into_iter().flat_map(|role| sides.common(role).into_iter().map(move |id| (id, role)));
    let arm = |(id, role): (&str, Role)| {
        // If all trials of a record hung, it may have none of the figures.
        let names: BTreeSet<&str> = sides
            .all()
            .flat_map(|(record, _)| of_arm(record, id))
            .flat_map(|trial| trial.observation.measures.keys().map(String::as_str))
            .collect();
        let measures: BTreeMap<String, Difference> = names
            .into_iter()
            .filter_map(|name| {
                let figure = Figure {
                    sides,
                    design,
                    arm: id,
                    role,
                    name,
                    judging: judged.get(name).copied(),
                };
                Some((name.to_owned(), figure.difference()?))
            })
            .collect();
        let state = (role == Role::Case).then(|| together(measures.values()));
        ArmChange { id: id.to_owned(), role, state, measures }
    };
    ids.map(arm).collect()
}

/// The joint verdict of the judged figures of an arm: worse in one figure is worse.
fn together<'a>(measures: impl Iterator<Item = &'a Difference>) -> ChangeState {
    strongest(measures.filter_map(|difference| difference.state))
}

/// The state that decides among several.
pub(super) fn strongest(states: impl Iterator<Item = ChangeState>) -> ChangeState {
    let states: Vec<ChangeState> = states.collect();
    let order = [ChangeState::Worse, ChangeState::Better, ChangeState::Differs];
    let found = order.into_iter().find(|state| states.contains(state));
    found.unwrap_or(ChangeState::NoDifferenceShown)
}

/// One figure of one arm.
struct Figure<'a> {
    sides: &'a Sides<'a>,
    design: &'a Design<'a>,
    arm: &'a str,
    role: Role,
    name: &'a str,
    judging: Option<&'a Judging>,
}

impl Figure<'_> {
    fn difference(&self) -> Option<Difference> {
        let (first, _) = *self.sides.before.first()?;
        let over = self.over(first);
        let mut trials = self.sides.all().flat_map(|(record, _)| of_arm(record, self.arm));
        let unit = trials.find_map(|trial| measured(trial, self.name))?.unit;
        let (before, after) = self.both_sides(unit, self.most());
        let judging = self.judging.filter(|_| self.role == Role::Case);
        let plain = self.sides.confidence();
        let confidence = judging.map_or(plain, |_| self.design.confidence_of_each);
        let compare = match self.design.basis {
            Basis::Blocks => compare,
            Basis::Pairs => compare_pairs,
        };
        let comparison = compare(&before, &after, unit, confidence)?;
        let margin = judging.map(|judging| judging.margin + allowance(self.sides, unit));
        let state = margin.map(|margin| {
            let ranked = self.with_hangs_above(margin).and_then(|above| {
                let (before, after) = self.both_sides(unit, above);
                compare(&before, &after, unit, confidence)
            });
            state(ranked.as_ref().unwrap_or(&comparison), margin, self.design.basis)
        });
        let (before, after) = (median(&before, unit, plain)?, median(&after, unit, plain)?);
        Some(Difference { over: over.map(str::to_owned), before, after, comparison, state, margin })
    }

    /// The control that is subtracted: only for judged figures, and only if the arm has a
    /// control.
    fn over<'r>(&self, record: &'r Judged) -> Option<&'r str> {
        let held = matches!(self.role, Role::Case | Role::Fix) && self.judging.is_some();
        control_of(record, self.arm).filter(|_| held)
    }

    /// The highest figure of any trial. A trial that hung ranks above all others, so it counts as
    /// this figure, however little it had read when it was stopped.
    fn most(&self) -> f64 {
        let all = self.sides.all().flat_map(|(record, _)| &record.trials);
        all.filter_map(|trial| measured(trial, self.name)).map(|m| m.value).fold(f64::MIN, f64::max)
    }

    /// A figure for trials that hung that is above all others by clearly more than the margin,
    /// whatever is subtracted. With the highest figure, a side that always hangs would look like
    /// one that never stalls. None if no trial hung.
    fn with_hangs_above(&self, margin: f64) -> Option<f64> {
        let all = || self.sides.all().flat_map(|(record, _)| &record.trials);
        if !all().any(|trial| trial.observation.hang) {
            return None;
        }
        let least = all().filter_map(|trial| measured(trial, self.name)).map(|m| m.value);
        let (least, most) = (least.fold(f64::MAX, f64::min), self.most());
        Some(most + 2.0 * (most - least) + 4.0 * margin)
    }

    /// The figures of both sides: one for each block, or one for each run. Runs with the same
    /// index are a pair.
    fn both_sides(&self, unit: Unit, most: f64) -> (Vec<Bounded>, Vec<Bounded>) {
        match self.design.basis {
            Basis::Blocks => {
                let side = |records| self.side(records, unit, most);
                (side(self.sides.before), side(self.sides.after))
            }
            Basis::Pairs => {
                let run = |(record, _): &Named| {
                    let mut blocks = self.blocks(record, unit, most);
                    blocks.truncate(MOST_BLOCKS);
                    Bounded::of_run(&blocks)
                };
                let pairs = self.design.pairs.all.iter();
                pairs.filter_map(|(before, after)| run(before).zip(run(after))).unzip()
            }
        }
    }

    /// The blocks of a side.
    fn side(&self, records: &[Named], unit: Unit, most: f64) -> Vec<Bounded> {
        let each = (MOST_BLOCKS / records.len().max(1)).max(1);
        let blocks = records.iter().flat_map(|(record, _)| {
            let mut blocks = self.blocks(record, unit, most);
            blocks.truncate(each);
            blocks
        });
        blocks.take(MOST_BLOCKS).collect()
    }

    /// One figure for each block: relative to the control of the same block, or as read.
    fn blocks(&self, record: &Judged, unit: Unit, most: f64) -> Vec<Bounded> {
        let arm = self.readings(record, self.arm, unit, most);
        let Some(control) = self.over(record) else {
            return arm.into_values().flatten().map(Bounded::from).collect();
        };
        let control = self.readings(record, control, unit, most);
        let less =
            |(block, arm): (u32, Option<Reading>)| Bounded::less(arm?, (*control.get(&block)?)?);
        arm.into_iter().filter_map(less).collect()
    }

    /// The reading of each block in which the arm ran once.
    fn readings(
        &self,
        record: &Judged,
        arm: &str,
        unit: Unit,
        most: f64,
    ) -> BTreeMap<u32, Option<Reading>> {
        let mut found: BTreeMap<u32, Option<Reading>> = BTreeMap::new();
        for trial in of_arm(record, arm) {
            let reading = self.reading(trial, unit, most);
            // A block in which an arm ran twice is left out.
            found.entry(trial.block).and_modify(|first| *first = None).or_insert(reading);
        }
        found
    }

    /// The reading of a trial. A trial that hung has one even if its figure was lost.
    fn reading(&self, trial: &Trial, unit: Unit, most: f64) -> Option<Reading> {
        let measure = measured(trial, self.name).filter(|measure| measure.unit == unit);
        if trial.observation.hang && self.judging.is_some() {
            let at_least = measure.is_none_or(|measure| measure.at_least);
            return Some(Reading { value: most, at_least });
        }
        measure
            .map(|Measure { value, at_least, .. }| Reading { value: *value, at_least: *at_least })
    }
}

fn state(comparison: &Comparison, margin: f64, basis: Basis) -> ChangeState {
    let above = comparison.low.is_some_and(|low| low > margin);
    let below = comparison.high.is_some_and(|high| high < -margin);
    match (basis, above, below) {
        (_, false, false) => ChangeState::NoDifferenceShown,
        (Basis::Blocks, ..) => ChangeState::Differs,
        (Basis::Pairs, true, _) => ChangeState::Worse,
        (Basis::Pairs, ..) => ChangeState::Better,
    }
}

fn of_arm<'a>(record: &'a Judged, arm: &str) -> impl Iterator<Item = &'a Trial> {
    record.trials.iter().filter(move |trial| trial.arm == arm)
}
