//! Going on with a study that was left undecided, with a fake scenario that makes its figures up.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_scenario;

use fake_scenario::{FILE, read, run};
use model::{Machine, Record, State};
use scenarios::mmap_lock::MmapLockParams;
use scenarios::params::{Auto, Cpu, Params};
use tailback_runner::undecided;

/// A record of a study without factors that ended undecided after some blocks.
fn left_open() -> Record {
    let folder = tempfile::tempdir().unwrap();
    let mut design = read(FILE).unwrap();
    design.exactly(3);
    let (mut record, _) = run(&design, None, &folder.path().join("a.json"), |_| false);
    record.factorial = None;
    record.plan.stop_when_settled = true;
    record.verdict.state = State::Inconclusive;
    let test = record.verdict.test.as_mut().unwrap();
    (test.evidence_affected, test.evidence_not_affected) = (1.0, 1.0);
    record
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
    // A block that is not whole is run again.
    let mut torn = old.clone();
    torn.trials.pop();
    let (plan, record) = undecided(torn, &wanted, &Machine::default()).unwrap();
    assert_eq!(plan.max_blocks, 26);
    assert!(record.trials.iter().all(|trial| trial.block < 2));
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
    let placed = Record { plan: with(Auto::Is(Cpu::new(1))), ..old.clone() };
    let (plan, _) = undecided(placed.clone(), &open, &Machine::default()).unwrap();
    assert_eq!(plan.arms, placed.plan.arms);
    // What the new one asks for has to be what the old one had.
    assert!(undecided(old, &placed.plan, &Machine::default()).is_none());
}

#[test]
fn what_is_not_the_same_study_is_left_alone() {
    let (old, machine) = (left_open(), Machine::default());
    let refused = |change: &dyn Fn(&mut Record)| {
        let mut other = old.clone();
        change(&mut other);
        undecided(other, &old.plan, &machine).is_none()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|record| record.verdict.state = State::Affected));
    assert!(refused(&|record| record.host.kernel = "5.4".to_owned()));
    assert!(refused(&|record| record.tool.version = "0.0.1".to_owned()));
    assert!(refused(&|record| record.plan.judging.margin += 1.0));
    assert!(refused(&|record| record.plan.stop_when_settled = false));
    assert!(refused(&|record| record.host.guest = Some(model::machine::Guest::default())));
    assert!(refused(&|record| {
        record.verdict.test.as_mut().unwrap().evidence_not_affected = 1e6;
    }));
    assert!(refused(&|record| record.trials.clear()));
    assert!(refused(&|record| {
        record.plan.arms.pop();
    }));
}
