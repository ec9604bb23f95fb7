//! Tests of the join with constructed events.

use super::*;
use crate::event::EventKind;
use crate::history::tests::ran;
use proptest::prelude::*;

const LOCK: u64 = 0xABCD;

fn named(event: &Event) -> String {
    event.name.clone()
}

fn waited(tid: u32, from: u64, to: u64) -> Event {
    Event { kind: EventKind::Waited, space: LOCK, write: true, ..ran(tid, 0, from, from, to) }
}

/// A hold. Its thread became runnable at `runnable` and has run since `running`, up to the end of
/// the hold.
fn hold(tid: u32, cpu: u32, times: (u64, u64), runnable: u64, running: u64) -> Event {
    let (from, to) = times;
    Event {
        kind: EventKind::Held,
        space: LOCK,
        from,
        to,
        running,
        ..ran(tid, cpu, runnable, from, to)
    }
}

fn name_by_thread(event: &Event) -> String {
    if event.tid >= 100 { "spinner".to_owned() } else { event.name.clone() }
}

/// A reader is preempted by two spinners while it holds the lock, then runs and releases it.
fn preempted_reader() -> History {
    let mut history = History::default();
    history.add(ran(7, 1, 0, 0, 15));
    history.add(ran(100, 1, 0, 15, 60));
    history.add(ran(101, 1, 0, 60, 95));
    history.add(hold(7, 1, (10, 100), 15, 95));
    history
}

#[test]
fn a_preempted_holder_is_named_with_those_it_stood_behind() {
    let joined = join(&waited(1, 20, 101), &preempted_reader(), &name_by_thread);
    let [holder] = &joined.holders[..] else { panic!("{:?}", joined.holders) };
    assert_eq!((holder.who.tid, holder.overlap()), (7, 80));
    assert_eq!(holder.spent(Doing::Runnable), 75);
    assert_eq!(holder.spent(Doing::Running), 5);
    assert_eq!(holder.spent(Doing::Blocked), 0);
    assert_eq!(holder.waited_for(), Some(1));
    assert_eq!(holder.behind["spinner"], (BTreeSet::from([100, 101]), 75));
    assert_eq!(joined.covered, 80);
    assert_eq!((joined.split.running, joined.split.preempted, joined.split.blocked), (5, 75, 0));
    assert_eq!(joined.split.behind["spinner"].1, 75);
}

#[test]
fn a_reader_that_was_given_the_lock_holds_it_before_it_runs() {
    let mut history = History::default();
    history.add(ran(100, 1, 0, 0, 90));
    // Asleep until 30, given the lock at 30, on the CPU at 90.
    history.add(hold(7, 1, (30, 100), 30, 90));
    let joined = join(&waited(1, 20, 101), &history, &name_by_thread);
    assert_eq!(joined.covered, 70);
    assert_eq!(joined.holders[0].spent(Doing::Runnable), 60);
    assert_eq!(joined.holders[0].behind["spinner"].1, 60);
}

#[test]
fn the_waiter_itself_other_locks_and_other_times_hold_nothing_up() {
    let mut history = History::default();
    history.add(hold(1, 0, (10, 90), 10, 10));
    history.add(Event { space: 1, ..hold(7, 1, (10, 90), 10, 10) });
    history.add(hold(8, 1, (0, 20), 0, 0));
    let joined = join(&waited(1, 20, 80), &history, &named);
    assert!(joined.holders.is_empty());
    assert_eq!(joined.covered, 0);
}

#[test]
fn where_one_holder_runs_and_another_sleeps_the_wait_counts_once() {
    let mut history = History::default();
    history.add(ran(8, 2, 0, 0, 30));
    history.add(hold(7, 1, (0, 60), 0, 0));
    history.add(Event { preempted: false, ..hold(8, 2, (0, 100), 70, 90) });
    let joined = join(&waited(1, 0, 100), &history, &named);
    assert_eq!(joined.covered, 100);
    // Thread 7 runs until 60; thread 8 sleeps until 70, is runnable until 90, and runs.
    assert_eq!((joined.split.running, joined.split.blocked, joined.split.preempted), (70, 10, 20));
}

#[test]
fn a_waiter_that_was_woken_and_not_run_holds_itself_up() {
    let wait = Event { runnable: 90, running: 120, ..waited(1, 20, 121) };
    let joined = join(&wait, &preempted_reader(), &name_by_thread);
    assert_eq!((joined.covered, joined.own), (80, 20), "held until 100, run at 120");
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let time = 0u64..1000;
    let one = (0u32..6, 0u32..3, any::<bool>(), prop::collection::vec(time, 4));
    prop::collection::vec(one, 0..60).prop_map(|many| {
        let mut events: Vec<Event> = many
            .into_iter()
            .map(|(tid, cpu, is_hold, mut times)| {
                if is_hold {
                    times.sort_unstable();
                    hold(tid, cpu, (times[0], times[3]), times[1], times[2])
                } else {
                    ran(tid, cpu, times[0], times[1], times[2].max(times[1]))
                }
            })
            .collect();
        events.sort_by_key(|event| event.to);
        events
    })
}

proptest! {
    /// For any events, even impossible ones: events are lost, and the clocks of CPUs differ.
    #[test]
    fn no_time_is_made_up(events in events(), from in 0u64..1000, took in 0u64..1000) {
        let mut history = History::default();
        events.into_iter().for_each(|event| history.add(event));
        let joined = join(&waited(0, from, from + took), &history, &named);
        prop_assert!(joined.covered + joined.own <= took);
        let split = &joined.split;
        prop_assert!(split.running + split.preempted + split.blocked <= joined.covered);
        for holder in &joined.holders {
            let spent: u64 = [Doing::Running, Doing::Runnable, Doing::Blocked]
                .iter()
                .map(|doing| holder.spent(*doing))
                .sum();
            prop_assert!(spent <= holder.overlap(), "{holder:?}");
            prop_assert!(holder.overlap() <= joined.covered);
        }
    }
}
