//! The rules of the controller, one by one.

use crate::config::Config;
use crate::controller::Controller;
use crate::era::Era;

const MS: u64 = 1_000_000;

/// A quota of 10 ms per 100 ms on four CPUs, with the first refill after 100 ms.
fn controller(era: Era, change: impl FnOnce(&mut Config)) -> Controller {
    let mut config = Config::new(4, era);
    change(&mut config);
    Controller::new(&config, config.period_ns)
}

fn plain(era: Era) -> Controller {
    controller(era, |_| {})
}

fn remaining(controller: &Controller, cpu: usize) -> i64 {
    controller.locals[cpu].remaining
}

/// CPU 0 uses up the pool and is throttled, with 2 ms of debt.
fn exhaust(controller: &mut Controller) {
    controller.enter(0, 0);
    controller.account(0, 12 * MS, 12 * MS);
    assert!(!controller.may_run(0));
    assert!(controller.throttle(0, 12 * MS));
}

#[test]
fn a_cpu_takes_a_slice_and_owes_what_it_ran_beyond() {
    let mut controller = plain(Era::G);
    controller.enter(0, 0);
    assert_eq!((controller.pool, remaining(&controller, 0)), (5 * MS, 5 * MS as i64));
    // After 7 ms of running with 2 ms of debt, the pool pays the debt and as much of a slice as
    // it can.
    controller.account(0, 7 * MS, 7 * MS);
    assert_eq!((controller.pool, remaining(&controller, 0)), (0, 3 * MS as i64));
}

#[test]
fn the_last_task_leaves_a_millisecond_behind() {
    let mut controller = plain(Era::G);
    controller.enter(0, 0);
    controller.account(0, MS / 2, MS / 2);
    controller.leave(0, MS / 2);
    assert_eq!(remaining(&controller, 0), MS as i64);
    assert_eq!(controller.pool, 8 * MS + MS / 2);
    assert_eq!(controller.stranded.most, MS);
}

#[test]
fn a_slice_expires_in_era_b_only() {
    for era in Era::ALL {
        let mut controller = plain(era);
        controller.enter(0, 0);
        controller.account(0, MS / 2, MS / 2);
        controller.leave(0, MS / 2);
        controller.enter(1, MS);
        controller.account(1, 50 * MS, 1);
        controller.on_period_timer(100 * MS);
        controller.enter(0, 150 * MS);
        let expired = if era == Era::B { MS } else { 0 };
        assert_eq!(controller.tally.expired, expired, "{era:?}");
    }
}

#[test]
fn before_its_period_has_passed_a_slice_lives_a_tick_longer() {
    let mut controller = plain(Era::B);
    controller.enter(0, 0);
    controller.account(0, 101 * MS, MS);
    assert_eq!(controller.locals[0].deadline, 104 * MS);
    assert_eq!(remaining(&controller, 0), 4 * MS as i64);
}

#[test]
fn a_debt_is_carried_into_the_next_period() {
    let mut controller = plain(Era::G);
    exhaust(&mut controller);
    controller.on_period_timer(100 * MS);
    assert_eq!(controller.unthrottled.pop_front(), Some(0));
    assert_eq!((controller.pool, remaining(&controller, 0)), (8 * MS - 1, 1));
    assert_eq!((controller.tally.throttled_periods, controller.tally.throttled_ns), (1, 88 * MS));
}

#[test]
fn the_race_pays_from_a_snapshot_that_others_spend_meanwhile() {
    for era in Era::ALL {
        let mut controller = plain(era);
        exhaust(&mut controller);
        controller.on_period_timer(100 * MS);
        if era >= Era::D {
            assert_eq!((controller.step_at, controller.tally.overdrawn), (None, 0));
            continue;
        }
        let at = controller.step_at.unwrap();
        // Two CPUs empty the pool before CPU 0 is visited.
        controller.enter(1, 100 * MS);
        controller.enter(2, 100 * MS);
        controller.on_distribution_step(at);
        assert_eq!(controller.unthrottled.pop_front(), Some(0));
        assert_eq!((controller.pool, controller.tally.overdrawn), (0, 2 * MS + 1), "{era:?}");
    }
}

#[test]
fn a_last_chance_takes_no_more_than_a_nanosecond_beyond_the_debt() {
    for era in [Era::D, Era::E] {
        let mut controller = plain(era);
        controller.enter(0, 0);
        controller.account(0, 12 * MS, 12 * MS);
        // CPU 1 returns runtime between the accounting and the throttling of CPU 0.
        controller.pool = 3 * MS;
        let throttled = controller.throttle(0, 12 * MS);
        assert_eq!(throttled, era < Era::E);
        assert_eq!(remaining(&controller, 0) > 0, era >= Era::E);
    }
}

#[test]
fn what_is_given_back_reaches_throttled_cpus_by_the_slack_timer() {
    let mut controller = controller(Era::G, |c| c.quota_ns = Some(12 * MS));
    controller.enter(1, 0);
    controller.enter(2, 0);
    controller.enter(0, 0);
    controller.account(0, 4 * MS, 4 * MS);
    assert!(controller.throttle(0, 4 * MS));
    controller.account(1, 5 * MS, 1);
    controller.leave(1, 5 * MS);
    assert_eq!(controller.slack_at, None, "4 ms are less than a slice");
    controller.account(2, 6 * MS, 1);
    controller.leave(2, 6 * MS);
    assert_eq!(controller.slack_at, Some(11 * MS));
    controller.on_slack_timer(11 * MS);
    assert_eq!(controller.unthrottled.pop_front(), Some(0));
}

#[test]
fn the_slack_timer_keeps_away_from_a_refill_and_was_once_pushed_back() {
    for (era, second) in [(Era::A, 13 * MS), (Era::C, 11 * MS)] {
        let mut controller = plain(era);
        exhaust(&mut controller);
        let mut give_back = |now: u64| {
            controller.pool = 6 * MS;
            controller.locals[1].remaining = 2 * MS as i64;
            controller.leave(1, now);
            controller.enter(1, now);
            controller.slack_at
        };
        assert_eq!(give_back(6 * MS), Some(11 * MS));
        assert_eq!(give_back(8 * MS), Some(second), "{era:?}");
        controller.slack_at = None;
        controller.pool = 6 * MS;
        controller.locals[2].remaining = 2 * MS as i64;
        controller.leave(2, 94 * MS);
        assert_eq!(controller.slack_at, None);
        controller.on_slack_timer(99 * MS);
        assert!(controller.unthrottled.is_empty());
    }
}

#[test]
fn the_period_timer_stops_after_an_idle_period_and_starts_on_its_grid() {
    let mut controller = plain(Era::G);
    controller.enter(0, 0);
    controller.leave(0, MS);
    controller.on_period_timer(100 * MS);
    assert_eq!(controller.period_at, Some(200 * MS));
    controller.on_period_timer(200 * MS);
    assert_eq!((controller.period_at, controller.tally.periods), (None, 2));
    controller.enter(1, 450 * MS);
    assert_eq!(controller.period_at, Some(500 * MS));
}

#[test]
fn a_burst_is_kept_up_to_its_limit() {
    let mut controller = controller(Era::F, |c| c.burst_ns = 4 * MS);
    assert_eq!(controller.pool, 14 * MS);
    controller.enter(0, 0);
    controller.account(0, 12 * MS, 12 * MS);
    controller.on_period_timer(100 * MS);
    // All 14 ms were used; 4 ms of them came from the burst.
    assert_eq!((controller.pool, controller.tally.burst_ns), (10 * MS, 4 * MS));
    controller.leave(0, 101 * MS);
    controller.on_period_timer(200 * MS);
    assert_eq!((controller.pool, controller.tally.unused), (14 * MS, 7 * MS));
}

#[test]
fn a_throttled_cpu_asks_for_nothing_from_era_c_on() {
    for era in [Era::B, Era::C] {
        let mut controller = plain(era);
        exhaust(&mut controller);
        controller.pool = 4 * MS;
        controller.account(0, 13 * MS, 0);
        assert_eq!(controller.may_run(0), era == Era::B);
    }
}

#[test]
fn who_is_throttled_last_is_served_first_up_to_4_18() {
    for (newest_first, first) in [(true, 1), (false, 0)] {
        let mut controller = controller(Era::C, |config| {
            config.rules.newest_first = newest_first;
            config.distribution_step_ns = 0;
        });
        controller.enter(0, 0);
        controller.account(0, 12 * MS, 12 * MS);
        assert!(controller.throttle(0, 12 * MS));
        controller.enter(1, 13 * MS);
        assert!(controller.throttle(1, 13 * MS));
        controller.on_period_timer(100 * MS);
        assert_eq!(controller.unthrottled.front(), Some(&first));
    }
}
