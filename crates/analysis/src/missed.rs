//! What a study that shows no stall could have missed, in the user's terms: how long a freeze,
//! and how often.

use crate::bet::highest_rate;
use crate::blocks::{Study, blocks_to_not_affected, judged_unit, study_error_rate};
use crate::quantile::count;
use crate::reading::{ascending, middle};
use model::record::Plan;
use model::{Amount, Arm, ArmResult, Caveat, Missed, Reason, Trial, Unit};
use std::time::Duration;

/// A stall counts as one that shows if it stands out from the noise of this share of the blocks.
const SHARE_OF_BLOCKS: f64 = 0.9;

/// What could have been missed in any arm with the cause; `None` if one of them shows nothing.
///
/// A stall shows in a block in which the case exceeds its control by more than the margin. Noise
/// of the control hides part of it. So a stall shows if it exceeds the margin plus the noise of
/// nine of ten blocks. Noisier blocks show nothing and are left out. The remaining blocks give
/// the highest share of trials that may still have had a stall, at any stopping time; one hit in
/// ten may not have shown. A freeze that comes at random once in `every_s` seconds hits a trial
/// of that length with that probability (Poisson).
pub fn missed(plan: &Plan, trials: &[Trial], arms: &[ArmResult], study: &Study) -> Option<Missed> {
    let of_cases: Option<Vec<Missed>> =
        study.cases.iter().map(|case| of_case(plan, trials, arms, study, case)).collect();
    of_cases?.into_iter().reduce(|a, b| Missed {
        shown_above: a.shown_above.max(b.shown_above),
        freeze_ms: a.freeze_ms.zip(b.freeze_ms).map(|(a, b)| a.max(b)),
        share: a.share.max(b.share),
        every_s: a.every_s.min(b.every_s),
        ..a
    })
}

fn of_case(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    study: &Study,
    case: &Arm,
) -> Option<Missed> {
    let shown_above = shows_above(plan, study, case)?;
    let margin = plan.judging.margin;
    let pairs = study.pairs_at_most(&study.control_of(case).id, &case.id);
    let telling = pairs.filter(|(control, case)| shown_above - (control - case) >= margin);
    let (mut hit, mut spared) = (0.0, 0.0);
    for (control, case) in telling {
        if case - control > margin {
            hit += 1.0;
        } else {
            spared += 1.0;
        }
    }
    let error_rate = study_error_rate(plan);
    let shown = highest_rate(hit, spared, 1.0 / error_rate.max(1e-12));
    let share = (shown / SHARE_OF_BLOCKS).min(1.0);
    let of_arm = trials.iter().filter(|trial| trial.arm == case.id);
    let window_ms = middle(&ascending(of_arm.clone().map(|trial| trial.observation.window_ms)))?;
    let warm_up_ms = of_arm.filter_map(|trial| trial.observation.warm_up_ms).reduce(f64::min);
    let unit = judged_unit(&plan.judging, arms);
    let is_rate = unit == Unit::MillisecondsPerSecond;
    Some(Missed {
        shown_above,
        unit,
        freeze_ms: is_rate.then_some(shown_above * window_ms / 1e3),
        share,
        trial_ms: Some(window_ms),
        warm_up_ms,
        every_s: every_s(window_ms, share),
        confidence: 1.0 - error_rate,
    })
}

/// How long a trial has to be so that a study without a stall rules out a freeze that comes at
/// random once in `every`. Such a freeze hits a trial with the share that the study leaves open.
pub fn trial_that_shows(plan: &Plan, every: Duration) -> Duration {
    let blocks = f64::from(blocks_to_not_affected(plan).max(plan.min_blocks));
    let wealth = 1.0 / study_error_rate(plan).max(1e-12);
    let share = highest_rate(0.0, blocks * SHARE_OF_BLOCKS, wealth) / SHARE_OF_BLOCKS;
    let trials = -(1.0 - share.min(0.99)).ln();
    Duration::try_from_secs_f64(every.as_secs_f64() * trials).unwrap_or(Duration::MAX)
}

/// The mean time between freezes that hit this share of trials of this length, in seconds.
fn every_s(window_ms: f64, share: f64) -> f64 {
    let spared = (1.0 - share).max(1e-12);
    let every = -(window_ms / 1e3) / spared.ln();
    if every.is_finite() { every.max(0.0) } else { 0.0 }
}

/// The amount that a stall has to add to a trial to show in nine of ten blocks. If the control of a
/// block hung, no stall shows in that block, even if the case hung too. The same holds if the case
/// alone gave no figure: what a stall removes does not show.
fn shows_above(plan: &Plan, study: &Study, case: &Arm) -> Option<f64> {
    let pairs = study.pairs(&study.control_of(case).id, &case.id);
    let hidden = |control: f64, case: f64| {
        if control.is_infinite() { f64::INFINITY } else { control - case }
    };
    let lacking = std::iter::repeat_n(f64::INFINITY, study.lacking(case).of_stall());
    let noise = ascending(pairs.map(|(control, case)| hidden(control, case)).chain(lacking));
    let place = nine_of_ten(noise.len()).checked_sub(1)?;
    let shows = plan.judging.margin + noise.get(place)?.max(0.0);
    shows.is_finite().then_some(shows)
}

/// The number of blocks in which a stall has to show, of this number of blocks.
fn nine_of_ten(blocks: usize) -> usize {
    (blocks as f64 * SHARE_OF_BLOCKS).ceil() as usize
}

/// The case that gave no figure in so many blocks that the others do not rule out a stall. Of
/// several cases, the one for which these blocks are the most.
pub(crate) fn figure_lacking(plan: &Plan, study: &Study) -> Option<Caveat> {
    let too_many = |case: &&&Arm| {
        let whole = study.pairs(&study.control_of(case).id, &case.id).count();
        whole < nine_of_ten(whole + study.lacking(case).of_stall())
    };
    let most = |case: &&&Arm| study.lacking(case).of_stall();
    let case = study.cases.iter().filter(too_many).max_by_key(most)?;
    let lacking = study.lacking(case);
    Some(Caveat::FigureLacking {
        arm: case.id.clone(),
        measure: plan.judging.measure.to_string(),
        blocks: count(lacking.arm),
        control: study.control_of(case).id.clone(),
        control_blocks: count(lacking.control),
    })
}

/// The first case whose stall would not show because its control hung, in that block or in others
/// beside blocks in which the case gave no figure.
pub(crate) fn control_hung(plan: &Plan, study: &Study) -> Option<Caveat> {
    study.cases.iter().filter(|case| shows_above(plan, study, case).is_none()).find_map(|case| {
        let control = &study.control_of(case).id;
        let hung = study.pairs(control, &case.id).filter(|(control, _)| control.is_infinite());
        let blocks = count(hung.count());
        (blocks > 0).then(|| Caveat::ControlHung {
            arm: case.id.clone(),
            control: control.clone(),
            blocks,
            lacking: count(study.lacking(case).of_stall()),
        })
    })
}

/// The least number of blocks of which this many may hide a stall.
pub fn blocks_beside(hidden: u32) -> u32 {
    (f64::from(hidden) / (1.0 - SHARE_OF_BLOCKS) - 1e-9).ceil() as u32
}

/// Whether a stall of an arm would show: it stands out from the noise of nine blocks of ten
/// without being larger than the margin and the limit of the control.
pub(crate) fn would_show(plan: &Plan, study: &Study, arm: &Arm) -> bool {
    let most = plan.judging.margin + plan.judging.control_limit;
    shows_above(plan, study, arm).is_some_and(|shows| shows <= most)
}

/// The case in which a stall has to add the most to show, and that amount.
pub(crate) fn widest<'a>(plan: &Plan, study: &Study<'a>) -> Option<(&'a Arm, f64)> {
    let all = study.cases.iter().filter_map(|case| Some((*case, shows_above(plan, study, case)?)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Why no stall can be ruled out here: only a very large stall would show.
pub(crate) fn too_coarse(plan: &Plan, arms: &[ArmResult], study: &Study) -> Option<Reason> {
    let judging = &plan.judging;
    let unit = judged_unit(judging, arms);
    let (case, shows) = widest(plan, study)?;
    let most = judging.margin + judging.control_limit;
    (shows > most).then(|| Reason::TooNoisy {
        control: study.control_of(case).id.clone(),
        shows_above: Amount::exact(shows, unit),
        most: Amount::exact(most, unit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Role, testing};

    #[test]
    fn a_trial_is_as_long_as_it_takes_to_deny_what_is_rare() {
        let plan = testing::plan(&[("idle", Role::Control), ("busy", Role::Case)]);
        let five = trial_that_shows(&plan, Duration::from_secs(5));
        assert_eq!(trial_that_shows(&plan, Duration::from_secs(10)).as_secs(), 2 * five.as_secs());
        // A study in which no trial was hit then rules out exactly this.
        let blocks = f64::from(blocks_to_not_affected(&plan).max(plan.min_blocks));
        let shown = highest_rate(0.0, blocks * SHARE_OF_BLOCKS, 1.0 / study_error_rate(&plan));
        let every = every_s(five.as_secs_f64() * 1e3, shown / SHARE_OF_BLOCKS);
        assert!((every - 5.0).abs() < 0.01, "{every}");
    }

    #[test]
    fn rarer_strikes_are_further_apart() {
        assert!((every_s(250.0, 1.0 - (-1.0f64).exp()) - 0.25).abs() < 1e-9);
        assert!(every_s(250.0, 0.1) > every_s(250.0, 0.3));
        assert_eq!(every_s(f64::NAN, 0.1), 0.0);
        assert!(every_s(250.0, 1.0) < 0.01);
    }
}
