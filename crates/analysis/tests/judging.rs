//! Verdicts from trials, through the functions that the runner and `tailback judge` use.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{LOST, plan, trial};
use model::machine::TimerLateness;
use model::record::Plan;
use model::{ArmResult, Measure, Role, State, Trial, Unit};
use proptest::prelude::*;
use tailback_analysis::evidence::Evidence;
use tailback_analysis::{Ground, Outcome, decide, estimate_arms};

const CPUS: u32 = 2;

fn three_arms() -> Plan {
    plan(&[("busy", Role::Case), ("control", Role::Control), ("mended", Role::Fix)])
}

/// Blocks in which each arm loses what is given for it.
fn blocks(count: u32, control: f64, busy: f64, mended: f64) -> Vec<Trial> {
    let arms = [("control", control), ("busy", busy), ("mended", mended)];
    (0..count).flat_map(|block| arms.map(|(arm, lost)| trial(block, arm, lost))).collect()
}

fn judge(plan: &Plan, trials: &[Trial]) -> (Vec<ArmResult>, Outcome) {
    let arms = estimate_arms(plan, trials);
    let outcome = decide(plan, trials, &arms, CPUS);
    (arms, outcome)
}

fn state_of(arms: &[ArmResult], id: &str) -> Option<State> {
    arms.iter().find(|arm| arm.id == id).and_then(|arm| arm.state)
}

#[test]
fn a_stall_is_affected_after_five_blocks_and_the_arm_is_named() {
    let plan = three_arms();
    let (_, early) = judge(&plan, &blocks(4, 0.0, 700.0, 0.0));
    assert_eq!(early.state, State::Inconclusive);
    assert!(early.limits[0].contains("about 1 more"), "{:?}", early.limits);

    let trials = blocks(5, 0.0, 700.0, 0.0);
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!(outcome.state, State::Affected);
    assert_eq!(arms[0].id, "control");
    assert_eq!((arms[0].state, arms[0].evidence), (None, None));
    assert!(arms[0].against_control.is_empty() && arms[0].worse.is_none());
    assert_eq!(state_of(&arms, "busy"), Some(State::Affected));
    assert_eq!(state_of(&arms, "mended"), Some(State::Inconclusive));
    assert_eq!(arms[1].worse.as_ref().map(|worse| (worse.count, worse.of)), Some((5, 5)));
    assert_eq!(arms[1].against_control[LOST].shift, 700.0);
    assert!(
        outcome.because[1].starts_with("busy: lost beyond the control's 700 ms/s"),
        "{outcome:?}"
    );
    assert_eq!(outcome.limits, Vec::<String>::new());
}

#[test]
fn three_blocks_of_three_arms_settle_that_but_not_how_much() {
    let cases = ["busy-1", "busy-10", "busy-100"];
    let plan = plan(&[
        ("control", Role::Control),
        (cases[0], Role::Case),
        (cases[1], Role::Case),
        (cases[2], Role::Case),
    ]);
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| {
            let worse = cases.map(|arm| trial(block, arm, 900.0));
            std::iter::once(trial(block, "control", 0.0)).chain(worse)
        })
        .collect();
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!(outcome.state, State::Affected);
    // Three pairs are too few to name an arm by itself.
    assert!(cases.iter().all(|id| state_of(&arms, id) == Some(State::Inconclusive)));
    assert!(outcome.limits[0].contains("busy-1, busy-10, busy-100"), "{outcome:?}");
    assert!(outcome.limits[1].contains("no 95% interval; 4 or more do"), "{outcome:?}");
}

#[test]
fn a_mended_arm_never_decides_the_study() {
    let plan = three_arms();
    let (arms, outcome) = judge(&plan, &blocks(12, 0.0, 0.0, 700.0));
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "mended"), Some(State::Affected));
    let (arms, outcome) = judge(&plan, &blocks(12, 0.0, 700.0, 0.5));
    assert_eq!(outcome.state, State::Affected);
    assert_eq!(state_of(&arms, "mended"), Some(State::NotAffected));
}

#[test]
fn a_quiet_study_says_what_it_could_have_missed() {
    let plan = three_arms();
    let (_, outcome) = judge(&plan, &blocks(11, 0.0, 0.0, 0.0));
    assert_eq!(outcome.state, State::Inconclusive);
    let (arms, outcome) = judge(&plan, &blocks(12, 0.0, 0.0, 0.0));
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "busy"), Some(State::NotAffected));
    // 1 - 0.05^(1/12) is 22.1%.
    assert!(outcome.limits[0].contains("fewer than 22.1% of the trials of 300 ms"), "{outcome:?}");
    assert!(outcome.limits[1].contains("1 ms/s"));
}

#[test]
fn a_hang_forbids_not_affected_unless_the_control_hung_as_often() {
    let plan = three_arms();
    let mut trials = blocks(16, 0.0, 0.0, 0.0);
    trials[1].observation.hang = true;
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!((arms[1].hangs.count, arms[1].hangs.of), (1, 16));
    assert_eq!(outcome.state, State::Inconclusive);
    assert_eq!(state_of(&arms, "busy"), Some(State::Inconclusive));
    assert!(outcome.because.iter().any(|b| b.contains("busy hung in 1 of 16 trials")));
    assert!(outcome.limits[0].contains("hangs again"), "{outcome:?}");
    trials[3].observation.hang = true;
    assert_eq!(judge(&plan, &trials).1.state, State::NotAffected);
}

#[test]
fn blocks_that_are_not_whole_have_no_part_in_the_test() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    trials.pop();
    trials.push(trial(0, "busy", 700.0));
    trials[3].observation.measures.clear();
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!((outcome.test.blocks, outcome.state), (3, State::Inconclusive));
    assert_eq!(arms[1].trials, 7);
    assert!(outcome.limits.iter().any(|limit| limit.starts_with("9 trials")), "{outcome:?}");
}

#[test]
fn studies_without_the_arms_for_it_are_inconclusive() {
    let trials = blocks(14, 0.0, 700.0, 0.0);
    for arms in [&[("busy", Role::Case)][..], &[("control", Role::Control)], &[]] {
        let plan = plan(arms);
        let (_, outcome) = judge(&plan, &trials);
        assert_eq!(outcome.state, State::Inconclusive);
        assert!(!outcome.because.is_empty() && !outcome.limits.is_empty());
    }
    let (arms, outcome) = judge(&three_arms(), &[]);
    assert_eq!((outcome.state, outcome.test.blocks), (State::Inconclusive, 0));
    assert_eq!((arms.len(), arms[0].trials), (3, 0));
    assert!(outcome.limits[0].contains("--samples 24"), "{outcome:?}");
}

#[test]
fn a_control_that_stalls_is_untrustworthy() {
    let (_, outcome) = judge(&three_arms(), &blocks(6, 60.0, 700.0, 0.0));
    assert_eq!(outcome.state, State::Untrustworthy);
    assert!(outcome.because[0].contains("60 ms/s") && outcome.because[0].contains("50 ms/s"));
    assert_eq!(judge(&three_arms(), &blocks(6, 50.0, 700.0, 0.0)).1.state, State::Affected);
}

#[test]
fn steal_is_held_against_the_time_of_all_cpus() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    for trial in &mut trials {
        // 6.25% of the 600 ms that two CPUs have in a window.
        trial.surroundings.steal_ms = Some(37.5);
    }
    let arms = estimate_arms(&plan, &trials);
    let outcome = decide(&plan, &trials, &arms, 2u32);
    assert_eq!(outcome.state, State::Untrustworthy);
    assert!(outcome.because[0].contains("6.25%"), "{outcome:?}");
    assert_eq!(decide(&plan, &trials, &arms, 4u32).state, State::Affected);
    assert_eq!(decide(&plan, &trials, &arms, 0u32).state, State::Affected);
}

#[test]
fn where_time_is_emulated_a_timer_is_held_against_the_controls() {
    let plan = three_arms();
    // The effect is too small to excuse a late timer by itself.
    let with_timers = |control: f64, busy: f64| {
        let mut trials = blocks(5, 0.0, 150.0, 0.0);
        for trial in &mut trials {
            let lost_ms_per_s = if trial.arm == "busy" { busy } else { control };
            trial.surroundings.timer = Some(TimerLateness {
                cpu: 0,
                wakeups: 60,
                p50_ms: 0.1,
                p99_ms: 1.0,
                max_ms: 40.0,
                lost_ms_per_s,
            });
        }
        trials
    };
    let judged = |control, busy, emulated| {
        let trials = with_timers(control, busy);
        let arms = estimate_arms(&plan, &trials);
        decide(&plan, &trials, &arms, Ground { cpus: 2, emulated })
    };
    assert_eq!(judged(100.0, 110.0, false).state, State::Untrustworthy);
    assert_eq!(judged(100.0, 110.0, true).state, State::Affected);
    assert_eq!(judged(100.0, 130.0, true).state, State::Untrustworthy, "later than the control");
    let noisy = |busy, emulated| {
        let trials = blocks(6, 60.0, busy, 0.0);
        let arms = estimate_arms(&plan, &trials);
        decide(&plan, &trials, &arms, Ground { cpus: 2, emulated }).state
    };
    assert_eq!(noisy(700.0, true), State::Affected, "a control that stalls a little");
    assert_eq!(noisy(200.0, true), State::Untrustworthy, "an effect that does not excuse it");
    assert_eq!(noisy(700.0, false), State::Untrustworthy);
    let limits = judged(100.0, 110.0, true).limits;
    assert!(limits.iter().any(|limit| limit.contains("emulated")), "{limits:?}");
    assert!(judged(300.0, 300.0, true).limits.iter().any(|limit| limit.contains("250 ms/s")));
}

#[test]
fn a_late_timer_in_the_median_trial_of_an_arm_is_untrustworthy() {
    let plan = three_arms();
    // Of an effect of 150 ms/s the timer's loss is more than a quarter.
    let mut trials = blocks(5, 0.0, 150.0, 0.0);
    let timer = |lost_ms_per_s| TimerLateness {
        cpu: 1,
        wakeups: 300,
        p50_ms: 0.1,
        p99_ms: 1.0,
        max_ms: 9.0,
        lost_ms_per_s,
    };
    let set = |trials: &mut [Trial], blocks: u32| {
        for trial in trials.iter_mut().filter(|t| t.arm == "busy" && t.block < blocks) {
            trial.surroundings.timer = Some(timer(45.0));
        }
    };
    trials.iter_mut().for_each(|trial| trial.surroundings.timer = Some(timer(0.0)));
    set(&mut trials, 2);
    assert_eq!(judge(&plan, &trials).1.state, State::Affected);
    set(&mut trials, 3);
    let (_, outcome) = judge(&plan, &trials);
    assert_eq!(outcome.state, State::Untrustworthy);
    assert!(outcome.because[0].contains("45 ms/s") && outcome.because[0].contains("busy"));
    let mut trials = blocks(5, 0.0, 700.0, 0.0);
    set(&mut trials, 5);
    assert_eq!(judge(&plan, &trials).1.state, State::Affected, "the loss is a sixteenth of it");
}

#[test]
fn a_doubt_about_one_arm_leaves_what_another_bears_out() {
    let plan =
        plan(&[("control", Role::Control), ("busy-1", Role::Case), ("busy-1000", Role::Case)]);
    let late = |lost_ms_per_s| TimerLateness {
        cpu: 0,
        wakeups: 50,
        p50_ms: 0.1,
        p99_ms: 1.0,
        max_ms: 90.0,
        lost_ms_per_s,
    };
    let block = |block| {
        let mut trials = [
            trial(block, "control", 0.0),
            trial(block, "busy-1", 700.0),
            trial(block, "busy-1000", 900.0),
        ];
        trials[2].surroundings.timer = Some(late(500.0));
        trials
    };
    let mut trials: Vec<Trial> = (0..8).flat_map(block).collect();
    let (_, outcome) = judge(&plan, &trials);
    assert_eq!(outcome.state, State::Affected);
    assert!(outcome.limits.iter().any(|limit| limit.contains("500 ms/s")), "{outcome:?}");
    trials.iter_mut().for_each(|trial| trial.surroundings.timer = Some(late(500.0)));
    assert_eq!(judge(&plan, &trials).1.state, State::Untrustworthy);
}

#[test]
fn a_doubt_about_a_fix_alone_does_not_touch_a_clean_study() {
    let plan = three_arms();
    let late = TimerLateness {
        cpu: 0,
        wakeups: 50,
        p50_ms: 0.1,
        p99_ms: 1.0,
        max_ms: 90.0,
        lost_ms_per_s: 500.0,
    };
    for (doubted, state) in [("mended", State::NotAffected), ("busy", State::Untrustworthy)] {
        let mut trials = blocks(14, 0.0, 0.0, 0.0);
        for trial in trials.iter_mut().filter(|trial| trial.arm == doubted) {
            trial.surroundings.timer = Some(late.clone());
        }
        let (_, outcome) = judge(&plan, &trials);
        assert_eq!(outcome.state, state, "{doubted}");
        let said = outcome.because.iter().chain(&outcome.limits);
        assert!(said.filter(|line| line.contains("a timer")).count() == 1, "{outcome:?}");
    }
}

#[test]
fn figures_that_are_no_numbers_or_of_another_unit_are_left_out() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    let broken = Measure::exact(f64::NAN, Unit::MillisecondsPerSecond);
    trials[1].observation.measures.insert(LOST.to_owned(), broken);
    trials[7].observation.measures.insert(LOST.to_owned(), Measure::exact(1.0, Unit::Count));
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!(arms[1].measures[LOST].trials, 4);
    assert_eq!(outcome.test.blocks, 5);
}

#[test]
fn a_cut_off_arm_has_a_shift_of_at_least() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    for trial in trials.iter_mut().filter(|trial| trial.arm == "busy") {
        let measure = Measure::at_least(990.0, Unit::MillisecondsPerSecond);
        trial.observation.measures.insert(LOST.to_owned(), measure);
    }
    let (arms, outcome) = judge(&plan, &trials);
    assert!(arms[1].against_control[LOST].shift_at_least);
    assert!(arms[1].measures[LOST].high_unbounded);
    assert!(outcome.because[1].contains("at least 990 ms/s"), "{outcome:?}");
    assert!(outcome.because[1].contains("990 ms/s and above"), "{outcome:?}");
}

fn any_trial() -> impl Strategy<Value = Trial> {
    let arm = prop::sample::select(vec!["control", "busy", "mended", "unknown"]);
    let value = prop_oneof![
        4 => (0u32..1000).prop_map(f64::from), 1 => any::<f64>(), 1 => Just(f64::NAN)
    ];
    (0u32..9, arm, value, any::<(bool, bool)>(), -1e3..1e3).prop_map(
        |(block, arm, value, (hang, at_least), ms)| {
            let mut trial = trial(block, arm, value);
            trial.observation.hang = hang;
            trial.took_ms = ms;
            trial.surroundings.steal_ms = Some(ms);
            let unit = Unit::MillisecondsPerSecond;
            trial.observation.measures.insert(LOST.to_owned(), Measure { value, unit, at_least });
            trial
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_in_the_trials_makes_the_judge_panic(
        trials in prop::collection::vec(any_trial(), 0..40), cpus in 0u32..3,
    ) {
        let plan = three_arms();
        let arms = estimate_arms(&plan, &trials);
        let outcome = decide(&plan, &trials, &arms, cpus);
        prop_assert!(outcome.test.evidence_affected >= 0.0);
        prop_assert!(!outcome.because.is_empty());
        for estimate in arms.iter().flat_map(|arm| arm.measures.values()) {
            prop_assert!(estimate.median.is_finite());
        }
    }

    /// The order in which trials stand in the record does not matter, and the verdict of a quiet
    /// machine without hangs is that of the evidence.
    #[test]
    fn the_verdict_is_that_of_the_evidence(
        values in prop::collection::vec((0u8..40, 0u8..60, 0u8..9), 1..20), turn in 0usize..60,
    ) {
        let plan = three_arms();
        let mut evidence = Evidence::new(1, 1.0);
        let mut trials = Vec::new();
        for (block, (control, busy, mended)) in (0u32..).zip(values) {
            let (control, busy) = (f64::from(control), f64::from(busy));
            evidence.record(control, &[busy]);
            trials.push(trial(block, "control", control));
            trials.push(trial(block, "busy", busy));
            trials.push(trial(block, "mended", f64::from(mended)));
        }
        let (arms, outcome) = judge(&plan, &trials);
        prop_assert_eq!(outcome.state, evidence.state(20.0));
        let turn = turn % trials.len();
        trials.rotate_left(turn);
        prop_assert_eq!(judge(&plan, &trials), (arms, outcome));
    }
}
