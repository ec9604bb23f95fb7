//! Continuing undecided studies, with a fake scenario that invents its figures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_scenario;

use fake_scenario::{FILE, read, run};
use model::record::Plan;
use model::{Arm, Facts, Machine, Role, State};
use scenarios::mmap_lock::MmapLockParams;
use scenarios::params::{Auto, Cpu, Params};
use tailback_runner::undecided;

/// A study without factors that ended undecided after three blocks.
fn left_open() -> Facts {
    let facts = after(3);
    assert_eq!(scenarios::judge(&facts).state, State::Inconclusive);
    facts
}

/// A study without factors that ended after this many blocks.
fn after(blocks: u32) -> Facts {
    let folder = tempfile::tempdir().unwrap();
    let mut design = read(FILE).unwrap();
    design.exactly(blocks);
    let (record, _) = run(&design, None, &folder.path().join("a.json"), |_| false);
    let mut facts = record.facts;
    facts.factorial = None;
    facts.plan.stop_when_settled = true;
    facts
}

#[test]
fn an_undecided_study_goes_on_with_its_seed_and_as_many_blocks_again() {
    let old = left_open();
    let mut wanted = old.plan.clone();
    wanted.seed = old.plan.seed + 1;
    wanted.max_blocks = 24;
    let (plan, record) = undecided(old.clone(), &wanted, &Machine::default()).unwrap();
    assert_eq!((plan.seed, plan.max_blocks), (old.plan.seed, 27));
    assert_eq!(record.trials, old.trials);
    // What was seen of an incomplete block stays.
    let mut torn = old.clone();
    torn.trials.pop();
    let (plan, record) = undecided(torn.clone(), &wanted, &Machine::default()).unwrap();
    assert_eq!((plan.max_blocks, &record.trials), (27, &torn.trials));
    let mut absurd = old.clone();
    absurd.trials.last_mut().unwrap().block = u32::MAX;
    assert!(undecided(absurd, &wanted, &Machine::default()).is_none());
}

/// A study of sixteen blocks without a stall.
fn without_a_stall() -> Facts {
    let mut facts = after(8);
    for trial in &mut facts.trials {
        let lost = model::Measure::exact(0.0, model::Unit::MillisecondsPerSecond);
        let name = facts.plan.judging.measure.to_string();
        trial.observation.measures.insert(name, lost);
    }
    let mut more = facts.trials.clone();
    more.iter_mut().for_each(|trial| trial.block += 8);
    facts.trials.extend(more);
    assert_eq!(scenarios::judge(&facts).state, State::NotAffected);
    facts
}

#[test]
fn a_study_that_a_missing_figure_keeps_open_goes_on() {
    let mut lacking = without_a_stall();
    let plan = lacking.plan.clone();
    let case = plan.case().unwrap();
    let of_case = lacking.trials.iter_mut().filter(|trial| trial.arm == case.id && trial.block < 3);
    for trial in of_case {
        trial.observation.measures.remove(plan.judging.measure.as_ref());
    }
    assert_eq!(scenarios::judge(&lacking).state, State::Inconclusive);
    assert!(undecided(lacking, &plan, &Machine::default()).is_some());
}

#[test]
fn a_study_that_a_hang_keeps_open_goes_on() {
    let mut hung = without_a_stall();
    let control = hung.control().unwrap().id.clone();
    let plan = hung.plan.clone();
    assert!(undecided(hung.clone(), &plan, &Machine::default()).is_none());
    let hang = hung.trials.iter_mut().find(|trial| trial.arm != control).unwrap();
    hang.observation.hang = true;
    assert_eq!(scenarios::judge(&hung).state, State::Inconclusive);
    assert!(undecided(hung, &plan, &Machine::default()).is_some());
}

#[test]
fn a_study_in_which_a_control_hung_too_goes_on() {
    let mut hung = without_a_stall();
    let plan = hung.plan.clone();
    let in_some = hung.trials.iter_mut().filter(|trial| trial.block % 4 == 0);
    in_some.for_each(|trial| trial.observation.hang = true);
    let judgement = scenarios::judge(&hung);
    assert_eq!(judgement.state, State::Inconclusive);
    let test = judgement.test.unwrap();
    assert!(test.e_value_not_affected >= test.threshold_not_affected.unwrap(), "{test:?}");
    assert!(undecided(hung, &plan, &Machine::default()).is_some());
}

#[test]
fn a_study_of_a_check_that_goes_on_alone_keeps_its_share_of_the_error_rate() {
    let mut of_check = left_open();
    let alone = of_check.plan.clone();
    of_check.plan.split_error_rate(8);
    let rates = |plan: &Plan| (plan.error_rate.unwrap(), plan.judging.error_rate);
    let share = rates(&of_check.plan);
    assert!(share.1 < alone.judging.error_rate);
    let (plan, _) = undecided(of_check, &alone, &Machine::default()).unwrap();
    assert_eq!(rates(&plan), share);
    // A check promises more than a study alone did.
    let mut checked = left_open().plan;
    checked.split_error_rate(8);
    let (plan, _) = undecided(left_open(), &checked, &Machine::default()).unwrap();
    assert_eq!(rates(&plan), share);
}

#[test]
fn what_the_study_found_out_of_the_machine_stays() {
    let old = left_open();
    let with = |cpu_load: Auto<Cpu>| {
        let mut plan = old.plan.clone();
        for arm in &mut plan.arms {
            let params = MmapLockParams::of(&arm.settings).unwrap();
            arm.settings = MmapLockParams { cpu_load, ..params }.settings();
        }
        plan
    };
    let open = with(Auto::Auto);
    let placed = Facts { plan: with(Auto::Is(Cpu::new(1))), ..old.clone() };
    let (plan, _) = undecided(placed.clone(), &open, &Machine::default()).unwrap();
    assert_eq!(plan.arms, placed.plan.arms);
    // A setting that the new plan fixes has to be what the old plan had.
    assert!(undecided(old, &placed.plan, &Machine::default()).is_none());
}

#[test]
fn a_study_goes_on_with_fixes_or_without() {
    let (without, machine) = (left_open(), Machine::default());
    let mut with = without.clone();
    let case = with.plan.arms.iter().find(|arm| arm.role == Role::Case).unwrap();
    with.plan.arms.push(Arm { id: "fix".to_owned(), role: Role::Fix, ..case.clone() });
    let (plan, record) = undecided(without.clone(), &with.plan, &machine).unwrap();
    assert_eq!((plan.arms, record.trials), (with.plan.arms.clone(), without.trials.clone()));
    let mut of_fix = with.trials[0].clone();
    of_fix.arm = "fix".to_owned();
    with.trials.push(of_fix);
    let (plan, record) = undecided(with, &without.plan, &machine).unwrap();
    assert_eq!((plan.arms, record.trials), (without.plan.arms, without.trials));
}

#[test]
fn what_is_not_the_same_study_is_left_alone() {
    let (old, machine) = (left_open(), Machine::default());
    let refused = |change: &dyn Fn(&mut Facts)| {
        let mut other = old.clone();
        change(&mut other);
        undecided(other, &old.plan, &machine).is_none()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|record| record.machine.kernel = "5.4".to_owned()));
    assert!(refused(&|record| record.tool.version = "0.0.1".to_owned()));
    assert!(refused(&|record| record.plan.judging.margin += 1.0));
    assert!(refused(&|record| record.plan.stop_when_settled = false));
    assert!(refused(&|record| record.machine.guest = Some(model::machine::Guest::default())));
    let settled = after(8);
    assert_eq!(scenarios::judge(&settled).state, State::Affected);
    assert!(undecided(settled.clone(), &settled.plan, &machine).is_none());
    // The blocks suffice, but no trial has `scan_bytes`: more blocks would not help.
    let mut spoilt = settled;
    let control = spoilt.control().unwrap().id.clone();
    for arm in spoilt.plan.arms.iter_mut().filter(|arm| arm.id != control) {
        arm.against = Some(control.clone());
    }
    for trial in &mut spoilt.trials {
        trial.observation.measures.remove("scan_bytes");
    }
    assert_eq!(scenarios::judge(&spoilt).state, State::Inconclusive);
    assert!(undecided(spoilt.clone(), &spoilt.plan, &machine).is_none());
    assert!(refused(&|record| record.trials.clear()));
    assert!(refused(&|record| {
        record.plan.arms.pop();
    }));
}
