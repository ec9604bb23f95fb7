//! A ladder of versions in words.

use super::change::setting;
use super::plain;
use model::change::ChangeReason;
use model::ladder::{KnownChange, Ladder, Rung, Step};
use model::prose::figures::{self, heading};
use model::{ChangeState, Meta, State};

/// What a boundary proves and what it does not.
pub const NOTE: &str = "One run of a version is one guest, or one node: a boundary is a difference \
                        between two of them that is larger than the margin. It does not include \
                        how much two runs of one version differ; run both again to see whether it \
                        stays.";

/// What the effects are of: `stalled of busy-1 over its control`.
pub fn followed(ladder: &Ladder, meta: Option<&Meta>) -> Option<String> {
    let (arm, measure) = (ladder.arm.as_ref()?, ladder.measure.as_ref()?);
    Some(format!("Effect: {} of {} over its control.", heading(measure, meta), plain(arm)))
}

/// The effect of a version with its interval.
pub fn effect(rung: &Rung) -> Option<String> {
    rung.effect.as_ref().map(figures::shift)
}

/// A sentence for each boundary, and for each pair that could not be compared; one where there is
/// none of either.
pub fn boundaries(ladder: &Ladder) -> Vec<String> {
    let mut said: Vec<String> = ladder.steps.iter().filter_map(boundary).collect();
    if said.is_empty() && !ladder.steps.is_empty() {
        said.push(format!(
            "No boundary: the effects of no two neighbours were shown to differ by more than the \
             margin{}.",
            margin(ladder)
        ));
    }
    said.extend(ladder.steps.iter().filter_map(own));
    said.extend(preemption(ladder));
    said
}

/// The preemption modes of the kernels, where they are not all the same.
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

/// Which parameters the runs set by themselves, where they differ.
fn own(step: &Step) -> Option<String> {
    let each = step.own.iter().map(|one| {
        let [name, before, after] = setting(one);
        format!("{name} was {before}, then {after}")
    });
    let each: Vec<String> = each.collect();
    let (from, to) = (plain(&step.from), plain(&step.to));
    (!each.is_empty())
        .then(|| format!("{from} | {to}: {}: each run set it itself.", each.join("; ")))
}

fn margin(ladder: &Ladder) -> String {
    let unit = ladder.rungs.iter().find_map(|rung| rung.effect.as_ref()).map(|e| e.unit);
    let figure = ladder.margin.zip(unit).map(|(margin, unit)| figures::figure(margin, unit));
    figure.map(|figure| format!(" of {figure}")).unwrap_or_default()
}

fn boundary(step: &Step) -> Option<String> {
    let (from, to) = (plain(&step.from), plain(&step.to));
    let verdicts = step.verdicts.map(|(before, after)| words(before, after));
    let known = known(step).unwrap_or_else(|| "the cause is not known".to_owned());
    let shift = step.shift.as_ref().map(figures::shift);
    match (shift, verdicts) {
        (Some(shift), verdicts) if step.is_boundary() => Some(format!(
            "Boundary {from} | {to}: {shift}{}; {known}.",
            verdicts.map(|verdicts| format!(", {verdicts}")).unwrap_or_default()
        )),
        (shift, Some(verdicts)) => Some(format!(
            "Boundary {from} | {to}: {verdicts}; the sizes were not shown to differ{}; {known}.",
            shift.map(|shift| format!(" ({shift})")).unwrap_or_default()
        )),
        (None, None) if step.state == ChangeState::NotComparable => {
            Some(format!("{from} | {to}: not compared{}.", why(&step.reasons)))
        }
        _ => None,
    }
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

/// What is known to have changed between two versions, with its commit.
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
    use model::{Comparison, testing};

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
        let said = boundaries(&ladder(vec![step(ChangeState::Differs, vec![known])]));
        assert_eq!(
            said,
            ["Boundary debian:6.16 | debian:6.17: -204 ms/s [-300, -100]; 6.17: maps takes the \
              locks of single mappings (5631da56c9a8)."]
        );
        let unknown = boundaries(&ladder(vec![step(ChangeState::Differs, Vec::new())]));
        assert!(unknown[0].ends_with("the cause is not known."), "{unknown:?}");
    }

    #[test]
    fn a_verdict_that_changes_is_a_boundary_too() {
        let mut one = step(ChangeState::NoDifferenceShown, Vec::new());
        assert_eq!(boundaries(&ladder(vec![one.clone()])).len(), 1);
        assert!(boundaries(&ladder(vec![one.clone()]))[0].starts_with("No boundary"));
        one.verdicts = Some((State::Affected, State::NotAffected));
        let said = boundaries(&ladder(vec![one]));
        assert!(said[0].contains("affected, then not-affected; the sizes were not"), "{said:?}");
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
