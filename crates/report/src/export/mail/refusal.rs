//! Reasons not to write a regression report.

use super::release::Release;
use crate::prose::plain;
use model::ladder::{Direction, Ladder, Rung, Step};
use model::prose::figures;
use model::{Judged, State, Unit};
use std::cmp::Ordering;

/// A smaller relative change is unlikely to count as a regression: the limit is five per cent in
/// a small benchmark (Documentation/admin-guide/reporting-regressions.rst).
const SMALL: f64 = 0.05;

/// The steps that may be reported: the boundaries at which the effect rises, the largest first.
///
/// # Errors
/// If there is no such step.
pub fn rising(ladder: &Ladder) -> Result<Vec<&Step>, String> {
    let boundaries = || ladder.steps.iter().filter(|step| step.is_boundary());
    let rises = |step: &&Step| step.direction() == Some(Direction::Rises);
    let mut rising: Vec<&Step> = boundaries().filter(rises).collect();
    let size = |step: &Step| step.shift.as_ref().map_or(0.0, |shift| shift.shift);
    rising.sort_by(|one, other| size(other).total_cmp(&size(one)));
    if !rising.is_empty() {
        return Ok(rising);
    }
    Err(match boundaries().next() {
        Some(step) => {
            let [from, to] = names(step);
            format!("{to} stalls less than {from}, which is no regression")
        }
        None if ladder.whole.as_ref().is_some_and(Step::is_boundary) => {
            "the first and the last version differ, but it is not known between which two versions \
             the change is"
                .to_owned()
        }
        None => "no boundary is named, so no regression is shown".to_owned(),
    })
}

/// Rejects a step that the kernel developers would not count as a regression, or might not.
///
/// # Errors
/// If the step is rejected, with the reason.
pub fn of_step(ladder: &Ladder, step: &Step, good: &Judged, bad: &Judged) -> Result<(), String> {
    let [from, to] = names(step);
    let state = bad.judgement.state;
    if state != State::Affected {
        return Err(format!("the verdict of {to} is {state}"));
    }
    let before = good.judgement.state;
    if !matches!(before, State::Affected | State::NotAffected) {
        return Err(format!("the verdict of {from} is {before}"));
    }
    if bad.judgement.measure.is_some() && bad.judgement.measure != ladder.measure {
        return Err(format!("{to} is affected in another figure, not in the one that differs"));
    }
    if let Some(better) = later_is_good(ladder, step) {
        return Err(format!(
            "{better} stalls no more than {from}: check whether it fixes the stall of {to}"
        ));
    }
    let known = level(ladder, good).zip(step.shift.as_ref());
    let (before, shift) = known.ok_or_else(|| format!("the figure of {from} is not known"))?;
    let least = SMALL * before.max(all(shift.unit));
    match shift.low.unwrap_or(0.0) < least {
        true => Err(format!(
            "in {to} the figure is {} above the {} of {from}; the difference may be less than {}, \
             which is {} of the old figure or of the whole: so small a difference is unlikely to \
             count as a regression",
            figures::shift(shift),
            figures::figure(before, shift.unit),
            figures::figure(least, shift.unit),
            figures::percent(SMALL)
        )),
        false => Ok(()),
    }
}

/// The whole time or the whole quota, if the figure is a part of it.
fn all(unit: Unit) -> f64 {
    match unit {
        Unit::MillisecondsPerSecond => 1000.0,
        Unit::Percent => 100.0,
        _ => 0.0,
    }
}

/// A newer version whose effect exceeds the effect before the step by no more than the margin.
fn later_is_good(ladder: &Ladder, step: &Step) -> Option<String> {
    let margin = ladder.margin.unwrap_or(0.0);
    let shift = |rung: &Rung| rung.effect.as_ref().map(|effect| effect.shift);
    let before = ladder.rungs.iter().find(|rung| rung.name == step.from).and_then(shift)?;
    let to = ladder.rungs.iter().find(|rung| rung.name == step.to)?;
    let than = Release::read(&to.release);
    let newer = |rung: &&Rung| Release::read(&rung.release) > than;
    let good = ladder
        .rungs
        .iter()
        .filter(newer)
        .filter(|rung| shift(rung).is_some_and(|effect| effect <= before + margin));
    good.map(|rung| plain(&rung.name)).next()
}

/// The median loss of the arm in a version.
fn level(ladder: &Ladder, run: &Judged) -> Option<f64> {
    let arm = run.judgement.arms.iter().find(|arm| Some(&arm.id) == ladder.arm.as_ref())?;
    Some(arm.measures.get(ladder.measure.as_ref()?)?.median)
}

/// The releases on both sides of a step, the older one first.
///
/// # Errors
/// If they are in another order, or if the order is not known.
pub fn releases(ladder: &Ladder, step: &Step) -> Result<[Release; 2], String> {
    let read = |name: &str| {
        let rung = ladder.rungs.iter().find(|rung| rung.name == name);
        let release = rung.map_or("", |rung| rung.release.as_str());
        Release::read(release).ok_or_else(|| {
            let (name, release) = (plain(name), plain(release));
            format!("{name} has release {release}, which names neither a version nor a commit")
        })
    };
    let [older, newer] = [read(&step.from)?, read(&step.to)?];
    let [from, to] = names(step);
    match older.partial_cmp(&newer) {
        Some(Ordering::Less | Ordering::Equal) => Ok([older, newer]),
        Some(Ordering::Greater) => {
            Err(format!("{to} is older than {from}; name the older version first"))
        }
        None => Err(format!("it is not known whether {from} or {to} is older")),
    }
}

fn names(step: &Step) -> [String; 2] {
    [plain(&step.from), plain(&step.to)]
}
