//! What only this scenario knows of an outcome: whether the load fitted the quota, whether there was a
//! quota at all, and what busy waiting costs beside latency.

use super::meta::measure;
use super::params::BusyWaitParams;
use crate::params::Params;
use analysis::Outcome;
use model::{Arm, ArmResult, Plan, Role, State, Trial};

/// More requests than this part, in percent, left undone say that the rate is beyond the machine.
const MOST_BACKLOG: f64 = 5.0;

/// What the control uses of its quota, in percent, where the study can tell busy waiting from a quota
/// that is too small: with more the load itself is throttled, with less there is room to spin in.
const QUOTA_USED: (f64, f64) = (35.0, 85.0);

/// Spinning below this is not worth a sentence, in milliseconds a second.
const LEAST_SPUN: f64 = 20.0;

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    // What makes a whole study doubtful is not for this load to explain.
    if outcome.state == State::Untrustworthy || too_much(arms, outcome) {
        return;
    }
    too_little(arms, outcome);
    without_quota(plan, outcome);
    // With flags of its own in every arm the case has not the VM's defaults.
    let of_control = plan.arms.iter().find(|arm| arm.role == Role::Control);
    let params = of_control.and_then(|arm| BusyWaitParams::of(&arm.settings));
    if params.is_none_or(|params| params.flags.is_empty()) {
        spun(arms, outcome);
        outcome.because.extend(throughput(arms));
    }
    outcome.because.extend(detected(plan, trials));
}

/// The CPU quota of an arm, in CPUs.
fn quota(arm: &Arm) -> Option<f64> {
    Some(BusyWaitParams::of(&arm.settings)?.quota.get()?.get())
}

fn control(arms: &[ArmResult]) -> Option<&ArmResult> {
    arms.iter().find(|arm| arm.role == Role::Control)
}

/// A control that has no room under its quota, or cannot serve the rate, shows no busy waiting: only
/// too little quota or machine.
fn too_much(arms: &[ArmResult], outcome: &mut Outcome) -> bool {
    let of_control = |name: &str| control(arms)?.measures.get(name);
    let (_, most) = QUOTA_USED;
    let used = of_control(measure::QUOTA_USED).filter(|used| used.median > most);
    let backlog = of_control(measure::BACKLOG).filter(|backlog| backlog.median > MOST_BACKLOG);
    let why = match (used, backlog) {
        (Some(used), _) => format!(
            "the control itself used {used} of its quota, and above {most}% the load alone may be \
             throttled, so what busy waiting adds cannot be told"
        ),
        (None, Some(backlog)) => format!(
            "the control left {backlog} of its requests undone: the rate is beyond this machine"
        ),
        (None, None) => return false,
    };
    outcome.state = State::Inconclusive;
    outcome.because.insert(0, why);
    outcome.limits.insert(0, format!("take a lower --rate{} or a larger --quota", rate_was(arms)));
    true
}

/// Where requests leave most of the quota unused there is room to spin in: that nothing was slow then
/// says little. A stall that shows all the same is one.
fn too_little(arms: &[ArmResult], outcome: &mut Outcome) {
    let (least, _) = QUOTA_USED;
    let used = control(arms).and_then(|control| control.measures.get(measure::QUOTA_USED));
    let Some(used) = used.filter(|used| used.median < least) else { return };
    if outcome.state == State::NotAffected {
        outcome.state = State::Inconclusive;
        outcome.because.insert(
            0,
            format!(
                "the control used only {used} of its quota, and below {least}% spinning has room \
                 beside the requests"
            ),
        );
        outcome.limits.insert(0, format!("take a higher --rate{}", rate_was(arms)));
    }
}

/// ` (it was 4200)`, so that a lower or a higher one can be named.
fn rate_was(arms: &[ArmResult]) -> String {
    let done = control(arms).and_then(|control| control.measures.get(measure::REQUESTS));
    done.map(|done| format!(" (it served {})", done.figure())).unwrap_or_default()
}

/// The scenario is about nodes with a quota: without one nothing says that they are not affected.
fn without_quota(plan: &Plan, outcome: &mut Outcome) {
    let has_quota = plan.arms.iter().any(|arm| quota(arm).is_some());
    if has_quota || outcome.state != State::NotAffected {
        return;
    }
    outcome.state = State::Inconclusive;
    outcome.because.insert(
        0,
        "no arm had a CPU quota: busy waiting cost no latency without one, and what it costs under \
         one was not measured"
            .to_owned(),
    );
    outcome
        .limits
        .insert(0, "give --quota 0.5; it takes root or a delegated cpu controller".into());
}

/// What busy waiting leaves of background work, where the intervals of the two arms are apart.
fn throughput(arms: &[ArmResult]) -> Option<String> {
    let done = |id: &str| arms.iter().find(|arm| arm.id == id)?.measures.get(measure::BACKGROUND);
    let (with, without) = (done("defaults-quota")?, done("flags-quota")?);
    (with.high? < without.low?).then(|| {
        format!(
            "under the quota the VM's defaults left {with} of background work, the flags {without}"
        )
    })
}

/// The quota that the VM found by itself, beside the real one: schedulers are started by it.
fn detected(plan: &Plan, trials: &[Trial]) -> Option<String> {
    let (arm, real) = plan.arms.iter().find_map(|arm| Some((arm, quota(arm)?)))?;
    let mut of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    let vm = of_arm.find_map(|trial| trial.observation.vm.as_ref())?;
    let found = match vm.cpu_quota {
        Some(cpus) => format!("a quota of {cpus}"),
        None => "no quota".to_owned(),
    };
    Some(format!(
        "under the quota of {real} CPUs the VM itself detected {found}, and had {} schedulers, as \
         it was told",
        vm.schedulers_online
    ))
}

/// What the VM's defaults spin, whether or not anybody is the worse for it.
fn spun(arms: &[ArmResult], outcome: &mut Outcome) {
    for (id, place) in [("defaults", "without a quota"), ("defaults-quota", "under the quota")] {
        let Some(arm) = arms.iter().find(|arm| arm.id == id) else { continue };
        let spun = arm.measures.get(measure::SPUN).filter(|spun| spun.median >= LEAST_SPUN);
        let Some(spun) = spun else { continue };
        let active = arm.measures.get(measure::ACTIVE).map(|e| e.figure()).unwrap_or_default();
        outcome.because.push(format!(
            "{place} the VM's defaults spun {spun} of CPU time beside {active} ms/s of work"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::params::literal;
    use model::record::{Progress, SCHEMA, Tool};
    use model::{Machine, Measure, Observation, Record, Surroundings, Unit, Verdict};

    /// What the two arms show in every trial: 99th percentile of the case, and percent of the quota
    /// and backlog of the control.
    struct Shown {
        quota: &'static str,
        p99: f64,
        used: f64,
        backlog: f64,
    }

    const FIT: Shown = Shown { quota: "0.5", p99: 0.7, used: 60.0, backlog: 0.0 };

    fn plan(quota: &'static str) -> Plan {
        let arm = |id: &str, role| {
            let params = BusyWaitParams { quota: literal(quota), ..BusyWaitParams::default() };
            let settings = params.settings();
            Arm { id: id.to_owned(), role, settings, against: None, change: None }
        };
        Plan {
            arms: vec![arm("flags-quota", Role::Control), arm("defaults-quota", Role::Case)],
            seed: 1,
            min_blocks: 24,
            max_blocks: 24,
            stop_when_settled: false,
            error_rate: None,
            settle_fixes: false,
            judging: META.judging.clone(),
            also: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn trial(block: u32, arm: &str, figures: &[(&str, f64, Unit)]) -> Trial {
        let mut observation = Observation::default();
        for &(name, value, unit) in figures {
            observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
        }
        Trial {
            block,
            arm: arm.to_owned(),
            started_ms: 0.0,
            took_ms: 0.0,
            observation,
            surroundings: Surroundings::default(),
        }
    }

    /// The record of such a study, judged as every record is.
    fn judged(shown: &Shown) -> Record {
        let (started, scenario) = ("1970-01-01T00:00:00Z".to_owned(), META.id.to_owned());
        let tool = Tool { name: String::new(), version: String::new(), argv: Vec::new() };
        let verdict = Verdict {
            state: State::Inconclusive,
            kind: None,
            headline: String::new(),
            because: Vec::new(),
            next: Vec::new(),
            measure: None,
            open: Vec::new(),
            fixes: Vec::new(),
            test: None,
        };
        let mut record = Record {
            schema: SCHEMA.to_owned(),
            tool,
            scenario,
            started,
            elapsed_s: 0.0,
            progress: Progress::Complete,
            plan: plan(shown.quota),
            host: Machine::default(),
            trials: trials(shown),
            probed: Vec::new(),
            arms: Vec::new(),
            factorial: None,
            verdict,
        };
        assert!(crate::judge(&mut record));
        record
    }

    fn trials(shown: &Shown) -> Vec<Trial> {
        let of_block = |block: u32| {
            let control = [
                (measure::P99, 0.7, Unit::Milliseconds),
                (measure::QUOTA_USED, shown.used, Unit::Percent),
                (measure::BACKLOG, shown.backlog, Unit::Percent),
            ];
            let case = [(measure::P99, shown.p99, Unit::Milliseconds)];
            [trial(block, "flags-quota", &control), trial(block, "defaults-quota", &case)]
        };
        (0..24).flat_map(of_block).collect()
    }

    fn reviewed(shown: &Shown) -> Outcome {
        let (plan, trials) = (plan(shown.quota), trials(shown));
        let mut arms = analysis::estimate_arms(&plan, &trials);
        let mut outcome = analysis::decide(&plan, &trials, &arms, analysis::Ground::default());
        review(&plan, &trials, &mut arms, &mut outcome);
        outcome
    }

    #[test]
    fn a_load_that_fits_the_quota_is_judged_as_it_is() {
        assert_eq!(reviewed(&FIT).state, State::NotAffected);
        assert_eq!(reviewed(&Shown { p99: 60.0, ..FIT }).state, State::Affected);
    }

    #[test]
    fn a_control_without_room_says_nothing_of_busy_waiting() {
        for shown in [
            Shown { p99: 60.0, used: 97.0, ..FIT },
            Shown { used: 97.0, ..FIT },
            Shown { quota: "none", used: 0.0, backlog: 30.0, p99: 60.0 },
        ] {
            let outcome = reviewed(&shown);
            assert_eq!(outcome.state, State::Inconclusive, "{outcome:?}");
            assert!(outcome.limits[0].contains("a lower --rate"), "{outcome:?}");
        }
    }

    #[test]
    fn a_control_with_much_room_clears_nobody() {
        let idle = Shown { used: 10.0, ..FIT };
        let outcome = reviewed(&idle);
        assert_eq!(outcome.state, State::Inconclusive);
        assert!(outcome.limits[0].contains("a higher --rate"), "{outcome:?}");
        assert_eq!(reviewed(&Shown { p99: 60.0, ..idle }).state, State::Affected);
    }

    #[test]
    fn without_a_quota_nobody_is_cleared() {
        let free = Shown { quota: "none", ..FIT };
        assert_eq!(reviewed(&free).state, State::Inconclusive);
        assert_eq!(reviewed(&Shown { p99: 60.0, ..free }).state, State::Affected);
    }

    #[test]
    fn what_is_taken_back_of_the_verdict_is_taken_back_of_the_arms() {
        let full = Shown { p99: 60.0, used: 97.0, ..FIT };
        for shown in [full, Shown { used: 10.0, ..FIT }, Shown { quota: "none", ..FIT }] {
            let record = judged(&shown);
            assert_eq!(record.verdict.state, State::Inconclusive);
            let says = record.arms.iter().find(|arm| arm.id == "defaults-quota").unwrap().state;
            assert_eq!(says, Some(State::Inconclusive));
        }
        let record = judged(&Shown { p99: 60.0, ..FIT });
        assert_eq!(record.arms[1].state, Some(record.verdict.state));
    }
}
