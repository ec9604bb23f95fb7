//! Selects what to draw if there is too much for a chart.

use model::{ArmResult, Judged, Trial};

/// Evenly spaced indices below `all`, at most `most` of them, with the first and the last.
pub fn evenly(all: usize, most: usize) -> Vec<usize> {
    match (all, most) {
        (_, 0) | (0, _) => Vec::new(),
        (all, most) if all <= most => (0..all).collect(),
        (_, 1) => vec![0],
        (all, most) => (0..most).map(|i| i * (all - 1) / (most - 1)).collect(),
    }
}

/// The trials of an arm.
pub fn of_arm<'a>(record: &'a Judged, arm: &str) -> Vec<&'a Trial> {
    record.trials.iter().filter(|trial| trial.arm == arm).collect()
}

/// The name of the judged figure.
fn judged_by(record: &Judged) -> &str {
    record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure)
}

/// The judged figure of a trial.
pub fn judged(record: &Judged, trial: &Trial) -> f64 {
    trial.observation.measures.get(judged_by(record)).map_or(0.0, |measure| measure.value)
}

/// The trial of an arm with the median of the judged figure, among the trials for which `has` is
/// true.
pub fn typical<'a>(
    record: &'a Judged,
    arm: &str,
    has: impl Fn(&Trial) -> bool,
) -> Option<&'a Trial> {
    let mut trials = of_arm(record, arm);
    trials.retain(|trial| has(trial));
    trials.sort_by(|a, b| judged(record, a).total_cmp(&judged(record, b)));
    trials.get(trials.len() / 2).copied()
}

/// Up to three arms that show what happened: the control, the worst arm with the cause, and the
/// best fix. Only arms with a trial for which `has` is true are selected.
pub fn telling<'a>(record: &'a Judged, has: impl Fn(&Trial) -> bool) -> Vec<&'a str> {
    use model::Role::{Control, Fix};
    let measured: Vec<&'a model::Arm> = record
        .plan
        .arms
        .iter()
        .filter(|arm| record.trials.iter().any(|trial| trial.arm == arm.id && has(trial)))
        .collect();
    let median = |arm: &model::Arm| {
        typical(record, &arm.id, |_| true).map_or(0.0, |trial| judged(record, trial))
    };
    let of = |role| measured.iter().copied().filter(move |arm| arm.role == role);
    let is_measured = |arm: &&ArmResult| measured.iter().any(|other| other.id == arm.id);
    let worst =
        model::worst_case(record.judgement.arms.iter().filter(is_measured), judged_by(record));
    let best = of(Fix).min_by(|a, b| median(a).total_cmp(&median(b)));
    let id = |arm: &'a model::Arm| arm.id.as_str();
    let worst = worst.map(|arm| arm.id.as_str());
    [of(Control).next().map(id), worst, best.map(id)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_are_always_picked() {
        assert_eq!(evenly(5, 9), [0, 1, 2, 3, 4]);
        assert_eq!(evenly(100, 3), [0, 49, 99]);
        assert_eq!(evenly(0, 3), Vec::<usize>::new());
        assert_eq!(evenly(3, 1), [0]);
    }
}
