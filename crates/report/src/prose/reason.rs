//! The reasons of a verdict.

use super::caveat;
use super::doubt::doubt;
use super::fact::fact;
use super::headline::headline;
use super::problem::{lacking, problem};
use model::estimate::number;
use model::prose::figures::{self, percent, plural};
use model::prose::sentence::{ended, sentence};
use model::reason::{BlocksSeen, EValue, PairSeen};
use model::{Arm, Judged, Meta, Reason, Role};
use os::terminal::line as plain;

/// A reason in sentences.
pub fn reason(reason: &Reason, record: &Judged, meta: Option<&Meta>) -> String {
    let heading = |measure: &str| figures::heading(measure, meta);
    match reason {
        Reason::Evidence(seen) => evidence(seen, record),
        Reason::OverControl { arm, measure, shift } => format!(
            "{}: {} {} over {} ({} interval).",
            plain(arm),
            heading(measure),
            figures::shift(shift),
            control_of(arm, record),
            percent(shift.confidence)
        ),
        Reason::Hung { arm, hung: (hung, of), control, control_hung: (control_hung, all) } => {
            let (arm, control) = (plain(arm), plain(control));
            let trials = plural((*of).into(), "trial");
            format!("{arm} hung in {hung} of {trials}, {control} in {control_hung} of {all}.")
        }
        Reason::NoControl => "The plan has no control to compare with.".to_owned(),
        Reason::NoCase => "No arm with the cause was run.".to_owned(),
        Reason::NoWholeBlock { measure } => format!(
            "No block is complete: a verdict needs blocks in which the control and the arms with \
             the cause all have a figure for \"{}\".",
            heading(measure)
        ),
        Reason::NorIn { measure, missed } => {
            let missed = missed.as_ref().map(|missed| format!(" {}", caveat::missed(missed)));
            format!(
                "By the same test no stall shows in \"{}\" either.{}",
                heading(measure),
                missed.unwrap_or_default()
            )
        }
        Reason::NotSettledIn { measure, why } => {
            let why = why.as_ref().map(|why| format!(" {}", self::reason(why, record, meta)));
            format!(
                "The verdict for \"{}\" is not settled.{}",
                heading(measure),
                why.unwrap_or_default()
            )
        }
        Reason::TooNoisy { control, shows_above, most } => format!(
            "{} is too noisy: a stall of up to {} can hide behind it, and not-affected allows at \
             most {}. Stop other programs on this machine, and run again.",
            plain(control),
            figures::amount(shows_above),
            figures::amount(most)
        ),
        Reason::LargerMargin { arm, own, used } => format!(
            "{} alone would be judged by a margin of {}. The arms of this study share one of {}, so a \
             smaller stall of this arm is not ruled out.",
            plain(arm),
            figures::amount(own),
            figures::amount(used)
        ),
        Reason::ControlStalls { control, measure, level, most } => format!(
            "{} itself has {} in \"{}\". Above {} too little room is left for a stall of the case \
             to show. Choose settings with which the control stalls less.",
            plain(control),
            figures::amount(level),
            heading(measure),
            figures::amount(most)
        ),
        Reason::Doubt(of_machine) => doubt(of_machine),
        Reason::CarryOver(seen) => format!(
            "{}. This effect alone could explain the outcome; `tailback run` with --wash-out keeps \
             it out of the figures.",
            caveat::carry_over(seen)
        ),
        Reason::Broke { error } => format!("A trial broke: {}", ended(&problem(error, meta))),
        Reason::Missing { what } => sentence(&lacking(what, meta)),
        Reason::Unusable { why } => {
            format!("A setting cannot be used here: {}", ended(&problem(why, meta)))
        }
        Reason::WouldHaveBeen { blocks, state, headline: said } => format!(
            "The {} before that say {state}: {}",
            plural((*blocks).into(), "complete block"),
            headline(said, meta)
        ),
        Reason::OutOfTime { blocks } => format!(
            "The time budget ran out after {}, before the verdict was settled.",
            plural((*blocks).into(), "block")
        ),
        Reason::Interrupted => {
            "The study was interrupted before its verdict was settled.".to_owned()
        }
        Reason::NotEnded => "The study had not ended when this record was written.".to_owned(),
        Reason::Scenario(own) => fact(own, meta),
    }
}

/// The evidence of all blocks: what was seen, and whether it is enough.
fn evidence(seen: &BlocksSeen, record: &Judged) -> String {
    let pairs: Vec<String> =
        seen.pairs.iter().map(|pair| counted(pair, seen.blocks, record)).collect();
    let tests = [(seen.affected, "affected"), (seen.not_affected, "not-affected")];
    let tests = tests.into_iter().filter_map(|(value, state)| Some(test(value?, state)));
    pairs.into_iter().chain(tests).collect::<Vec<String>>().join(" ")
}

/// The number of blocks in which an arm was worse than its control, and the number in which it
/// was better.
fn counted(pair: &PairSeen, blocks: u32, record: &Judged) -> String {
    let arm = plain(&pair.arm);
    let control = match &pair.control {
        Some(control) => plain(control),
        None => control_of(&pair.arm, record),
    };
    let blocks = plural(blocks.into(), "block");
    match (pair.worse, pair.better) {
        (0, 0) => format!("{arm} was neither worse nor better than {control} in any of {blocks}."),
        (worse, 0) => {
            format!("{arm} was worse than {control} in {worse} of {blocks}, and never better.")
        }
        (worse, better) => {
            format!(
                "{arm} was worse than {control} in {worse} of {blocks}, and better in {better}."
            )
        }
    }
}

/// An e-value and the value that is needed: `The e-value for affected is 39.2; 20 is enough
/// (error rate 5%).`
fn test(value: EValue, state: &str) -> String {
    let (is, needed, rate) = (number(value.value), number(value.needed), percent(value.error_rate));
    match value.value >= value.needed {
        true => format!("The e-value for {state} is {is}; {needed} is enough (error rate {rate})."),
        false => {
            format!("The e-value for {state} is {is}; {needed} is needed (error rate {rate}).")
        }
    }
}

/// The name of the control that an arm is compared with.
fn control_of(arm: &str, record: &Judged) -> String {
    let arms = &record.plan.arms;
    let named = arms.iter().find(|one| one.id == arm).and_then(|arm| arm.against.as_deref());
    let mut controls = arms.iter().filter(|arm: &&Arm| arm.role == Role::Control);
    match (named, controls.next(), controls.next()) {
        (Some(name), _, _) => plain(name),
        (None, Some(only), None) => plain(&only.id),
        _ => "its control".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::{Amount, Comparison, Problem, Unit};

    fn said(one: &Reason) -> String {
        reason(one, &testing::record(), None)
    }

    #[test]
    fn what_was_counted_stands_before_the_test() {
        let pair =
            |worse, better| PairSeen { arm: "case".to_owned(), control: None, worse, better };
        let of = |pair, affected| {
            let affected = Some(EValue { value: affected, needed: 20.0, error_rate: 0.05 });
            let seen = BlocksSeen { blocks: 10, pairs: vec![pair], affected, not_affected: None };
            said(&Reason::Evidence(seen))
        };
        assert_eq!(
            of(pair(9, 0), 39.2),
            "case was worse than control in 9 of 10 blocks, and never better. The e-value for \
             affected is 39.2; 20 is enough (error rate 5%)."
        );
        assert!(of(pair(5, 2), 1.5).contains("in 5 of 10 blocks, and better in 2. The e-value"));
        assert!(of(pair(0, 0), 1.5).contains("neither worse nor better"));
        assert!(of(pair(5, 2), 1.5).ends_with("is 1.5; 20 is needed (error rate 5%)."));
    }

    #[test]
    fn a_shift_is_said_over_the_control_by_its_name() {
        let shift = Comparison {
            unit: Unit::MillisecondsPerSecond,
            shift: 987.0,
            shift_at_least: false,
            low: Some(984.0),
            high: Some(990.0),
            confidence: 0.957,
            superiority: 1.0,
            superiority_low: None,
            superiority_high: None,
            p_value: None,
        };
        let over =
            Reason::OverControl { arm: "case".to_owned(), measure: "lost".to_owned(), shift };
        assert_eq!(said(&over), "case: lost +987 ms/s [984, 990] over control (95.7% interval).");
    }

    #[test]
    fn words_of_others_are_cleaned() {
        let error = Problem::Said("no room\u{1b}[2J\n left".to_owned());
        let broke = Reason::Broke { error: Box::new(error) };
        assert_eq!(said(&broke), "A trial broke: no room [2J  left.");
        let why = Some(Box::new(Reason::NoCase));
        let open = Reason::NotSettledIn { measure: "late".to_owned(), why };
        assert_eq!(
            said(&open),
            "The verdict for \"late\" is not settled. No arm with the cause was run."
        );
        let amount = |value| Amount::exact(value, Unit::Milliseconds);
        let noisy = Reason::TooNoisy {
            control: "control".to_owned(),
            shows_above: amount(80.0),
            most: amount(51.0),
        };
        assert!(said(&noisy).starts_with("control is too noisy: a stall of up to 80 ms"));
    }
}
