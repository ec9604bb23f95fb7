//! A brief agrees with its record, can be judged again from its counts alone, and is short, for
//! any trials.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use analysis::sufficient::judge_brief;
use model::brief::MOST_BYTES;
use model::identity::HostName;
use model::machine::{CpuSteal, Disturbance};
use model::{
    Arm, Brief, Facts, Identity, Judged, Machine, Measure, Observation, Plan, Role, State, Trial,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tailback_scenarios::{self as scenarios, AnyScenario};

/// One trial: the lost time, whether it hung, and two shares of its time: without a CPU, and taken
/// by the hypervisor.
type Reading = (u16, bool, f64, f64);

/// A study of a scenario with its own settings and `cases` cases.
fn record(scenario: &dyn AnyScenario, cases: usize, readings: &[Reading], tainted: bool) -> Judged {
    let plan = plan(scenario, cases);
    let trials = trials(&plan, scenario, readings, tainted);
    let machine = Machine { kernel: "6.1.0".to_owned(), tainted: Some(0), ..Machine::default() };
    let facts = model::testing::facts(scenario.meta().id, plan, trials);
    scenarios::judged(Facts { elapsed_s: 60.0, machine, ..facts })
}

fn plan(scenario: &dyn AnyScenario, cases: usize) -> Plan {
    let settings = scenario.meta().defaults(false);
    let mut judging = scenario.judging(&settings).into_iter();
    let arm = |id: String, role, against: Option<&str>| Arm {
        id,
        role,
        against: against.map(str::to_owned),
        settings: settings.clone(),
        change: None,
    };
    let mut arms = vec![
        arm("control".to_owned(), Role::Control, None),
        arm("other-control".to_owned(), Role::Control, None),
    ];
    arms.extend((0..cases).map(|place| {
        let against = if place % 2 == 0 { "control" } else { "other-control" };
        arm(format!("case-{place}"), Role::Case, Some(against))
    }));
    arms.push(arm("fix".to_owned(), Role::Fix, Some("control")));
    let first = judging.next().unwrap_or_else(|| scenario.meta().judging.clone());
    let mut plan = Plan {
        arms,
        seed: 7,
        min_blocks: 6,
        max_blocks: 32,
        stop_when_settled: true,
        error_rate: None,
        settle_fixes: false,
        wash_out: false,
        judging: first,
        also: judging.collect(),
        left_out: Vec::new(),
    };
    plan.split_error_rate(2);
    plan
}

fn trials(
    plan: &Plan,
    scenario: &dyn AnyScenario,
    readings: &[Reading],
    tainted: bool,
) -> Vec<Trial> {
    let mut readings = readings.iter().cycle();
    let mut all = Vec::new();
    for block in 0..20 {
        for arm in &plan.arms {
            let (lost, hang, absent, stolen) = *readings.next().unwrap();
            let has_cause = arm.role == Role::Case;
            let value = f64::from(if has_cause { lost } else { lost % 16 });
            let hang = hang && has_cause;
            let measures = scenario
                .meta()
                .measures
                .iter()
                .map(|m| (m.name.to_owned(), Measure { value, unit: m.unit, at_least: hang }));
            let observation = Observation {
                window_ms: 1000.0,
                hang,
                measures: measures.collect(),
                ..Observation::default()
            };
            let disturbance = Disturbance {
                over_ms: Some(1000.0),
                run_delay_ms: Some(absent * 1000.0),
                steal_by_cpu: vec![CpuSteal { cpu: 0, ms: stolen * 1000.0 }],
                tainted: Some(u64::from(tainted && block > 3) * 512),
                ..Disturbance::default()
            };
            all.push(Trial {
                block,
                arm: arm.id.clone(),
                started_ms: all.len() as f64,
                took_ms: 1000.0,
                observation,
                disturbance,
            });
        }
    }
    all
}

/// Checks that the brief of a record agrees with it. Returns the verdict.
fn assert_alike(record: Judged) -> State {
    let brief = scenarios::brief(&record, Identity::default(), None);
    assert_eq!(brief.verdict.state, record.judgement.state);
    assert_eq!(judge_brief(&brief), Some(record.judgement.state), "{brief:?}");
    let line = brief.to_line();
    assert!(line.len() <= MOST_BYTES, "{}: {} bytes", record.scenario, line.len());
    assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
    assert_eq!(serde_json::from_str::<Brief>(&line).unwrap(), brief);
    record.judgement.state
}

/// Quiet trials, trials that hang, trials of threads without a CPU, and trials with steal.
fn readings() -> impl Strategy<Value = Vec<Reading>> {
    (0u8..4, 0u16..4).prop_flat_map(|(kind, size)| {
        let lost = prop_oneof![3 => Just(size * 150), 1 => 0u16..600];
        let share = |on: bool| if on { (0.0..1.0f64).boxed() } else { Just(0.0).boxed() };
        let hang = prop::bool::weighted(if kind == 1 { 0.4 } else { 0.0 });
        prop::collection::vec((lost, hang, share(kind == 2), share(kind == 3)), 40..80)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_brief_is_judged_as_its_record(
        place in 0..scenarios::ALL.len(),
        cases in 1usize..4,
        readings in readings(),
        tainted in prop::bool::weighted(0.1),
    ) {
        assert_alike(record(scenarios::ALL[place], cases, &readings, tainted));
    }
}

/// Otherwise the property above might hold only for one kind of answer.
#[test]
fn all_answers_come_by() {
    let of = |name: &str, readings: &[Reading]| {
        assert_alike(record(scenarios::find(name).unwrap(), 1, readings, false)).word()
    };
    let found: BTreeSet<&str> = [
        of("preempted-holder", &[(0, false, 0.0, 0.0)]),
        of("mmap-lock", &[(590, false, 0.0, 0.0)]),
        of("mmap-lock", &[(590, false, 0.9, 0.0)]),
    ]
    .into();
    let wanted = ["affected", "not-affected", "untrustworthy"];
    assert!(wanted.iter().all(|word| found.contains(word)), "{found:?}");
}

#[test]
fn a_study_of_many_arms_is_cut_to_size_and_says_so() {
    let record = record(scenarios::ALL[0], 100, &[(500, false, 0.0, 0.0)], false);
    let brief = scenarios::brief(&record, Identity::default(), None);
    assert!(brief.to_line().len() <= MOST_BYTES);
    let left_out = brief.left_out.unwrap();
    assert_eq!(left_out.arms as usize + brief.arms.len(), 103, "{left_out:?}");
    assert_eq!(brief.plan.arms, 103);
    assert_eq!(judge_brief(&brief).is_none(), left_out.tests);
}

#[test]
fn endless_names_do_not_make_it_endless() {
    let record = record(scenarios::ALL[0], 1, &[(500, false, 0.0, 0.0)], false);
    let identity = Identity { kernel: "x".repeat(1 << 20), ..Identity::default() };
    let name = HostName::Name("web1".to_owned());
    let brief = scenarios::brief(&record, identity, Some(name));
    assert!(brief.to_line().len() <= MOST_BYTES);
}

#[test]
fn the_same_plan_has_the_same_hash_whatever_its_seed() {
    let one = record(scenarios::ALL[0], 1, &[(500, false, 0.0, 0.0)], false);
    let mut other = one.clone();
    other.plan.seed = 8;
    let hash = |record: &Judged| scenarios::brief(record, Identity::default(), None).plan.sha256;
    assert_eq!(hash(&one), hash(&other));
    other.plan.max_blocks += 1;
    assert_ne!(hash(&one), hash(&other));
}
