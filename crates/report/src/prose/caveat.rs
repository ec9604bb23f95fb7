//! What a study cannot tell, and what would settle its verdict.

use super::doubt::doubt;
use super::fact::fact;
use model::prose::figures::{amount, figure, heading, listed, percent, plural};
use model::reason::CarryOver;
use model::{Amount, Caveat, Meta, Missed, Unit};
use os::terminal::line as plain;

/// A caveat in sentences.
pub fn caveat(caveat: &Caveat, meta: Option<&Meta>) -> String {
    match caveat {
        Caveat::Margin(margin) => {
            format!("A difference of up to {} counts as no difference.", amount(margin))
        }
        Caveat::ArmsOpen { arms } => {
            let verb = if arms.len() == 1 { "stalls" } else { "stall" };
            format!("It is not settled whether {} {verb}.", listed(arms))
        }
        Caveat::NoInterval { confidence, blocks } => format!(
            "The stall is settled, but its size is not: a {} interval needs {} or more.",
            percent(*confidence),
            plural((*blocks).into(), "block")
        ),
        Caveat::LeftOut { trials } => {
            let verb = if *trials == 1 { "was" } else { "were" };
            let trials = plural((*trials).into(), "trial");
            format!("{trials} of incomplete blocks {verb} left out of the test.")
        }
        Caveat::Emulated => "The guest was emulated, so its times depend on what the host does. \
                             Differences between arms count; their sizes do not apply to a real \
                             machine."
            .to_owned(),
        Caveat::SharedMachine => {
            "Other runs of tailback were allowed on this machine at the same time \
             (TAILBACK_SHARE_HOST): they may have changed these figures."
                .to_owned()
        }
        Caveat::CarryOver(seen) => format!(
            "{}. So the arms may differ by more or less than shown; `tailback run` with --wash-out \
             keeps this effect out of the figures.",
            carry_over(seen)
        ),
        Caveat::WashedOut(seen) => {
            format!("{}; --wash-out kept this effect out of the figures.", carry_over(seen))
        }
        Caveat::HangCutOff { after, parameter } => hang_cut_off(after, parameter.as_deref()),
        Caveat::Doubt(of_some_arms) => doubt(of_some_arms),
        Caveat::QuietMachineUnknown => {
            "It is not known what the arms would do on a quiet machine.".to_owned()
        }
        Caveat::MoreBlocks { more, goes_on: true, .. } => format!(
            "About {} like these would settle the verdict: run the same command again, and the \
             study continues where it ended.",
            more_blocks(*more)
        ),
        Caveat::MoreBlocks { more, blocks, goes_on: false } => {
            let more = more_blocks(*more);
            format!("About {more} like these would settle the verdict: --samples {blocks}.")
        }
        Caveat::NeverSettles { blocks } => format!(
            "Not even {blocks} blocks like these would settle the verdict: the arms differ from \
             their control too often for not-affected, and not steadily enough for affected. Stop \
             other programs, or run longer trials."
        ),
        Caveat::NeedsQuietBlocks => {
            "The test alone would say not-affected, but the first reason rules \
                                     that verdict out. Run more blocks on a quieter machine."
                .to_owned()
        }
        Caveat::HangRulesOut => {
            "The test alone would say not-affected, but a trial with the cause \
                                 hung, and the study keeps it. If something else held that trial \
                                 up, start a new study: --fresh, or --seed N with check."
                .to_owned()
        }
        Caveat::FigureLacking { arm, measure, blocks, control, control_blocks } => format!(
            "The test alone would say not-affected, but {} gave no figure for \"{}\" in {} in which \
             {} gave one; the reverse happened in {}. A stall may be the reason, so the other \
             blocks do not rule it out. Longer trials may give the figure.",
            plain(arm),
            heading(measure, meta),
            plural((*blocks).into(), "block"),
            plain(control),
            plural((*control_blocks).into(), "block")
        ),
        Caveat::ControlHung { arm, control, blocks, lacking } => {
            let lacks = || {
                let blocks = plural((*lacking).into(), "block");
                let (arm, control) = (plain(arm), plain(control));
                format!(", and {arm} gave no figure in {blocks} more than {control} did")
            };
            format!(
                "The test alone would say not-affected, but too many blocks would not show a \
                 stall: {} hung in {}{}. Stop other programs, and run more blocks.",
                plain(control),
                plural((*blocks).into(), "complete block"),
                if *lacking > 0 { lacks() } else { String::new() }
            )
        }
        Caveat::NeedsBlocks { least, most } => format!(
            "A verdict needs complete blocks, usually {least} or more; --samples {most} runs \
             {most} blocks."
        ),
        Caveat::NeedsCase => {
            "A study of the control alone shows nothing: add an arm with the cause.".to_owned()
        }
        Caveat::NeedsControl => {
            "A study without a control shows nothing: add an arm without the cause.".to_owned()
        }
        Caveat::Scenario(own) => fact(own, meta),
    }
}

/// Whether a caveat names a way to settle the verdict.
pub fn would_settle(caveat: &Caveat) -> bool {
    !matches!(
        caveat,
        Caveat::Margin(_)
            | Caveat::ArmsOpen { .. }
            | Caveat::NoInterval { .. }
            | Caveat::LeftOut { .. }
            | Caveat::Emulated
            | Caveat::SharedMachine
            | Caveat::CarryOver(_)
            | Caveat::WashedOut(_)
            | Caveat::HangCutOff { .. }
            | Caveat::Doubt(_)
            | Caveat::QuietMachineUnknown
    )
}

/// The observation that a trial affects the next one, without a full stop.
pub(super) fn carry_over(seen: &CarryOver) -> String {
    format!(
        "{} shows {} right after an arm with the cause, and {} otherwise: a trial affects the next \
         one",
        plain(&seen.control),
        amount(&seen.after_case),
        amount(&seen.otherwise)
    )
}

fn hang_cut_off(after: &Amount, parameter: Option<&str>) -> String {
    let longer = parameter.map_or_else(String::new, |parameter| {
        format!("; a longer --{} shows how long its calls last", plain(parameter))
    });
    format!("A trial that hangs is cut off after {}{longer}.", amount(after))
}

fn more_blocks(more: u32) -> String {
    plural(more.into(), "more block")
}

/// The smallest stall that a study without a stall could have missed.
pub fn missed(missed: &Missed) -> String {
    let confidence = percent(missed.confidence);
    let every = format!("{} s", model::estimate::number(missed.every_s));
    match missed.freeze_ms {
        Some(ms) => format!(
            "A freeze of {} or more that comes once in {every} or more often would have shown, \
             with {confidence} confidence; a shorter or rarer one could have been missed.",
            figure(ms, Unit::Milliseconds)
        ),
        None => format!(
            "What adds more than {} to a trial and comes once in {every} or more often would have \
             shown, with {confidence} confidence; what adds less, or is rarer, could have been \
             missed.",
            figure(missed.shown_above, missed.unit)
        ),
    }
}

/// The stall that a study without a stall would have detected, as a phrase.
pub fn would_have_shown(missed: &Missed) -> String {
    let what = match missed.freeze_ms {
        Some(ms) => format!("a freeze of {}", figure(ms, Unit::Milliseconds)),
        None => format!("what adds {} to a trial", figure(missed.shown_above, missed.unit)),
    };
    let trials = missed.trial_ms.map(|ms| {
        let length = figure(ms, Unit::Milliseconds);
        let warm_up = missed.warm_up_ms.map(|ms| figure(ms, Unit::Milliseconds));
        let after = warm_up.map_or_else(String::new, |ms| format!(" after {ms} of warm-up"));
        format!("; trials of {length}{after}, so a stall that begins later was not tried")
    });
    format!(
        "{what} once in {} s, at random, would have shown with {} confidence{}",
        model::estimate::number(missed.every_s),
        percent(missed.confidence),
        trials.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_that_goes_on_needs_no_flag() {
        let of = |goes_on| caveat(&Caveat::MoreBlocks { more: 1, blocks: 13, goes_on }, None);
        assert!(of(true).starts_with("About 1 more block like these") && !of(true).contains("--"));
        assert!(of(false).ends_with("--samples 13."));
    }

    #[test]
    fn counts_agree_with_their_verbs() {
        let open = |arms: &[&str]| {
            let arms = arms.iter().map(|arm| (*arm).to_owned()).collect();
            caveat(&Caveat::ArmsOpen { arms }, None)
        };
        assert_eq!(open(&["busy-1"]), "It is not settled whether busy-1 stalls.");
        assert_eq!(open(&["a", "b"]), "It is not settled whether a and b stall.");
        let left = |trials| caveat(&Caveat::LeftOut { trials }, None);
        assert_eq!(left(1), "1 trial of incomplete blocks was left out of the test.");
        assert_eq!(left(3), "3 trials of incomplete blocks were left out of the test.");
    }

    #[test]
    fn what_could_be_missed_has_length_and_pace() {
        let freeze = Missed {
            shown_above: 4.0,
            unit: Unit::MillisecondsPerSecond,
            freeze_ms: Some(1.0),
            share: 0.3,
            trial_ms: Some(250.0),
            warm_up_ms: None,
            every_s: 0.7,
            confidence: 0.95,
        };
        let said = missed(&freeze);
        assert!(said.starts_with("A freeze of 1 ms or more that comes once in 0.7 s"), "{said}");
        let said = missed(&Missed { freeze_ms: None, unit: Unit::Percent, ..freeze });
        assert!(said.starts_with("What adds more than 4% to a trial"), "{said}");
        assert_eq!(
            would_have_shown(&freeze),
            "a freeze of 1 ms once in 0.7 s, at random, would have shown with 95% confidence; \
             trials of 250 ms, so a stall that begins later was not tried"
        );
        let said = would_have_shown(&Missed { warm_up_ms: Some(50.0), ..freeze });
        assert!(said.contains("; trials of 250 ms after 50 ms of warm-up, so"), "{said}");
    }

    #[test]
    fn a_margin_is_said_with_its_unit() {
        let margin = Amount::exact(1.0, Unit::MillisecondsPerSecond);
        let said = caveat(&Caveat::Margin(margin), None);
        assert_eq!(said, "A difference of up to 1 ms/s counts as no difference.");
    }
}
