//! A ladder of versions in English.

use super::change::setting;
use super::record::would_have_shown;
use super::{Prose, plain};
use model::change::ChangeReason;
use model::ladder::{KnownChange, Ladder, Repeated, Rung, Step};
use model::prose::figures::{self, heading};
use model::{ChangeState, Judged, Meta, Missed, State, Unit};

/// What a boundary proves, and what it does not prove.
pub const NOTE: &str = "One run of a version is one guest, or one node, and two runs of one version \
                        differ too. So a boundary is named where fresh runs of both versions, side \
                        by side in pairs, all differ as the first runs did, by more than the \
                        margin.";

/// The figure that the effects are computed from: `stalled of busy-1 over its control`.
pub fn followed(ladder: &Ladder, meta: Option<&Meta>) -> Option<String> {
    let (arm, measure) = (ladder.arm.as_ref()?, ladder.measure.as_ref()?);
    Some(format!("Effect: {} of {} over its control.", heading(measure, meta), plain(arm)))
}

/// The effect of a version with its interval.
pub fn effect(rung: &Rung) -> Option<String> {
    rung.effect.as_ref().map(figures::shift)
}

/// A sentence for each step whose runs differ, and for each pair that could not be compared.
/// After them, that no boundary is named, or how often a boundary is named wrongly; then the size
/// of a step that would have been named.
pub fn boundaries(ladder: &Ladder) -> Vec<String> {
    let all = || ladder.steps.iter().chain(&ladder.whole);
    let mut said: Vec<String> = ladder.steps.iter().filter_map(|s| step(s, ladder)).collect();
    if let (Some(whole), false) = (&ladder.whole, ladder.steps.iter().any(Step::is_boundary)) {
        said.extend(step(whole, ladder));
    }
    let compared = all().any(|step| step.state != ChangeState::NotComparable);
    match all().any(Step::is_boundary) {
        true => said.push(error_rate(ladder)),
        false if compared => said.push(no_boundary(ladder)),
        false => {}
    }
    said.extend(would_be_named(ladder).or_else(|| would_show(ladder)));
    said.extend(spread(ladder));
    said.extend(ladder.steps.iter().filter_map(own));
    said.extend(preemption(ladder));
    said
}

/// The preemption modes of the kernels, if they differ.
fn preemption(ladder: &Ladder) -> Option<String> {
    let modes =
        ladder.rungs.iter().filter_map(|rung| Some((&rung.name, rung.preemption.as_ref()?)));
    let modes: Vec<(&String, &String)> = modes.collect();
    let (_, first) = modes.first()?;
    if modes.iter().all(|(_, mode)| mode == first) {
        return None;
    }
    let each: Vec<String> =
        modes.iter().map(|(name, mode)| format!("{} {}", plain(name), plain(mode))).collect();
    Some(format!("Preemption: {}.", each.join(", ")))
}

/// The parameters that the runs set by themselves, if their values differ.
fn own(step: &Step) -> Option<String> {
    let each = step.own.iter().map(|one| {
        let [name, before, after] = setting(one);
        format!("{name} was {before}, then {after}")
    });
    let each: Vec<String> = each.collect();
    let (from, to) = (plain(&step.from), plain(&step.to));
    (!each.is_empty())
        .then(|| format!("{from} | {to}: {}: each run chose its own value.", each.join("; ")))
}

fn unit(ladder: &Ladder) -> Option<Unit> {
    ladder.rungs.iter().find_map(|rung| rung.effect.as_ref()).map(|effect| effect.unit)
}

fn margin(ladder: &Ladder) -> String {
    let figure =
        ladder.margin.zip(unit(ladder)).map(|(margin, unit)| figures::figure(margin, unit));
    figure
        .map(|figure| format!("the margin of {figure}"))
        .unwrap_or_else(|| "the margin".to_owned())
}

fn no_boundary(ladder: &Ladder) -> String {
    let whole = ladder.whole.iter().filter(|whole| !whole.differs());
    let ends = if whole.count() > 0 { ", nor the first and the last version," } else { "" };
    match ladder.steps.iter().chain(&ladder.whole).any(Step::differs) {
        true => "No boundary is named.".to_owned(),
        false => format!(
            "No boundary: no two neighbouring versions{ends} were shown to differ in their effect \
             by more than {}.",
            margin(ladder)
        ),
    }
}

/// The probability that a boundary is named wrongly.
fn error_rate(ladder: &Ladder) -> String {
    let rate = figures::percent(1.0 - ladder.confidence);
    format!("If all versions were equal, at most {rate} of such ladders would name a boundary.")
}

fn would_be_named(ladder: &Ladder) -> Option<String> {
    let step = figures::figure(ladder.would_be_named?, unit(ladder)?);
    Some(format!(
        "A step of {step} between two neighbouring versions would have been named with a \
         probability of about 95%."
    ))
}

fn would_show(ladder: &Ladder) -> Option<String> {
    let step = figures::figure(ladder.would_show?, unit(ladder)?);
    Some(format!(
        "Between any two of these runs, a difference of {step} would have shown with a probability \
         of about 95%."
    ))
}

/// How much runs of one version differ. If no version was run twice, that this is not known.
fn spread(ladder: &Ladder) -> Option<String> {
    if ladder.steps.is_empty() {
        return None;
    }
    let Some((spread, unit)) = ladder.spread.zip(unit(ladder)) else {
        return Some("How much two runs of one version differ was not measured.".to_owned());
    };
    let of = |value| figures::figure(value, unit);
    Some(format!(
        "Runs of one version differed by {} at most, with a standard deviation of {} ({} runs of {}).",
        of(spread.most),
        of(spread.deviation),
        spread.runs,
        figures::plural(spread.versions as u64, "version")
    ))
}

/// A sentence about a step whose runs differ, or whose runs were not compared.
fn step(step: &Step, ladder: &Ladder) -> Option<String> {
    let (from, to) = (plain(&step.from), plain(&step.to));
    let Some(shift) = step.shift.as_ref().filter(|_| step.differs()) else {
        let is_open = step.state == ChangeState::NotComparable && step.shift.is_none();
        return is_open.then(|| format!("{from} | {to}: not compared{}.", why(&step.reasons)));
    };
    let verdicts = step.verdicts.map(|(before, after)| format!(", {}", words(before, after)));
    let (shift, unit) =
        (format!("{}{}", figures::shift(shift), verdicts.unwrap_or_default()), shift.unit);
    let fresh = |value| figures::signed(value, unit);
    Some(match &step.repeated {
        None => format!(
            "{from} | {to}: these runs differ by {shift}. No fresh runs were made to confirm it, \
             so this is no boundary."
        ),
        Some(Repeated { pairs, needed, .. }) if step.is_boundary() => {
            let ends = ends(pairs).map(|(low, high)| format!("{} to {}", fresh(low), fresh(high)));
            let pairs =
                format!("{} in {} of {needed} pairs", ends.unwrap_or_default(), pairs.len());
            // Between the first and the last version there is more than one cause.
            if ladder.whole.as_ref() == Some(step) {
                return Some(format!(
                    "{from} to {to}, in steps of which none was named a boundary: {shift}; fresh \
                     runs: {pairs}."
                ));
            }
            let known = known(step).unwrap_or_else(|| "the cause is not known".to_owned());
            format!("Boundary {from} | {to}: {shift}; fresh runs: {pairs}; {known}.")
        }
        Some(Repeated { pairs, alike, needed, .. }) => match pairs.get(*alike) {
            Some(last) => format!(
                "{from} | {to}: the first runs differ by {shift}. A boundary needs such a \
                 difference in all {needed} pairs of fresh runs. Pair {} had {}, which does not \
                 exceed {} in the direction of the first runs.",
                alike + 1,
                fresh(*last),
                margin(ladder)
            ),
            None => format!(
                "{from} | {to}: these runs differ by {shift}. A boundary needs such a difference \
                 in {needed} pairs of fresh runs, and {} had it. The other pairs were not run, or \
                 gave no figure.",
                figures::plural(*alike as u64, "pair")
            ),
        },
    })
}

/// The stall that each run without a stall would have detected, one line per judged figure.
pub fn shown_by_all<'r>(
    runs: impl Iterator<Item = &'r Judged>,
    meta: Option<&'r Meta>,
) -> Option<String> {
    let mut all: Vec<(Option<&str>, Missed)> = Vec::new();
    for (measure, missed) in runs.flat_map(|run| Prose::new(run, meta).missed_by_figure()) {
        match all.iter_mut().find(|(of, _)| *of == measure) {
            Some((_, least)) => *least = of_both(least, &missed),
            None => all.push((measure, missed)),
        }
    }
    let said = would_have_shown(&all, meta).join(" ");
    (!said.is_empty()).then(|| format!("In each run without a stall: {said}"))
}

/// The stall that both runs would have detected.
fn of_both(one: &Missed, other: &Missed) -> Missed {
    let shortest = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(a, b)| a.min(b));
    Missed {
        shown_above: one.shown_above.max(other.shown_above),
        freeze_ms: one.freeze_ms.zip(other.freeze_ms).map(|(a, b)| a.max(b)),
        share: one.share.max(other.share),
        trial_ms: shortest(one.trial_ms, other.trial_ms),
        warm_up_ms: shortest(one.warm_up_ms, other.warm_up_ms),
        every_s: one.every_s.min(other.every_s),
        ..*one
    }
}

fn ends(pairs: &[f64]) -> Option<(f64, f64)> {
    let low = pairs.iter().copied().reduce(f64::min)?;
    Some((low, pairs.iter().copied().reduce(f64::max)?))
}

/// `affected, then not-affected`.
fn words(before: State, after: State) -> String {
    format!("{}, then {}", before.word(), after.word())
}

fn why(reasons: &[ChangeReason]) -> String {
    let record = |record: &String, what: &str| format!(": {} {what}", plain(record));
    match reasons.first() {
        Some(ChangeReason::Untrustworthy { record: name }) => record(name, "is untrustworthy"),
        Some(ChangeReason::NoTrials { record: name }) => record(name, "has no trials"),
        Some(ChangeReason::Confounded { by }) => {
            format!(": they differ in {} too", figures::listed(by))
        }
        Some(ChangeReason::NoCommonCase) => ": they have no arm in common".to_owned(),
        _ => String::new(),
    }
}

/// The known changes between two versions, with their commits.
pub fn known(step: &Step) -> Option<String> {
    let all: Vec<String> = step.known.iter().map(known_change).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn known_change(known: &KnownChange) -> String {
    let commit = match (&known.commit, known.measured) {
        (Some(commit), _) => plain(commit),
        (None, true) => "commit not known, measured".to_owned(),
        (None, false) => "commit not known".to_owned(),
    };
    format!("{}: {} ({commit})", plain(&known.since), plain(&known.what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Comparison, Test, testing};

    fn step(state: ChangeState, known: Vec<KnownChange>) -> Step {
        Step {
            shift: Some(Comparison {
                low: Some(-300.0),
                high: Some(-100.0),
                confidence: 0.99,
                ..testing::shift(-204.0)
            }),
            known,
            ..testing::step("debian:6.16", "debian:6.17", state)
        }
    }

    fn ladder(steps: Vec<Step>) -> Ladder {
        Ladder {
            scenario: "mmap-lock".into(),
            arm: Some("busy-1".into()),
            measure: Some("stall".into()),
            margin: Some(20.0),
            ..testing::ladder(steps)
        }
    }

    #[test]
    fn a_boundary_says_between_which_two_by_how_much_and_why() {
        let known = KnownChange {
            since: "6.17".into(),
            commit: Some("5631da56c9a8".into()),
            what: "maps takes the locks of single mappings".into(),
            source: "s".into(),
            measured: false,
            effect: None,
        };
        let repeated = |pairs: &[f64], alike| {
            Some(Repeated { pairs: pairs.to_vec(), alike, needed: 5, among: 1 })
        };
        let all = repeated(&[-190.0, -220.0, -200.0, -201.0, -199.0], 5);
        let named =
            Step { repeated: all.clone(), ..step(ChangeState::Differs, vec![known.clone()]) };
        let said = boundaries(&ladder(vec![named]));
        assert_eq!(
            said[0],
            "Boundary debian:6.16 | debian:6.17: -204 ms/s [-300, -100]; fresh runs: -220 ms/s to -190 \
             ms/s in 5 of 5 pairs; 6.17: maps takes the locks of single mappings (5631da56c9a8)."
        );
        let unknown = Step { repeated: all, ..step(ChangeState::Differs, Vec::new()) };
        let unknown = boundaries(&ladder(vec![unknown]));
        assert!(unknown[0].ends_with("the cause is not known."), "{unknown:?}");
        let once = boundaries(&ladder(vec![step(ChangeState::Differs, vec![known.clone()])]));
        assert!(once[0].ends_with("to confirm it, so this is no boundary."), "{once:?}");
        assert_eq!(once[1], "No boundary is named.");
        let other = repeated(&[-190.0, 3.0], 1);
        let other = Step { repeated: other, ..step(ChangeState::Differs, vec![known]) };
        let other = boundaries(&ladder(vec![other]));
        assert!(other[0].contains("pairs of fresh runs. Pair 2 had +3 ms/s, which"), "{other:?}");
        assert!(!other[0].contains("5631da56c9a8"), "no cause of what is no boundary: {other:?}");
    }

    #[test]
    fn a_verdict_that_changes_is_no_boundary() {
        let mut one = step(ChangeState::NoDifferenceShown, Vec::new());
        assert!(boundaries(&ladder(vec![one.clone()]))[0].starts_with("No boundary:"));
        one.verdicts = Some((State::Affected, State::NotAffected));
        assert!(boundaries(&ladder(vec![one]))[0].starts_with("No boundary:"));
    }

    #[test]
    fn a_slope_is_told_where_no_step_is_large_enough() {
        let flat = step(ChangeState::NoDifferenceShown, Vec::new());
        let slope = Step {
            repeated: Some(testing::repeated(-204.0, 5)),
            ..step(ChangeState::Differs, Vec::new())
        };
        let with =
            |whole| Ladder { whole: Some(whole), ..ladder(vec![flat.clone(), flat.clone()]) };
        let said = boundaries(&with(slope));
        assert!(said[0].starts_with("debian:6.16 to debian:6.17, in steps"), "{said:?}");
        let said = boundaries(&with(flat.clone()));
        assert!(said[0].contains("versions, nor the first and the last version, were"), "{said:?}");
    }

    #[test]
    fn how_much_runs_differ_is_told_or_that_it_is_not_known() {
        use model::ladder::Spread;
        let flat = step(ChangeState::NoDifferenceShown, Vec::new());
        let rung = Rung {
            name: "a".to_owned(),
            release: String::new(),
            preemption: None,
            verdict: None,
            effect: Some(testing::shift(5.0)),
        };
        let mut one = Ladder { rungs: vec![rung], ..ladder(vec![flat]) };
        one.would_show = Some(64.0);
        let said = boundaries(&one);
        assert!(said[1].contains("a difference of 64 ms/s would have shown"), "{said:?}");
        assert!(said[2].contains("was not measured"), "{said:?}");
        one.spread = Some(Spread { deviation: 4.0, most: 9.0, versions: 1, runs: 12 });
        let said = boundaries(&one);
        assert_eq!(
            said[2],
            "Runs of one version differed by 9 ms/s at most, with a standard deviation of 4 ms/s (12 \
             runs of 1 version)."
        );
    }

    #[test]
    fn what_all_runs_would_have_shown_is_the_least_of_each() {
        let run = |freeze_ms: f64, every_s: f64| {
            let mut run = crate::testing::record();
            run.judgement.state = State::NotAffected;
            let missed = Missed {
                shown_above: 4.0,
                unit: Unit::MillisecondsPerSecond,
                freeze_ms: Some(freeze_ms),
                share: 0.3,
                trial_ms: Some(250.0),
                warm_up_ms: None,
                every_s,
                confidence: 0.95,
            };
            run.judgement.test = Some(Test { missed: Some(missed), ..Test::default() });
            run
        };
        let mut runs = [run(3.0, 0.9), run(1.0, 0.6), run(9.0, 0.1)];
        runs[2].judgement.state = State::Affected;
        let said = shown_by_all(runs.iter(), None).unwrap();
        assert!(
            said.starts_with("In each run without a stall: A freeze of 3 ms once in 0.6 s"),
            "{said}"
        );
        assert_eq!(shown_by_all(std::iter::empty(), None), None);
    }

    #[test]
    fn preemption_modes_are_told_where_they_differ() {
        let rung = |name: &str, mode: Option<&str>| Rung {
            name: name.to_owned(),
            release: String::new(),
            preemption: mode.map(str::to_owned),
            verdict: None,
            effect: None,
        };
        let of = |rungs| boundaries(&Ladder { rungs, ..ladder(Vec::new()) });
        let (old, new) = (rung("debian:6.12", Some("voluntary")), rung("debian:7.0", Some("lazy")));
        assert!(of(vec![old.clone(), old.clone(), rung("x", None)]).is_empty());
        assert_eq!(of(vec![old, new]), ["Preemption: debian:6.12 voluntary, debian:7.0 lazy."]);
    }

    #[test]
    fn what_could_not_be_compared_says_why() {
        let mut one = step(ChangeState::NotComparable, Vec::new());
        one.shift = None;
        one.reasons = vec![ChangeReason::Untrustworthy { record: "debian:6.16".into() }];
        let said = boundaries(&ladder(vec![one]));
        assert!(said[0].ends_with("not compared: debian:6.16 is untrustworthy."), "{said:?}");
    }
}
