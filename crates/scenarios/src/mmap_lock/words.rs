//! The verdict of `mmap-lock` in words.

use super::meta::{META, measure};
use crate::Words;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

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
    Words { headline, next: next(outcome.state, &file), kind: None }
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

fn next(state: State, file: &str) -> Vec<String> {
    match state {
        State::Affected => META
            .mends
            .iter()
            .filter(|mend| !mend.ends_with(&format!("--procfile {file}")))
            .map(|mend| (*mend).to_owned())
            .collect(),
        State::NotAffected if file != "smaps" => {
            vec![
                "to hold this against the file that locks most, run it with --procfile smaps"
                    .to_owned(),
            ]
        }
        _ => Vec::new(),
    }
}
