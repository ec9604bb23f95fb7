//! Verdicts from trials, made by the functions that the runner and `tailback judge` use.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::machine::CpuSteal;
use model::reason::{CarryOver, PairSeen};
use model::record::Plan;
use model::testing::{LOST, plan, trial};
use model::{Amount, ArmResult, Caveat, Doubt, Measure, Reason, Role, State, Trial, Unit};
use proptest::prelude::*;
use tailback_analysis::carry_over::{may_explain, washed_out};
use tailback_analysis::evidence::{Evidence, Thresholds};
use tailback_analysis::{Ground, Outcome, decide, estimate_arms};

fn three_arms() -> Plan {
    plan(&[("busy", Role::Case), ("control", Role::Control), ("fixed", Role::Fix)])
}

/// Blocks in which each arm loses the given amount.
fn blocks(count: u32, control: f64, busy: f64, fixed: f64) -> Vec<Trial> {
    let arms = [("control", control), ("busy", busy), ("fixed", fixed)];
    (0..count).flat_map(|block| arms.map(|(arm, lost)| trial(block, arm, lost))).collect()
}

fn judge(plan: &Plan, trials: &[Trial]) -> (Vec<ArmResult>, Outcome) {
    let arms = estimate_arms(plan, trials);
    let outcome = decide(plan, trials, &arms, Ground::default());
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
    assert_eq!(early.caveats, [Caveat::MoreBlocks { more: 1, blocks: 5, goes_on: true }]);

    let trials = blocks(5, 0.0, 700.0, 0.0);
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!(outcome.state, State::Affected);
    assert_eq!(arms[0].id, "control");
    assert_eq!((arms[0].state, arms[0].e_value), (None, None));
    assert!(arms[0].against_control.is_empty() && arms[0].worse.is_none());
    assert_eq!(state_of(&arms, "busy"), Some(State::Affected));
    assert_eq!(state_of(&arms, "fixed"), Some(State::Inconclusive));
    assert_eq!(arms[1].worse.as_ref().map(|worse| (worse.count, worse.of)), Some((5, 5)));
    assert_eq!(arms[1].against_control[LOST].shift, 700.0);
    let [Reason::Evidence(seen), over_control] = outcome.reasons.as_slice() else {
        panic!("{outcome:?}")
    };
    let pair = PairSeen { arm: "busy".to_owned(), control: None, worse: 5, better: 0 };
    assert_eq!((seen.blocks, seen.pairs.as_slice()), (5, [pair].as_slice()));
    assert!(seen.affected.is_some_and(|e| e.value >= e.needed && e.needed == 20.0), "{seen:?}");
    assert_eq!(seen.not_affected, None, "a settled verdict needs no other test");
    let shift = arms[1].against_control[LOST].clone();
    let (arm, measure) = ("busy".to_owned(), LOST.to_owned());
    assert_eq!(*over_control, Reason::OverControl { arm, measure, shift });
    assert_eq!(outcome.caveats, []);
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
    // Three pairs are too few to name a single arm.
    assert!(cases.iter().all(|id| state_of(&arms, id) == Some(State::Inconclusive)));
    let open = Caveat::ArmsOpen { arms: cases.map(str::to_owned).to_vec() };
    assert_eq!(outcome.caveats, [open, Caveat::NoInterval { confidence: 0.95, blocks: 4 }]);
}

#[test]
fn a_fixed_arm_never_decides_the_study() {
    let plan = three_arms();
    let (arms, outcome) = judge(&plan, &blocks(12, 0.0, 0.0, 700.0));
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "fixed"), Some(State::Affected));
    let (arms, outcome) = judge(&plan, &blocks(12, 0.0, 700.0, 0.5));
    assert_eq!(outcome.state, State::Affected);
    assert_eq!(state_of(&arms, "fixed"), Some(State::NotAffected));
}

#[test]
fn a_quiet_study_says_what_it_could_have_missed() {
    let plan = three_arms();
    let (_, outcome) = judge(&plan, &blocks(9, 0.0, 0.0, 0.0));
    assert_eq!(outcome.state, State::Inconclusive);
    let (arms, outcome) = judge(&plan, &blocks(10, 0.0, 0.0, 0.0));
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "busy"), Some(State::NotAffected));
    let missed = outcome.test.missed.unwrap();
    assert_eq!((missed.shown_above, missed.freeze_ms), (1.0, Some(0.3)));
    // The highest rate that ten clean trials leave possible is not above the rate that the test
    // refutes.
    assert!(missed.share > 0.2 && missed.share < 0.38, "{missed:?}");
    assert!(missed.every_s > 0.6 && missed.every_s < 1.4, "{missed:?}");
    let margin = Amount::exact(1.0, Unit::MillisecondsPerSecond);
    assert_eq!(outcome.caveats, [Caveat::Margin(margin)]);
}

#[test]
fn a_restless_control_hides_stalls_and_then_nothing_is_called_absent() {
    let plan = three_arms();
    let trials = |noise: f64| -> Vec<Trial> {
        let block = |block: u32| {
            // Noise hits only the control, never the case.
            let control = if block.is_multiple_of(3) { noise } else { 0.0 };
            [
                trial(block, "control", control),
                trial(block, "busy", 0.0),
                trial(block, "fixed", 0.0),
            ]
        };
        (0..24).flat_map(block).collect()
    };
    let (_, outcome) = judge(&plan, &trials(40.0));
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(outcome.test.missed.unwrap().shown_above, 41.0);
    let (_, outcome) = judge(&plan, &trials(80.0));
    assert_eq!(outcome.state, State::Inconclusive);
    let amount = |value| Amount::exact(value, Unit::MillisecondsPerSecond);
    let control = "control".to_owned();
    let noisy = Reason::TooNoisy { control, shows_above: amount(81.0), most: amount(51.0) };
    assert_eq!(outcome.reasons[0], noisy);
}

#[test]
fn a_figure_that_was_cut_off_does_not_show_that_there_is_no_stall() {
    let plan = three_arms();
    let cut_off = |arm: &str, every: u32| {
        let mut trials = blocks(20, 0.0, 0.0, 0.0);
        for trial in trials.iter_mut().filter(|t| t.arm == arm && t.block % every == 0) {
            let lost = trial.observation.measures.get_mut(LOST).unwrap();
            *lost = Measure::at_least(lost.value, lost.unit);
        }
        judge(&plan, &trials).1.state
    };
    assert_eq!(cut_off("busy", 1), State::Inconclusive);
    assert_eq!(cut_off("busy", 3), State::Inconclusive);
    assert_eq!(cut_off("busy", 100), State::NotAffected, "one of twenty");
    assert_eq!(cut_off("control", 1), State::NotAffected, "the control may only be slower");
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
    let hung = Reason::Hung {
        arm: "busy".to_owned(),
        hung: (1, 16),
        control: "control".to_owned(),
        control_hung: (0, 16),
    };
    assert!(outcome.reasons.contains(&hung), "{outcome:?}");
    let trials = &mut blocks(24, 0.0, 0.0, 0.0);
    trials[1].observation.hang = true;
    let (_, outcome) = judge(&plan, trials);
    assert_eq!(outcome.state, State::Inconclusive, "the test alone would say not-affected");
    assert_eq!(outcome.caveats, [Caveat::HangRulesOut]);
    trials[3].observation.hang = true;
    assert_eq!(judge(&plan, trials).1.state, State::NotAffected);
}

#[test]
fn blocks_that_are_not_whole_have_no_part_in_the_test() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    // A block without its fix is whole. A block with two trials of an arm, or without a figure,
    // is not.
    let fix = trials.pop();
    assert_eq!(fix.map(|trial| trial.arm).as_deref(), Some("fixed"));
    trials.push(trial(0, "busy", 700.0));
    trials[3].observation.measures.clear();
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!((outcome.test.blocks, outcome.state), (4, State::Inconclusive));
    assert_eq!(arms[1].trials, 7);
    assert!(outcome.caveats.contains(&Caveat::LeftOut { trials: 7 }), "{outcome:?}");
}

#[test]
fn studies_without_the_arms_for_it_are_inconclusive() {
    let trials = blocks(14, 0.0, 700.0, 0.0);
    for arms in [&[("busy", Role::Case)][..], &[("control", Role::Control)], &[]] {
        let plan = plan(arms);
        let (_, outcome) = judge(&plan, &trials);
        assert_eq!(outcome.state, State::Inconclusive);
        assert!(!outcome.reasons.is_empty() && !outcome.caveats.is_empty());
    }
    let (arms, outcome) = judge(&three_arms(), &[]);
    assert_eq!((outcome.state, outcome.test.blocks), (State::Inconclusive, 0));
    assert_eq!((arms.len(), arms[0].trials), (3, 0));
    assert_eq!(outcome.reasons, [Reason::NoWholeBlock { measure: LOST.to_owned() }]);
    assert_eq!(outcome.caveats, [Caveat::NeedsBlocks { least: 3, most: 24 }]);
}

#[test]
fn a_control_that_stalls_too_takes_nothing_from_a_case_that_stalls_more() {
    let (_, outcome) = judge(&three_arms(), &blocks(6, 60.0, 700.0, 0.0));
    assert_eq!(outcome.state, State::Affected);
}

#[test]
fn a_case_that_always_hangs_is_affected_and_its_figure_may_be_lost() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 0.0, 0.0);
    for trial in trials.iter_mut().filter(|trial| trial.arm == "busy") {
        trial.observation.hang = true;
        trial.observation.measures.clear();
    }
    let (arms, outcome) = judge(&plan, &trials);
    assert_eq!((outcome.state, outcome.test.blocks), (State::Affected, 6));
    assert_eq!(state_of(&arms, "busy"), Some(State::Affected));
    // If the control hangs equally often, nothing is known of either.
    let mut trials = blocks(24, 0.0, 0.0, 0.0);
    trials.iter_mut().for_each(|trial| trial.observation.hang = true);
    assert_eq!(judge(&plan, &trials).1.state, State::Inconclusive);
}

/// Twenty blocks without a stall, of which one in `every` is changed.
fn with_each(every: u32, plan: &Plan, change: &dyn Fn(&mut Trial)) -> (Vec<ArmResult>, Outcome) {
    let mut trials = blocks(20, 0.0, 0.0, 0.0);
    trials.iter_mut().filter(|trial| trial.block % every == 0).for_each(change);
    judge(plan, &trials)
}

#[test]
fn a_case_that_was_cut_off_beside_a_control_that_hung_shows_nothing() {
    let plan = three_arms();
    let cut_off = |trial: &mut Trial| {
        if trial.arm == "control" {
            trial.observation.hang = true;
        } else {
            let lost = Measure::at_least(900.0, Unit::MillisecondsPerSecond);
            trial.observation.measures.insert(LOST.to_owned(), lost);
        }
    };
    let study = |every: u32| with_each(every, &plan, &cut_off).1;
    let outcome = study(1);
    assert_eq!((outcome.state, outcome.test.blocks), (State::Inconclusive, 20));
    assert!(outcome.test.e_value_affected < 1.0, "{outcome:?}");
    assert_eq!(outcome.test.e_value_not_affected, 1.0);
    // The other blocks would be enough for the test alone.
    let outcome = study(5);
    assert!(outcome.test.e_value_not_affected >= 20.0, "{outcome:?}");
    assert_eq!(outcome.state, State::Inconclusive);
}

#[test]
fn a_case_that_hung_beside_a_control_that_hung_does_not_show_that_there_is_no_stall() {
    let plan = three_arms();
    let hang = |trial: &mut Trial| trial.observation.hang = trial.arm != "fixed";
    let study = |every: u32| with_each(every, &plan, &hang);
    // The ten other blocks would be enough for the test alone. In half of all blocks no stall could
    // show.
    let (arms, outcome) = study(2);
    assert!(outcome.test.e_value_not_affected >= 20.0, "{outcome:?}");
    assert_eq!((outcome.state, outcome.test.missed), (State::Inconclusive, None));
    assert_eq!(state_of(&arms, "busy"), Some(State::Inconclusive));
    let why = |blocks, lacking| {
        let [arm, control] = ["busy", "control"].map(str::to_owned);
        Caveat::ControlHung { arm, control, blocks, lacking }
    };
    assert!(outcome.caveats.contains(&why(10, 0)), "{outcome:?}");
    assert_eq!(tailback_analysis::missed::blocks_beside(10), 100);
    // One that hung beside two without a figure: three of twenty.
    let mut trials = blocks(20, 0.0, 0.0, 0.0);
    for trial in &mut trials {
        match (trial.arm.as_str(), trial.block) {
            ("control", 0) => trial.observation.hang = true,
            ("busy", 1 | 2) => trial.observation.measures.clear(),
            _ => {}
        }
    }
    let (_, outcome) = judge(&plan, &trials);
    assert!(outcome.caveats.contains(&why(1, 2)), "{outcome:?}");
    // Two of twenty blocks are no more than the noise that is left out.
    let (arms, outcome) = study(10);
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "busy"), Some(State::NotAffected));
    assert!(outcome.test.missed.unwrap().share > 0.1);
}

/// Twenty blocks without a stall, in which these trials lack the figure.
fn without_figure(plan: &Plan, lacks: &dyn Fn(&Trial) -> bool) -> (Vec<ArmResult>, Outcome) {
    let mut trials = blocks(20, 0.0, 0.0, 0.0);
    let lacking = trials.iter_mut().filter(|trial| lacks(trial));
    lacking.for_each(|trial| trial.observation.measures.clear());
    judge(plan, &trials)
}

#[test]
fn a_figure_that_a_case_lacks_in_more_than_one_block_of_ten_does_not_show_that_there_is_no_stall() {
    let plan = three_arms();
    let lacking = |id: &str, blocks: u32| {
        without_figure(&plan, &|trial| trial.arm == id && trial.block < blocks)
    };
    let (arms, outcome) = lacking("busy", 3);
    assert!(outcome.test.e_value_not_affected >= 20.0, "{outcome:?}");
    assert_eq!(outcome.state, State::Inconclusive);
    assert!(outcome.test.missed.is_none(), "{outcome:?}");
    assert_eq!(state_of(&arms, "busy"), Some(State::Inconclusive));
    let why = Caveat::FigureLacking {
        arm: "busy".to_owned(),
        measure: LOST.to_owned(),
        blocks: 3,
        control: "control".to_owned(),
        control_blocks: 0,
    };
    assert!(outcome.caveats.contains(&why), "{outcome:?}");
    // As many blocks may be lost to noise.
    let (arms, outcome) = lacking("busy", 2);
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "busy"), Some(State::NotAffected));
    // The same for a fix, which never decides the study.
    let (arms, outcome) = lacking("fixed", 3);
    assert_eq!(outcome.state, State::NotAffected);
    assert_eq!(state_of(&arms, "fixed"), Some(State::Inconclusive));
}

#[test]
fn a_figure_that_the_control_lacks_as_often_rules_nothing_out() {
    let plan = three_arms();
    let state = |lacks: &dyn Fn(&Trial) -> bool| without_figure(&plan, lacks).1.state;
    let control_alone = |trial: &Trial| trial.arm == "control" && trial.block < 8;
    assert_eq!(state(&control_alone), State::NotAffected);
    assert_eq!(state(&|trial| trial.block < 8), State::NotAffected);
    let either = |trial: &Trial| match trial.arm.as_str() {
        "control" => trial.block < 4,
        "busy" => (4..8).contains(&trial.block),
        _ => false,
    };
    assert_eq!(state(&either), State::NotAffected);
}

#[test]
fn each_case_is_held_against_its_own_control_and_a_baseline_against_nothing() {
    let mut plan = plan(&[
        ("twin-1", Role::Control),
        ("busy-1", Role::Case),
        ("twin-10", Role::Control),
        ("busy-10", Role::Case),
        ("alone", Role::Baseline),
    ]);
    plan.arms[1].against = Some("twin-1".to_owned());
    plan.arms[3].against = Some("twin-10".to_owned());
    let study = |one: f64, ten: f64| {
        let block = |block: u32| {
            // The load of ten costs 300 ms/s, even without the cause.
            [("twin-1", 0.0), ("busy-1", one), ("twin-10", 300.0), ("busy-10", ten), ("alone", 0.0)]
                .map(|(arm, lost)| trial(block, arm, lost))
        };
        judge(&plan, &(0..14).flat_map(block).collect::<Vec<_>>())
    };
    let (arms, outcome) = study(0.0, 300.0);
    assert_eq!(outcome.state, State::NotAffected, "the load alone is no stall");
    assert_eq!((state_of(&arms, "alone"), state_of(&arms, "twin-10")), (None, None));
    let (arms, outcome) = study(0.0, 900.0);
    assert_eq!(outcome.state, State::Affected);
    assert_eq!(state_of(&arms, "busy-10"), Some(State::Affected));
    assert_eq!(state_of(&arms, "busy-1"), Some(State::NotAffected));
    let busy_10 = arms.iter().find(|arm| arm.id == "busy-10").unwrap();
    assert_eq!(busy_10.against_control[LOST].shift, 600.0);
    let Reason::Evidence(seen) = &outcome.reasons[0] else { panic!("{outcome:?}") };
    let controls: Vec<_> = seen.pairs.iter().map(|pair| pair.control.as_deref()).collect();
    assert_eq!(controls, [Some("twin-1"), Some("twin-10")]);
}

#[test]
fn a_missing_trial_of_a_baseline_takes_no_block_away() {
    let plan = plan(&[("control", Role::Control), ("busy", Role::Case), ("alone", Role::Baseline)]);
    let block = |block: u32| [trial(block, "control", 0.0), trial(block, "busy", 700.0)];
    let trials: Vec<Trial> = (0..6).flat_map(block).collect();
    assert_eq!(judge(&plan, &trials).1.state, State::Affected);
}

#[test]
fn what_could_have_been_missed_is_told_of_the_arm_that_says_least() {
    let arms = [("control", Role::Control), ("quiet", Role::Case), ("hit", Role::Case)];
    let plan = plan(&arms);
    let block = |block: u32| {
        // One hit among many trials raises the share that remains possible.
        let hit = if block == 3 { 200.0 } else { 0.0 };
        [("control", 0.0), ("quiet", 0.0), ("hit", hit)].map(|(arm, lost)| trial(block, arm, lost))
    };
    let trials: Vec<Trial> = (0..30).flat_map(block).collect();
    let share = |plan: &Plan| judge(plan, &trials).1.test.missed.unwrap().share;
    let mut alone = plan.clone();
    alone.arms.truncate(2);
    assert!(share(&plan) > share(&alone), "{} {}", share(&plan), share(&alone));
}

#[test]
fn steal_from_every_case_counts_where_none_is_named_yet() {
    let cases = ["busy-1", "busy-10", "busy-100"];
    let mut arms = vec![("control", Role::Control)];
    arms.extend(cases.map(|id| (id, Role::Case)));
    let plan = plan(&arms);
    let block = |block: u32| {
        let worse = cases.map(|arm| trial(block, arm, 900.0));
        std::iter::once(trial(block, "control", 0.0)).chain(worse)
    };
    let mut trials: Vec<Trial> = (0..3).flat_map(block).collect();
    assert_eq!(judge(&plan, &trials).1.state, State::Affected);
    steal_from(&mut trials, &cases, 600.0);
    let mut other_figure = plan;
    other_figure.judging.wants_cpu = false;
    assert_eq!(judge(&other_figure, &trials).1.state, State::Untrustworthy);
}

/// Adds steal of `ms` milliseconds on one CPU, over a second around each trial of these arms.
fn steal_from(trials: &mut [Trial], arms: &[&str], ms: f64) {
    for trial in trials.iter_mut() {
        trial.disturbance.over_ms = Some(1000.0);
        trial.disturbance.steal_ms = Some(0.0);
    }
    for trial in trials.iter_mut().filter(|trial| arms.contains(&trial.arm.as_str())) {
        trial.disturbance.steal_by_cpu = vec![CpuSteal { cpu: 3, ms }];
    }
}

#[test]
fn steal_is_read_by_cpu_over_its_own_time_and_doubts_only_what_it_struck_more() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    steal_from(&mut trials, &["control", "busy", "fixed"], 300.0);
    assert_eq!(judge(&plan, &trials).1.state, State::Affected, "case and control alike");
    // 600 ms of one CPU in a second is 60%, however many CPUs there are.
    let mut trials = blocks(6, 0.0, 500.0, 0.0);
    steal_from(&mut trials, &["busy"], 600.0);
    let (_, outcome) = judge(&plan, &trials);
    assert_eq!(outcome.state, State::Untrustworthy);
    let (arm, control) = ("busy".to_owned(), "control".to_owned());
    let steal = Doubt::Steal { arm, control, more: 0.6, most: 0.05 };
    assert_eq!(outcome.reasons[0], Reason::Doubt(steal));
    assert_eq!(outcome.caveats, [Caveat::QuietMachineUnknown]);
    let mut trials = blocks(14, 0.0, 0.0, 0.0);
    steal_from(&mut trials, &["busy"], 600.0);
    assert_eq!(judge(&plan, &trials).1.state, State::NotAffected, "nothing to be excused");
}

#[test]
fn what_the_absence_of_a_cpu_explains_is_not_affected_but_untrustworthy() {
    let plan = three_arms();
    let delayed = |lost: f64, delay_ms: f64| {
        let mut trials = blocks(8, 0.0, lost, 0.0);
        for trial in trials.iter_mut().filter(|trial| trial.arm == "busy") {
            trial.disturbance.run_delay_ms = Some(delay_ms);
        }
        trials
    };
    // 60 ms in a window of 300 ms are 200 ms/s.
    let (_, outcome) = judge(&plan, &delayed(200.0, 60.0));
    assert_eq!(outcome.state, State::Untrustworthy);
    let no_cpu = Doubt::NoCpu { arm: Some("busy".to_owned()), ms_per_s: 200.0 };
    assert_eq!(outcome.reasons[0], Reason::Doubt(no_cpu));
    assert_eq!(judge(&plan, &delayed(700.0, 60.0)).1.state, State::Affected);
    let mut figure_of_another_kind = plan.clone();
    figure_of_another_kind.judging.wants_cpu = false;
    assert_eq!(judge(&figure_of_another_kind, &delayed(200.0, 60.0)).1.state, State::Affected);
    // Delay that both arms have is subtracted from both.
    let mut trials = blocks(14, 200.0, 200.0, 0.0);
    trials.iter_mut().for_each(|trial| trial.disturbance.run_delay_ms = Some(60.0));
    assert_eq!(judge(&plan, &trials).1.state, State::NotAffected);
}

#[test]
fn what_the_absence_of_a_cpu_explains_of_one_arm_is_not_affected_beside_one_that_is() {
    let plan = plan(&[("control", Role::Control), ("stalls", Role::Case), ("waits", Role::Case)]);
    let study = |robbed: bool| {
        let block = |block: u32| {
            [("control", 0.0), ("stalls", 700.0), ("waits", 200.0)]
                .map(|(arm, lost)| trial(block, arm, lost))
        };
        let mut trials: Vec<Trial> = (0..8).flat_map(block).collect();
        if robbed {
            steal_from(&mut trials, &["waits"], 200.0);
        } else {
            let waits = trials.iter_mut().filter(|trial| trial.arm == "waits");
            waits.for_each(|trial| trial.disturbance.run_delay_ms = Some(60.0));
        }
        judge(&plan, &trials)
    };
    let (arm, control) = ("waits".to_owned(), "control".to_owned());
    let waits = Doubt::NoCpu { arm: Some(arm.clone()), ms_per_s: 200.0 };
    let steal = Doubt::Steal { arm, control, more: 0.2, most: 0.05 };
    for (robbed, why) in [(false, waits), (true, steal)] {
        let (arms, outcome) = study(robbed);
        assert_eq!(outcome.state, State::Affected, "what stalls is not explained");
        assert_eq!(state_of(&arms, "stalls"), Some(State::Affected));
        assert_eq!(state_of(&arms, "waits"), Some(State::Untrustworthy));
        assert!(outcome.caveats.contains(&Caveat::Doubt(why)), "{outcome:?}");
        let over = |why: &Reason| matches!(why, Reason::OverControl { arm, .. } if arm == "waits");
        assert!(!outcome.reasons.iter().any(over), "{outcome:?}");
    }
}

#[test]
fn a_kernel_that_became_tainted_is_untrustworthy() {
    let plan = three_arms();
    let mut trials = blocks(6, 0.0, 700.0, 0.0);
    trials.iter_mut().for_each(|trial| trial.disturbance.tainted = Some(4096));
    assert_eq!(judge(&plan, &trials).1.state, State::Affected, "it was so before");
    let arms = estimate_arms(&plan, &trials);
    let before = |tainted| Ground { tainted: Some(tainted), ..Ground::default() };
    assert_eq!(decide(&plan, &trials, &arms, before(4096)).state, State::Affected);
    let outcome = decide(&plan, &trials, &arms, before(0));
    assert_eq!(outcome.state, State::Untrustworthy);
    assert_eq!(outcome.reasons[0], Reason::Doubt(Doubt::Tainted { flags: 4096 }));
    trials[9].disturbance.tainted = Some(4096 | 512);
    assert_eq!(judge(&plan, &trials).1.state, State::Untrustworthy);
}

#[test]
fn an_emulated_guest_is_said_to_be_one() {
    let (plan, trials) = (three_arms(), blocks(6, 0.0, 700.0, 0.0));
    let arms = estimate_arms(&plan, &trials);
    let ground = Ground { shared: true, ..Ground::default() };
    let outcome = decide(&plan, &trials, &arms, ground);
    assert!(outcome.caveats.contains(&Caveat::SharedMachine));
    assert!(!outcome.caveats.contains(&Caveat::Emulated));
    let outcome = decide(&plan, &trials, &arms, Ground { emulated: true, ..Ground::default() });
    assert!(!outcome.caveats.contains(&Caveat::SharedMachine));
    assert_eq!(outcome.state, State::Affected);
    assert!(outcome.caveats.contains(&Caveat::Emulated), "{outcome:?}");
}

/// Blocks of a case that loses `case`, and a control that loses `after_case` right after a case
/// and `otherwise` in other places.
fn following(case: f64, after_case: f64, otherwise: f64) -> (Plan, Vec<Trial>) {
    let mut trials: Vec<Trial> = Vec::new();
    for block in 0..20u32 {
        // The order is reversed in every second pair of blocks, so that controls also follow
        // controls.
        let turned = block / 2 % 2 == 1;
        let follows = turned || trials.last().is_some_and(|t| t.arm == "busy");
        let control = trial(block, "control", if follows { after_case } else { otherwise });
        let case = trial(block, "busy", case);
        trials.extend(if turned { [case, control] } else { [control, case] });
    }
    for (place, trial) in trials.iter_mut().enumerate() {
        trial.started_ms = place as f64;
    }
    (plan(&[("control", Role::Control), ("busy", Role::Case)]), trials)
}

fn carry_over(after_case: f64, otherwise: f64) -> CarryOver {
    let amount = |value| Amount::exact(value, Unit::MillisecondsPerSecond);
    let (after_case, otherwise) = (amount(after_case), amount(otherwise));
    CarryOver { control: "control".to_owned(), after_case, otherwise }
}

#[test]
fn a_control_that_reads_more_after_a_case_is_told() {
    let told = |(plan, trials): (Plan, Vec<Trial>)| {
        let (_, outcome) = judge(&plan, &trials);
        assert_eq!(outcome.state, State::Affected);
        outcome.caveats.contains(&Caveat::CarryOver(carry_over(30.0, 0.0)))
    };
    assert!(told(following(700.0, 30.0, 0.0)));
    assert!(!told(following(700.0, 0.0, 0.0)));
    let (plan, trials) = following(700.0, 30.0, 0.0);
    assert!(!told((Plan { wash_out: true, ..plan }, trials)));
}

#[test]
fn what_trials_leave_behind_explains_a_case_that_is_worse_by_no_more_than_that() {
    let explains = |(plan, trials): (Plan, Vec<Trial>), state: State| {
        let (arms, _) = judge(&plan, &trials);
        may_explain(&plan, &trials, &arms, state)
    };
    let faster = || following(100.0, 0.0, 100.0);
    assert_eq!(explains(faster(), State::Affected), Some(carry_over(0.0, 100.0)));
    assert_eq!(explains(faster(), State::NotAffected), None);
    let (plan, trials) = faster();
    assert_eq!(explains((Plan { wash_out: true, ..plan }, trials), State::Affected), None);
    // A real stall remains, however much better the control is made to look.
    assert_eq!(explains(following(700.0, 0.0, 100.0), State::Affected), None);
    // A control that is made to look worse hides a stall.
    let slower = || following(100.0, 100.0, 0.0);
    assert_eq!(explains(slower(), State::NotAffected), Some(carry_over(100.0, 0.0)));
    assert_eq!(explains(slower(), State::Affected), None);
}

#[test]
fn what_was_washed_out_is_told_by_the_trials_that_are_not_judged() {
    let (plan, trials) = following(700.0, 0.0, 0.0);
    let plan = Plan { wash_out: true, ..plan };
    // Each wash-out runs right after the case of its block.
    let wash_outs = |lost| {
        let cases = trials.iter().filter(|trial| trial.arm == "busy");
        let after = |case: &Trial| Trial {
            started_ms: case.started_ms + 0.5,
            ..trial(case.block, "control", lost)
        };
        cases.map(after).collect::<Vec<_>>()
    };
    assert_eq!(washed_out(&plan, &trials, &wash_outs(30.0)), Some(carry_over(30.0, 0.0)));
    assert_eq!(washed_out(&plan, &trials, &wash_outs(0.0)), None);
    assert_eq!(washed_out(&plan, &trials, &[]), None);
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
    let Reason::OverControl { shift, .. } = &outcome.reasons[1] else { panic!("{outcome:?}") };
    assert_eq!((shift.shift, shift.low, shift.high), (990.0, Some(990.0), None));
}

fn any_trial() -> impl Strategy<Value = Trial> {
    let arm = prop::sample::select(vec!["control", "busy", "fixed", "unknown"]);
    let value = prop_oneof![
        4 => (0u32..1000).prop_map(f64::from), 1 => any::<f64>(), 1 => Just(f64::NAN)
    ];
    (0u32..9, arm, value, any::<(bool, bool)>(), -1e3..1e3).prop_map(
        |(block, arm, value, (hang, at_least), ms)| {
            let mut trial = trial(block, arm, value);
            trial.observation.hang = hang;
            trial.took_ms = ms;
            trial.disturbance.steal_ms = Some(ms);
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
        trials in prop::collection::vec(any_trial(), 0..40), tainted in prop::option::of(0u64..3),
    ) {
        let plan = three_arms();
        let arms = estimate_arms(&plan, &trials);
        let outcome = decide(&plan, &trials, &arms, Ground { tainted, ..Ground::default() });
        prop_assert!(outcome.test.e_value_affected >= 0.0);
        prop_assert!(!outcome.reasons.is_empty());
        for estimate in arms.iter().flat_map(|arm| arm.measures.values()) {
            prop_assert!(estimate.median.is_finite());
        }
    }

    /// The order of trials in the record does not matter. On a quiet machine without hangs, the
    /// verdict is that of the evidence.
    #[test]
    fn the_verdict_is_that_of_the_evidence(
        values in prop::collection::vec((0u8..40, 0u8..60, 0u8..9), 1..20), turn in 0usize..60,
    ) {
        let plan = three_arms();
        let mut evidence = Evidence::new(1, 1.0).with_limit(plan.judging.control_limit);
        let mut trials = Vec::new();
        for (block, (control, busy, fixed)) in (0u32..).zip(values) {
            let (control, busy) = (f64::from(control), f64::from(busy));
            evidence.record(&[control], &[busy], &[busy]);
            trials.push(trial(block, "control", control));
            trials.push(trial(block, "busy", busy));
            trials.push(trial(block, "fixed", f64::from(fixed)));
        }
        let (arms, outcome) = judge(&plan, &trials);
        prop_assert_eq!(outcome.state, evidence.state(Thresholds::both(20.0)));
        let turn = turn % trials.len();
        trials.rotate_left(turn);
        prop_assert_eq!(judge(&plan, &trials), (arms, outcome));
    }
}
