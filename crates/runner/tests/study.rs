//! Studies of a fake scenario. It invents its figures instead of running loads, so nothing here
//! takes time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use host::Roots;
use model::record::Share;
use model::{
    Arm, Disturbance, Ended, Facts, Headline, Judged, Machine, Measure, Observation, Plan, Problem,
    Reason, Role, State, Unit, What,
};
use scenarios::mmap_lock::{META, MmapLockParams};
use scenarios::params::{Counts, Params};
use scenarios::{Context, Host, LoadSpawner, Scenario, ScenarioError, Summary, Tick, TrialResult};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;
use tailback_runner::{End, Event, Study, order_of_block};

thread_local! {
    /// What the arm `busy` loses, in milliseconds a second.
    static LOST: Cell<f64> = const { Cell::new(0.0) };
    /// Whether that arm hangs in every trial.
    static HANGS: Cell<bool> = const { Cell::new(false) };
    /// The trial, from 0, that breaks.
    static BREAKS: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The trial, from 0, during which the study is interrupted, after this time.
    static STUCK: Cell<(usize, Duration)> = const { Cell::new((usize::MAX, Duration::ZERO)) };
    /// How long a trial is expected to take.
    static EXPECTED: Cell<Duration> = const { Cell::new(Duration::from_secs(1)) };
    /// Trials so far.
    static TRIALS: Cell<usize> = const { Cell::new(0) };
}

/// A fake `mmap-lock`: its judge and its words, invented figures, and no children.
static FAKE: Scenario<MmapLockParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: |_| None,
    of_old_kernels: None,
    arms: |_, _| Ok(arms().into()),
    calibrate: None,
    cell: None,
    sketch: None,
    judging: None,
    expected: |_| EXPECTED.get(),
    warm_up: None,
    trial,
    review: None,
    summary: |_, _, _| Summary::default(),
};

fn trial(params: &MmapLockParams, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    if TRIALS.replace(TRIALS.get() + 1) == BREAKS.get() {
        return Err(ScenarioError::Broken(Problem::CpusUnread));
    }
    let (stuck, time) = STUCK.get();
    if TRIALS.get() == stuck.wrapping_add(1) {
        std::thread::sleep(time);
        return Err(ScenarioError::Interrupted);
    }
    (context.tick)(Tick { elapsed: Duration::from_millis(1), worst: Duration::ZERO });
    let alone = params.busy == Counts::one(0);
    let lost = if alone { 0.0 } else { LOST.get() };
    let hang = !alone && HANGS.get();
    let mut observation = Observation { window_ms: 250.0, hang, ..Observation::default() };
    let mut put = |name: &str, measure| observation.measures.insert(name.to_owned(), measure);
    put("stall", Measure::exact(lost, Unit::MillisecondsPerSecond));
    put("scan_bytes", Measure::exact(1.0, Unit::Bytes));
    Ok(TrialResult { observation, disturbance: Disturbance::default() })
}

fn arms() -> Vec<Arm<MmapLockParams>> {
    let arm = |id: &str, role, busy| Arm {
        id: id.to_owned(),
        role,
        against: None,
        settings: MmapLockParams { busy: Counts::one(busy), ..MmapLockParams::default() },
        change: None,
    };
    vec![arm("control", Role::Control, 0), arm("busy", Role::Case, 10)]
}

fn plan(max_blocks: u32, stop_when_settled: bool) -> Plan {
    Plan {
        arms: arms().into_iter().map(|arm| arm.map(|params| params.settings())).collect(),
        seed: 42,
        min_blocks: 6,
        max_blocks,
        stop_when_settled,
        judging: META.judging,
        ..model::testing::plan(&[])
    }
}

/// Runs a study; `on_event` gets its events and may ask for its end.
fn run(plan: Plan, keep: Option<&Path>, on_event: impl Fn(&Event) -> bool) -> (Judged, End) {
    run_for(Duration::from_secs(3600), None, plan, keep, on_event)
}

/// The same with this time budget, continuing after what a record holds.
fn run_for(
    time: Duration,
    before: Option<Facts>,
    plan: Plan,
    keep: Option<&Path>,
    on_event: impl Fn(&Event) -> bool,
) -> (Judged, End) {
    TRIALS.set(0);
    let roots = Roots::at("/nonexistent");
    let machine = Machine::default();
    let stop = Cell::new(false);
    let study = Study {
        probe: tailback_runner::ProbeWhen::Never,
        scenario: &FAKE,
        plan,
        time,
        host: Host { roots: &roots, machine: &machine, otps: &scenarios::erlang::Otps::default() },
        spawner: LoadSpawner::default(),
        argv: vec!["tailback".to_owned()],
        keep: keep.map(Path::to_owned),
        interrupted: &|| stop.get(),
    };
    let before = before.unwrap_or_else(|| study.facts());
    let result = study.go_on(before, &mut |event: Event<'_>| {
        if on_event(&event) {
            stop.set(true);
        }
    });
    BREAKS.set(usize::MAX);
    HANGS.set(false);
    result
}

/// A study whose record is saved nowhere.
fn unsaved(plan: Plan, host: Host<'_>) -> Study<'_> {
    Study {
        probe: tailback_runner::ProbeWhen::Never,
        scenario: &FAKE,
        plan,
        time: Duration::from_secs(3600),
        host,
        spawner: LoadSpawner::default(),
        argv: Vec::new(),
        keep: None,
        interrupted: &|| false,
    }
}

#[test]
fn a_stall_settles_after_the_least_number_of_blocks() {
    LOST.set(700.0);
    let (record, end) = run(plan(24, true), None, |_| false);
    assert!(matches!(end, End::Complete));
    assert_eq!((record.judgement.state, record.trials.len()), (State::Affected, 12));
    assert_eq!(record.ended, Ended::Complete);
}

#[test]
fn without_a_stall_it_goes_on_until_that_is_settled_or_the_blocks_are_used_up() {
    LOST.set(0.0);
    let (record, _) = run(plan(24, true), None, |_| false);
    assert_eq!((record.judgement.state, record.trials.len()), (State::NotAffected, 20));
    let (record, _) = run(plan(7, true), None, |_| false);
    assert_eq!((record.judgement.state, record.trials.len()), (State::Inconclusive, 14));
}

fn was_out_of_time(record: &Judged) -> bool {
    record.judgement.reasons.iter().any(|why| matches!(why, Reason::OutOfTime { .. }))
}

#[test]
fn a_study_whose_time_is_over_ends_after_the_block_and_says_why() {
    LOST.set(0.0);
    HANGS.set(true);
    let (record, end) = run_for(Duration::ZERO, None, plan(24, true), None, |_| false);
    assert!(matches!(end, End::Complete));
    assert_eq!((record.judgement.state, record.trials.len()), (State::Inconclusive, 2));
    assert_eq!(record.judgement.reasons.last(), Some(&Reason::OutOfTime { blocks: 1 }));
    // If all blocks were run, the time is not the reason for the end.
    let (record, _) = run(plan(3, true), None, |_| false);
    assert!(!was_out_of_time(&record));
    // A fixed number of blocks is run without a limit of time.
    let (record, _) = run_for(Duration::ZERO, None, plan(6, false), None, |_| false);
    assert_eq!(record.trials.len(), 12);
}

#[test]
fn an_arm_that_always_hangs_is_affected_after_five_blocks_where_the_time_is_over() {
    LOST.set(0.0);
    HANGS.set(true);
    let (record, _) = run(plan(4, true), None, |_| false);
    assert_eq!((record.judgement.state, record.trials.len()), (State::Inconclusive, 8));
    HANGS.set(true);
    let (record, _) = run_for(Duration::ZERO, Some(record.facts), plan(24, true), None, |_| false);
    assert_eq!((record.judgement.state, record.trials.len()), (State::Affected, 10));
    assert!(!was_out_of_time(&record));
}

#[test]
fn one_or_two_blocks_that_would_settle_it_begin_after_the_time() {
    LOST.set(0.0);
    // Ten blocks settle it.
    for (before, after) in [(6, 6), (7, 7), (8, 10), (9, 10)] {
        let (record, _) = run(plan(before, true), None, |_| false);
        let more = plan(24, true);
        let (record, _) = run_for(Duration::ZERO, Some(record.facts), more, None, |_| false);
        assert_eq!(record.trials.len(), 2 * after, "after {before} blocks");
        let state = if after == 10 { State::NotAffected } else { State::Inconclusive };
        assert_eq!(record.judgement.state, state);
    }
}

#[test]
fn a_verdict_is_told_once_when_it_stands_and_its_fix_is_measured_afterwards() {
    LOST.set(700.0);
    let control = plan(32, true).arms.swap_remove(0);
    let fix = model::Arm { id: "fix".to_owned(), role: Role::Fix, ..control };
    let mut plan = plan(32, true);
    (plan.settle_fixes, plan.arms) = (true, plan.arms.into_iter().chain([fix]).collect());
    let told = RefCell::new(Vec::new());
    let (record, _) = run(plan, None, |event| {
        if let Event::Stands { state, .. } = event {
            told.borrow_mut().push(*state);
        }
        false
    });
    assert_eq!(told.take(), [State::Affected]);
    let fix = &record.judgement.fixes[0];
    assert_eq!((fix.outcome, record.trials.len()), (model::FixOutcome::Fixed, 2 * 6 + 3 * 22));
    assert!(fix.left_at_most.is_some_and(|most| most < 0.15));
}

/// The blocks in which each arm of a study ran: control, case, a fix and a baseline.
fn blocks_of(plan: Plan, record: &Judged) -> [Vec<u32>; 4] {
    let blocks = |id: &str| {
        let of_arm = record.trials.iter().filter(|trial| trial.arm == id);
        of_arm.map(|trial| trial.block).collect()
    };
    let ids: Vec<String> = plan.arms.into_iter().map(|arm| arm.id).collect();
    [0, 1, 2, 3].map(|place: usize| blocks(&ids[place]))
}

fn with_fix_and_baseline(settle_fixes: bool, stop_when_settled: bool) -> Plan {
    let plan = plan(32, stop_when_settled);
    let control = plan.arms[0].clone();
    let arm = |id: &str, role| Arm { id: id.to_owned(), role, ..control.clone() };
    let more = [arm("fix", Role::Fix), arm("alone", Role::Baseline)];
    Plan { settle_fixes, arms: plan.arms.into_iter().chain(more).collect(), ..plan }
}

#[test]
fn what_a_verdict_does_not_need_runs_where_there_is_a_stall_and_now_and_then() {
    let ran = |settle_fixes, stop| {
        let plan = with_fix_and_baseline(settle_fixes, stop);
        let (record, _) = run(plan.clone(), None, |_| false);
        let shown: Vec<String> = record.judgement.arms.iter().map(|arm| arm.id.clone()).collect();
        (blocks_of(plan, &record), record, shown)
    };
    // Without a stall the fix does not run, and nothing of it is shown.
    LOST.set(0.0);
    let ([control, case, fix, alone], record, shown) = ran(true, true);
    assert_eq!(record.judgement.state, State::NotAffected);
    assert_eq!((control.len(), case.len(), fix.len()), (10, 10, 0));
    assert_eq!(alone, [0, 3, 6, 9]);
    assert_eq!(shown, ["control", "busy", "alone"]);
    // If the verdict ends the study, the fix runs unless the evidence is against a stall.
    let ([control, _, fix, _], ..) = ran(false, true);
    assert_eq!((control.len(), fix), (10, vec![0]));
    // A stall may show in another figure; the test looks at one figure only.
    let plan = with_fix_and_baseline(false, true);
    let also = vec![model::Judging { measure: "other".to_owned().into(), ..plan.judging.clone() }];
    let plan = Plan { also, max_blocks: 8, ..plan };
    let (record, _) = run(plan.clone(), None, |_| false);
    assert_eq!(blocks_of(plan, &record)[2].len(), 8);
    LOST.set(700.0);
    let ([control, _, fix, _], record, _) = ran(false, true);
    assert_eq!((control.len(), fix), (6, vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(record.judgement.fixes.len(), 1);
    // Otherwise the fix runs once the verdict stands.
    let ([control, _, fix, _], ..) = ran(true, true);
    assert_eq!((control.len(), fix), (28, (6..28).collect::<Vec<_>>()));
    // A fixed number of blocks runs everything.
    let (blocks, ..) = ran(true, false);
    assert!(blocks.iter().all(|of_arm| of_arm.len() == 32), "{blocks:?}");
}

#[test]
fn a_fix_of_which_few_trials_say_nothing_is_neither_told_nor_given_up() {
    LOST.set(700.0);
    let plan = with_fix_and_baseline(true, true);
    let until = |last: u32| {
        let end =
            |event: &Event| matches!(event, Event::BlockEnd { blocks, .. } if *blocks == last);
        let (record, _) = run(plan.clone(), None, end);
        let fixes = &record.judgement.fixes;
        (fixes.len(), scenarios::settled(&plan, &record.judgement))
    };
    // The verdict stands after six blocks.
    assert_eq!(until(6), (0, false));
    assert_eq!(until(8), (0, false));
    assert_eq!(until(12), (1, false));
}

#[test]
fn a_fixed_number_of_blocks_is_run_settled_or_not() {
    LOST.set(700.0);
    let (record, _) = run(plan(9, false), None, |_| false);
    assert_eq!(record.trials.len(), 18);
}

#[test]
fn each_block_runs_in_the_order_that_its_seed_draws() {
    LOST.set(700.0);
    let (record, _) = run(plan(9, false), None, |_| false);
    for (block, trials) in record.trials.chunks(2).enumerate() {
        let order = order_of_block(42, u32::try_from(block).unwrap(), 2);
        let names: Vec<&str> = trials.iter().map(|trial| trial.arm.as_str()).collect();
        let expected: Vec<&str> = order.iter().map(|i| ["control", "busy"][*i]).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn a_wash_out_runs_between_a_case_and_the_next_judged_trial() {
    LOST.set(700.0);
    let ran = RefCell::new(Vec::new());
    let washed = Plan { wash_out: true, ..plan(9, false) };
    let (record, _) = run(washed, None, |event| {
        if let Event::TrialBegin { arm, .. } = event {
            ran.borrow_mut().push((*arm).to_owned());
        }
        false
    });
    let ran = ran.take();
    assert!(ran.windows(2).all(|pair| pair[0] == "control" || pair[1] == "control"), "{ran:?}");
    // One wash-out at the start of each block, and one after each case that does not end its
    // block.
    let first = |trials: &[model::Trial]| usize::from(trials[0].arm == "busy");
    let washes = 9 + record.trials.chunks(2).map(first).sum::<usize>();
    assert_eq!((record.trials.len(), record.wash_outs.len(), ran.len()), (18, washes, 18 + washes));
    // Whether the last trial before this one, among `among`, was a case.
    let follows = |trial: &model::Trial, among: &[&model::Trial]| {
        let before = among.iter().filter(|other| other.started_ms < trial.started_ms);
        let last = before.max_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
        last.is_some_and(|last| last.arm == "busy")
    };
    let judged: Vec<&model::Trial> = record.trials.iter().collect();
    let all: Vec<&model::Trial> = record.trials.iter().chain(&record.wash_outs).collect();
    assert!(judged.iter().filter(|trial| follows(trial, &judged)).count() > 2);
    assert!(!judged.iter().any(|trial| follows(trial, &all)));
    let (plain, _) = run(plan(9, false), None, |_| false);
    assert!(plain.wash_outs.is_empty());
}

#[test]
fn an_interruption_keeps_every_finished_trial() {
    LOST.set(700.0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let third = |event: &Event| matches!(event, Event::TrialEnd { block: 2, .. });
    let (record, end) = run(plan(24, true), Some(&path), third);
    assert!(matches!(end, End::Interrupted));
    assert_eq!((&record.ended, record.trials.len()), (&Ended::Interrupted, 5));
    let kept = Facts::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept, record.facts);
}

#[test]
fn a_trial_that_breaks_ends_the_study_and_keeps_the_others() {
    LOST.set(700.0);
    BREAKS.set(7);
    let (record, end) = run(plan(24, true), None, |_| false);
    assert!(matches!(end, End::Broken(Problem::CpusUnread)));
    assert_eq!((record.judgement.state, record.trials.len()), (State::Untrustworthy, 7));
    assert_eq!(record.judgement.headline, Headline::Broken);
    let [Reason::Broke { error }, Reason::WouldHaveBeen { blocks: 3, headline, .. }] =
        record.judgement.reasons.as_slice()
    else {
        panic!("{:?}", record.judgement)
    };
    assert_eq!(**error, Problem::CpusUnread);
    assert!(matches!(**headline, Headline::Scenario(_)), "{headline:?}");
    assert_eq!(record.judgement.suggestions, [What::RunAgain.into()]);
    let read = Facts::from_json(&record.to_json()).unwrap();
    assert_eq!(scenarios::judge(&read), record.judgement, "its file must not forget what broke");
    // After six whole blocks the arm was affected. A broken study no longer says that of the arm.
    LOST.set(700.0);
    BREAKS.set(12);
    let (record, _) = run(plan(24, false), None, |_| false);
    let says = record.judgement.arms.iter().find(|arm| arm.id == "busy").unwrap().state;
    assert_eq!((record.judgement.state, says), (State::Untrustworthy, Some(State::Untrustworthy)));
}

#[test]
fn an_old_record_is_not_replaced_by_one_without_trials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, "old").unwrap();
    let (record, _) =
        run(plan(24, true), Some(&path), |event| matches!(event, Event::Begin { .. }));
    assert!(record.trials.is_empty());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn the_record_is_on_disk_after_every_block() {
    LOST.set(700.0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let blocks = Cell::new(0);
    let (record, _) = run(plan(6, false), Some(&path), |event| {
        if let Event::BlockEnd { .. } = event {
            blocks.set(blocks.get() + 1);
            let kept = Facts::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
            assert_eq!((kept.trials.len(), kept.ended), (2 * blocks.get(), Ended::Running));
        }
        false
    });
    assert_eq!(blocks.get(), 6);
    let kept = Facts::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept, record.facts);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_record_that_cannot_be_kept_is_told_and_the_study_goes_on() {
    LOST.set(700.0);
    let failures = Cell::new(0);
    let path = Path::new("/nonexistent/folder/a.json");
    let (record, end) = run(plan(6, false), Some(path), |event| {
        failures.set(failures.get() + i32::from(matches!(event, Event::NotSaved { .. })));
        false
    });
    assert!(matches!(end, End::Complete));
    assert_eq!((record.trials.len(), failures.get()), (12, 7));
}

#[test]
fn time_between_the_turns_of_a_study_is_not_its_own() {
    LOST.set(700.0);
    TRIALS.set(0);
    let (roots, machine) = (Roots::at("/nonexistent"), Machine::default());
    let otps = scenarios::erlang::Otps::default();
    let study = || unsaved(plan(24, true), Host { roots: &roots, machine: &machine, otps: &otps });
    let mut listener = |_: Event<'_>| ();
    let mut both = [study(), study()].map(|study| {
        let facts = study.facts();
        (study.begin(facts, &mut listener), Duration::ZERO)
    });
    let ends = loop {
        let ends = both.each_mut().map(|(underway, own)| {
            std::thread::sleep(Duration::from_millis(5));
            let began = std::time::Instant::now();
            let end = underway.turn(&mut listener);
            *own += began.elapsed();
            end
        });
        if ends.iter().all(Option::is_some) {
            break ends;
        }
    };
    for ((underway, own), end) in both.into_iter().zip(ends) {
        let (record, end) = underway.end(end.unwrap(), &mut listener);
        assert!(matches!(end, End::Complete));
        assert_eq!((record.judgement.state, record.trials.len()), (State::Affected, 12));
        assert!(record.elapsed_s <= own.as_secs_f64(), "{} of {own:?}", record.elapsed_s);
    }
}

#[test]
fn a_trial_that_hung_until_the_study_was_interrupted_is_not_forgotten() {
    let hangs = |time: Duration, expected: Duration| {
        LOST.set(0.0);
        EXPECTED.set(expected);
        STUCK.set((7, time));
        let (record, end) = run(plan(24, true), None, |_| false);
        STUCK.set((usize::MAX, Duration::ZERO));
        EXPECTED.set(Duration::from_secs(1));
        assert!(matches!(end, End::Interrupted));
        let hung = record.trials.iter().filter(|trial| trial.observation.hang).count();
        (record.trials.len(), hung)
    };
    assert_eq!(hangs(Duration::from_secs(1), Duration::from_millis(50)), (8, 1));
    assert_eq!(hangs(Duration::ZERO, Duration::from_secs(60)), (7, 0));
}

#[test]
fn a_study_that_goes_on_in_a_check_of_fewer_keeps_its_share_of_the_error_rate() {
    LOST.set(0.0);
    let mut of_nine = plan(3, true);
    of_nine.split_error_rate(9);
    let (record, _) = run(of_nine.clone(), None, |_| false);
    let (roots, machine) = (Roots::at("/nonexistent"), Machine::default());
    let otps = scenarios::erlang::Otps::default();
    let host = || Host { roots: &roots, machine: &machine, otps: &otps };
    let study = |plan: &Plan| unsaved(plan.clone(), host());
    let threshold_with = |study: Study, facts: Facts, (studies, affected): (u32, u32)| {
        let mut underway = study.begin(facts, &mut |_: Event<'_>| ());
        let share = Share { studies, affected, not_affected: 1 };
        underway.share_error_rate(share);
        underway.judgement().test.as_ref().unwrap().threshold.round()
    };
    let threshold = |study, facts, studies| threshold_with(study, facts, (studies, 1));
    assert_eq!(threshold(study(&of_nine), record.facts.clone(), 1), 180.0);
    assert_eq!(threshold(study(&of_nine), record.facts.clone(), 18), 360.0);
    let mut alone = record.facts.clone();
    alone.plan = plan(3, true);
    assert_eq!(threshold_with(study(&of_nine), alone, (9, 9)), 20.0, "it had all of the rate");
    let new = study(&of_nine);
    let facts = new.facts();
    assert_eq!(threshold(new, facts, 1), 20.0, "a new study has the share of its own check");
}
