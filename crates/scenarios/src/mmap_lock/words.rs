//! The verdict of `mmap-lock` in words.

use super::meta::{META, measure};
use super::params::{MmapLockParams, Target};
use crate::Words;
use crate::params::{Counts, Params, literal};
use analysis::Outcome;
use model::scenario::Mend;
use model::{Arm, ArmResult, Plan, Role, Settings, State, worst_case};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let params = plan.arms.first().and_then(|arm| MmapLockParams::of(&arm.settings));
    let file = params.as_ref().map_or("its files", |params| params.procfile.as_str());
    let shown = Shown { plan, arms };
    let headline = match outcome.state {
        State::Affected => shown.affected(file),
        State::NotAffected => shown.not_affected(file),
        State::Untrustworthy => crate::UNTRUSTWORTHY.to_owned(),
        State::Inconclusive | State::Skipped => format!(
            "Too few trials to say whether readers of /proc/PID/{file} stall memory mapping here."
        ),
    };
    Words { headline, next: next(outcome.state, plan), kind: None }
}

/// What stands in the headline.
struct Shown<'a> {
    plan: &'a Plan,
    arms: &'a [ArmResult],
}

impl Shown<'_> {
    fn affected(&self, file: &str) -> String {
        let worst = worst_case(self.arms, measure::STALL);
        let (Some(losses), Some(worst)) = (self.losses(), worst) else {
            return format!("Readers of /proc/PID/{file} stall memory mapping here.");
        };
        let call = worst.measures.get(measure::WORST).map(ToString::to_string);
        format!(
            "Readers of /proc/PID/{file} stall memory mapping here: {losses}; the worst call of a \
             trial took {}.",
            call.unwrap_or_default(),
        )
    }

    fn not_affected(&self, file: &str) -> String {
        let losses = self.losses().map(|losses| format!("; {losses}")).unwrap_or_default();
        format!("Readers of /proc/PID/{file} did not stall memory mapping here{losses}.")
    }

    /// `with 10 readers .. a process lost X to calls over 1 ms, with as many .. Y, alone Z`.
    fn losses(&self) -> Option<String> {
        let worst = worst_case(self.arms, measure::STALL)?;
        let lost = stall(worst)?;
        let case = self.plan.arms.iter().find(|arm| arm.id == worst.id)?;
        let mut words = format!("with {} a process lost {lost} to calls over 1 ms", load_of(case));
        let control = case.against.as_ref().and_then(|id| self.result(id));
        if let Some(lost) = control.and_then(stall) {
            words.push_str(&format!("; with as many readers of an idle twin process {lost}"));
        }
        let alone = self.arms.iter().find(|arm| arm.role == Role::Baseline);
        if let Some(lost) = alone.and_then(stall) {
            words.push_str(&format!("; alone {lost}"));
        }
        Some(words)
    }

    fn result(&self, id: &str) -> Option<&ArmResult> {
        self.arms.iter().find(|arm| arm.id == id)
    }
}

fn stall(arm: &ArmResult) -> Option<String> {
    arm.measures.get(measure::STALL).map(ToString::to_string)
}

fn load_of(case: &Arm) -> String {
    let params = MmapLockParams::of(&case.settings);
    let of_twin = params.as_ref().is_some_and(|params| params.target == Target::Twin);
    let whose = if of_twin { " of an idle twin process" } else { "" };
    match params.and_then(|params| params.busy.single()) {
        None | Some(0) => "no readers".to_owned(),
        Some(1) => format!("1 reader{whose} and 1 spinner on another CPU"),
        Some(count) => format!("{count} readers{whose} and {count} spinners on another CPU"),
    }
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    let Some(asked) = asked(plan) else { return Vec::new() };
    match state {
        State::Affected => {
            let asked = asked.settings();
            META.mends.iter().filter_map(|mend| to_measure(mend, &asked)).collect()
        }
        State::NotAffected if asked.procfile.as_str() != "smaps" => {
            let smaps = MmapLockParams { procfile: literal("smaps"), ..asked };
            vec![format!("the file that locks most: {}", META.command(&smaps.settings()))]
        }
        _ => Vec::new(),
    }
}

/// What was asked for: the settings of a case, with `busy` as the list that made the arms.
fn asked(plan: &Plan) -> Option<MmapLockParams> {
    let of_role = |role| plan.arms.iter().filter(move |arm: &&Arm| arm.role == role);
    let made = of_role(Role::Baseline).chain(of_role(Role::Case));
    let busy = made.filter_map(|arm| MmapLockParams::of(&arm.settings)?.busy.single()).collect();
    let case = MmapLockParams::of(&of_role(Role::Case).next()?.settings)?;
    Some(MmapLockParams { busy: Counts::new(busy), ..case })
}

/// The mend with the command that measures it; none where it is in force already.
fn to_measure(mend: &Mend, asked: &Settings) -> Option<String> {
    let mended = (mend.change)(asked)?;
    (mended != *asked).then(|| format!("{}: {}", mend.what, META.command(&mended)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Estimate, Proportion, Test, Unit};
    use std::collections::BTreeMap;

    fn plan_of(params: &MmapLockParams) -> Plan {
        let arm = |id: &str, role, (busy, target), against: Option<&str>| {
            let params = MmapLockParams { busy: Counts::one(busy), target, ..params.clone() };
            let (settings, against) = (params.settings(), against.map(str::to_owned));
            Arm { id: id.to_owned(), role, settings, against, change: None }
        };
        let arms = vec![
            arm("twin-10", Role::Control, (10, Target::Twin), None),
            arm("any-name", Role::Case, (10, params.target), Some("twin-10")),
            arm("alone", Role::Baseline, (0, params.target), None),
        ];
        Plan {
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
        }
    }

    fn result(id: &str, role: Role, median: f64) -> ArmResult {
        let estimate = Estimate {
            unit: Unit::MillisecondsPerSecond,
            trials: 6,
            median,
            median_at_least: false,
            low: Some(median),
            high: Some(median),
            high_unbounded: false,
            confidence: 0.97,
            min: median,
            max: median,
            max_at_least: false,
        };
        let worst = Estimate { unit: Unit::Milliseconds, ..estimate.clone() };
        ArmResult {
            id: id.to_owned(),
            role,
            state: None,
            trials: 6,
            hangs: Proportion { count: 0, of: 6, low: 0.0, high: 0.4, confidence: 0.95 },
            worse: None,
            measures: BTreeMap::from([("stall".to_owned(), estimate), ("worst".to_owned(), worst)]),
            against_control: BTreeMap::new(),
            evidence: None,
        }
    }

    fn headline(state: State, plan: &Plan, arms: &[ArmResult]) -> String {
        let test = Test {
            method: String::new(),
            blocks: 6,
            evidence_affected: 1.0,
            evidence_not_affected: 1.0,
            threshold: 20.0,
            error_rate: 0.05,
            ..Test::default()
        };
        let outcome = Outcome {
            state,
            test,
            measure: measure::STALL.to_owned(),
            also: Vec::new(),
            open: Vec::new(),
            because: Vec::new(),
            limits: Vec::new(),
        };
        words(plan, &outcome, arms).headline
    }

    #[test]
    fn the_case_is_said_beside_its_twin_and_the_process_alone() {
        let arms = [
            result("twin-10", Role::Control, 2.0),
            result("any-name", Role::Case, 700.0),
            result("alone", Role::Baseline, 1.0),
        ];
        assert_eq!(
            headline(State::Affected, &plan_of(&MmapLockParams::default()), &arms),
            "Readers of /proc/PID/smaps stall memory mapping here: with 10 readers and 10 spinners \
             on another CPU a process lost 700 ms/s [700, 700] to calls over 1 ms; with as many \
             readers of an idle twin process 2 ms/s [2, 2]; alone 1 ms/s [1, 1]; the worst call of \
             a trial took 700 ms [700, 700]."
        );
        let placebo = plan_of(&MmapLockParams {
            target: Target::Twin,
            procfile: literal("status"),
            ..MmapLockParams::default()
        });
        assert_eq!(
            headline(State::NotAffected, &placebo, &arms[..2]),
            "Readers of /proc/PID/status did not stall memory mapping here; with 10 readers of an \
             idle twin process and 10 spinners on another CPU a process lost 700 ms/s [700, 700] to \
             calls over 1 ms; with as many readers of an idle twin process 2 ms/s [2, 2]."
        );
    }

    #[test]
    fn mends_keep_what_was_asked_for_and_leave_out_what_is_in_force() {
        let next_of = |params: MmapLockParams| next(State::Affected, &plan_of(&params));
        let next = next_of(MmapLockParams { size: literal("256MiB"), ..Default::default() });
        assert_eq!(next.len(), 3);
        assert!(next[0].ends_with(": tailback run mmap-lock --size 256MiB --nice 0"), "{next:?}");
        let procfile = literal("maps");
        let next = next_of(MmapLockParams { nice: 0, procfile, ..Default::default() });
        assert_eq!(next.len(), 1);
        assert!(next[0].ends_with("tailback run mmap-lock --procfile maps --busy 1 --nice 0"));
    }
}
