//! Going on with a study that was left undecided, with a scenario that plays figures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod player;

use model::{Machine, Record, State};
use player::{FILE, read, run};
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
    assert!(refused(&|record| record.trials.clear()));
    assert!(refused(&|record| {
        record.plan.arms.pop();
    }));
}
