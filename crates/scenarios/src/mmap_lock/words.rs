//! The verdict of `mmap-lock` in words.

use super::meta::{META, measure};
use crate::Words;
use analysis::Outcome;
use model::scenario::Mend;
use model::{ArmResult, Plan, Role, Settings, State, Value};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let file = plan
        .arms
        .first()
        .and_then(|arm| arm.settings.text("procfile"))
        .unwrap_or("its files")
        .to_owned();
    let headline = match outcome.state {
        State::Affected => affected(&file, arms),
        State::NotAffected => not_affected(&file, arms),
        State::Untrustworthy => {
            "This machine was disturbed while it was measured, so its figures prove nothing."
                .to_owned()
        }
        State::Inconclusive | State::Skipped => format!(
            "Too few trials to say whether readers of /proc/PID/{file} stall memory mapping here."
        ),
    };
    Words { headline, next: next(outcome.state, plan), kind: None }
}

fn affected(file: &str, arms: &[ArmResult]) -> String {
    let control = arms.iter().find(|arm| arm.role == Role::Control);
    let Some(worst) = worst_case(arms) else {
        return format!("Readers of /proc/PID/{file} stall memory mapping here.");
    };
    let stall = |arm: &ArmResult| arm.measures.get(measure::STALL).map(ToString::to_string);
    let call = worst.measures.get(measure::WORST).map(ToString::to_string);
    format!(
        "Readers of /proc/PID/{file} stall memory mapping here: with {} a process lost {} to calls \
         over 1 ms, alone {}; the worst call of a trial took {}.",
        load_of(worst),
        stall(worst).unwrap_or_default(),
        control.and_then(stall).unwrap_or_default(),
        call.unwrap_or_default(),
    )
}

fn not_affected(file: &str, arms: &[ArmResult]) -> String {
    let seen = worst_case(arms).and_then(|arm| {
        let stall = arm.measures.get(measure::STALL)?;
        Some(format!("; with {} a process lost {}", load_of(arm), stall))
    });
    format!(
        "Readers of /proc/PID/{file} did not stall memory mapping here{}.",
        seen.unwrap_or_default()
    )
}

/// The arm that lost the most time: among those that are affected, if any is.
fn worst_case(arms: &[ArmResult]) -> Option<&ArmResult> {
    let stall = |arm: &ArmResult| arm.measures.get(measure::STALL).map_or(0.0, |s| s.median);
    let cases = || arms.iter().filter(|arm| arm.role == Role::Case);
    let affected = cases().filter(|arm| arm.state == Some(State::Affected));
    affected
        .max_by(|a, b| stall(a).total_cmp(&stall(b)))
        .or_else(|| cases().max_by(|a, b| stall(a).total_cmp(&stall(b))))
}

fn load_of(arm: &ArmResult) -> String {
    let count = arm.id.strip_prefix("busy-").unwrap_or(&arm.id);
    match count {
        "0" => "no readers".to_owned(),
        "1" => "1 reader and 1 spinner on another CPU".to_owned(),
        count => format!("{count} readers and {count} spinners on another CPU"),
    }
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    let Some(asked) = asked(plan) else { return Vec::new() };
    match state {
        State::Affected => META.mends.iter().filter_map(|mend| to_measure(mend, &asked)).collect(),
        State::NotAffected if asked.text("procfile") != Some("smaps") => {
            let mut smaps = asked;
            smaps.set("procfile", Value::Text("smaps".to_owned()));
            vec![format!("the file that locks most: {}", META.command(&smaps))]
        }
        _ => Vec::new(),
    }
}

/// What was asked for: the settings of an arm, with `busy` as the list that made the arms.
fn asked(plan: &Plan) -> Option<Settings> {
    let busy = plan.arms.iter().filter_map(|arm| arm.settings.number("busy")).collect();
    let mut settings = plan.arms.first()?.settings.clone();
    settings.set("busy", Value::Numbers(busy));
    Some(settings)
}

/// The mend with the command that measures it; none where it is in force already.
fn to_measure(mend: &Mend, asked: &Settings) -> Option<String> {
    let mut mended = asked.clone();
    for (name, value) in mend.knobs {
        mended.set(name, META.knob(name)?.parse(value).ok()?);
    }
    (mended != *asked).then(|| format!("{}: {}", mend.what, META.command(&mended)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Arm;

    fn next_of(knobs: &[(&str, &str)]) -> Vec<String> {
        let mut settings = Settings::defaults(META.knobs, false);
        for (name, value) in knobs {
            settings.set(name, META.knob(name).unwrap().parse(value).unwrap());
        }
        let arm = |id: &str, role, busy| {
            let mut settings = settings.clone();
            settings.set("busy", Value::Number(busy));
            Arm { id: id.to_owned(), role, settings, against: None, change: None }
        };
        let arms = vec![arm("control", Role::Control, 0), arm("busy-10", Role::Case, 10)];
        let plan = Plan {
            arms,
            seed: 0,
            min_blocks: 1,
            max_blocks: 1,
            stop_when_settled: true,
            error_rate: None,
            settle_fixes: false,
            judging: META.judging,
            also: Vec::new(),
            left_out: Vec::new(),
        };
        next(State::Affected, &plan)
    }

    #[test]
    fn mends_keep_what_was_asked_for_and_leave_out_what_is_in_force() {
        let next = next_of(&[("size", "256MiB")]);
        assert_eq!(next.len(), 3);
        assert!(
            next[0].ends_with(": tailback run mmap-lock --busy 0,10 --size 256MiB --nice 0"),
            "{next:?}"
        );
        let next = next_of(&[("nice", "0"), ("procfile", "maps")]);
        assert_eq!(next.len(), 1);
        assert!(next[0].ends_with("tailback run mmap-lock --procfile maps --busy 1 --nice 0"));
    }
}
