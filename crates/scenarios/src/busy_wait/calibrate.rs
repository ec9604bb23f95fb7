//! The request rate, chosen for the quota and for this machine.
//!
//! A fixed request rate is nothing to one machine and too much for another. So before the first
//! trial, a node without busy waiting serves three rates without a quota. The CPU time that its
//! group is charged for each rate shows at which rate the control uses [`SHARE`] of the quota. The
//! first reading gives the second rate, and the line through both gives the third. The result is
//! the target divided by the mean cost of a request at the second and the third rate. The line
//! alone is not enough: if both readings are off by a tenth, it may be off by half.

use super::params::{BusyWaitParams, Load};
use super::plan::{self, TrialSpec};
use super::sentences::BusyWaitFact;
use super::trial;
use crate::params::{Auto, Decimal};
use crate::{Host, ScenarioError, erlang, quota};
use beam::Node;
use clap::ValueEnum as _;
use host::cgroup::{BandwidthGroup, ParentGroup};
use host::governor::Governor;
use model::{Arm, Problem};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The part of its quota that the control should use. It is high enough that extra spinning
/// exceeds the quota. It is low enough that requests which arrive together by chance seldom use up
/// the rest.
///
/// The basis are trials of one second on 2 CPUs, with a quota of half a CPU and one process of
/// background work. They are grouped by the quota that the control used on average. Below 55%,
/// requests were not slow with the VM's defaults in 8 of 19 trials. From 55 to 84%, they were not
/// slow with the defaults in 11 of 162 trials, and slow without busy waiting in 2. Above 84%, they
/// were slow without busy waiting in 7 of 25. If a request costs more, fewer requests arrive, and
/// a scheduler sleeps before the next one. A second process of background work wakes it. With two
/// such processes and 64 to 69% used, requests were slow with the defaults in all 24 trials.
const SHARE: f64 = 0.65;

/// How long each rate is served.
const TIME: Duration = Duration::from_millis(500);

/// The start of each rate is not counted, because the node is still warming up.
const WARM_UP: Duration = Duration::from_millis(90);

/// The first rate, for each CPU of the quota.
const FIRST_RATE: f64 = 5000.0;

/// Limits of the request rate.
const RATES: (f64, f64) = (20.0, 10_000_000.0);

/// A request rate, and the number of CPUs that it used.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    rate: f64,
    cpus: f64,
}

/// Sets the rate of the arms that leave it open. There is one rate for each kind of request,
/// because arms are compared with each other. It fits the smallest quota of these arms.
pub(super) fn calibrate(
    arms: &mut [Arm<BusyWaitParams>],
    host: &Host,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), ScenarioError> {
    for load in Load::value_variants() {
        let is_open =
            |params: &&mut BusyWaitParams| params.load == *load && params.rate == Auto::Auto;
        let mut open: Vec<&mut BusyWaitParams> =
            arms.iter_mut().map(|arm| &mut arm.settings).filter(is_open).collect();
        let quotas = open.iter().filter_map(|params| params.quota.get()).map(Decimal::get);
        let quota = quotas.fold(f64::INFINITY, f64::min);
        let Some(first) = open.first().filter(|_| quota.is_finite()) else { continue };
        let spec = plan::spec(&first.without_spinning(), host)?;
        let rate = Auto::Is(measured(&spec, quota, host, interrupted)?);
        open.iter_mut().for_each(|params| params.rate = rate);
    }
    Ok(())
}

/// The rate at which a node of this spec uses [`SHARE`] of the quota.
fn measured(
    spec: &TrialSpec,
    quota: f64,
    host: &Host,
    interrupted: &dyn Fn() -> bool,
) -> Result<u32, ScenarioError> {
    // The same governor as in a trial, because the cost of a request depends on the CPU's clock.
    let _governor = Governor::performance(host.roots);
    // The group only counts the CPU time of everything that the node starts. It limits nothing.
    let home = ParentGroup::find(host.roots).map_err(quota::broken)?;
    let group = BandwidthGroup::create(&home).map_err(quota::broken)?;
    let options = trial::node_options(spec, Some(&group));
    let mut node = erlang::start(&spec.vm, options, interrupted)?;
    let target = SHARE * quota;
    let first = quota * FIRST_RATE;
    let first = served(spec, first, &mut node, &group, interrupted)?;
    let second = served(spec, next(target, first), &mut node, &group, interrupted)?;
    let third = served(spec, solved(target, first, second), &mut node, &group, interrupted)?;
    drop(node);
    group.remove().map_err(quota::broken)?;
    Ok(rounded(corrected(target, second, third)))
}

/// The number of CPUs that a node uses to serve this rate.
fn served(
    spec: &TrialSpec,
    rate: f64,
    node: &mut Node,
    group: &BandwidthGroup,
    interrupted: &dyn Fn() -> bool,
) -> Result<Point, ScenarioError> {
    let rate = rate.clamp(RATES.0, RATES.1).round();
    let spec =
        TrialSpec { rate: rate as u32, duration: TIME, settle: Duration::ZERO, ..spec.clone() };
    let began: RefCell<Option<Instant>> = RefCell::new(None);
    let readings: RefCell<Vec<(Duration, u64)>> = RefCell::default();
    let mut ready = |at: Instant, _| *began.borrow_mut() = Some(at);
    let asked = || {
        if let (Some(began), Some(used)) = (*began.borrow(), group.usage().usage_ns) {
            readings.borrow_mut().push((began.elapsed(), used));
        }
        interrupted()
    };
    let options = vec![trial::options(&spec, 1)];
    let limit = TIME + trial::PATIENCE;
    let answer = node
        .call("tailback_requests", "run", options, limit, &asked, &mut ready)
        .map_err(erlang::failed)?;
    erlang::answer(&answer)?;
    let cpus = share(&readings.into_inner())
        .ok_or_else(|| ScenarioError::Broken(Problem::Scenario(BusyWaitFact::NoCost.into())))?;
    Ok(Point { rate, cpus })
}

/// CPUs used between the first reading after the warm-up and the last reading before the end.
fn share(readings: &[(Duration, u64)]) -> Option<f64> {
    let mut inside = readings.iter().filter(|(at, _)| (WARM_UP..=TIME).contains(at));
    let (from, before) = inside.next()?;
    let (until, after) = inside.next_back()?;
    let seconds = until.checked_sub(*from)?.as_secs_f64();
    let used = after.checked_sub(*before)? as f64 / 1e9;
    (seconds > 0.0 && used > 0.0).then_some(used / seconds)
}

/// The second rate, if CPU time were proportional to the rate.
fn next(target: f64, first: Point) -> f64 {
    first.rate * (target / first.cpus).clamp(0.1, 10.0)
}

/// The rate for a target, on the line through two points.
///
/// A part of the CPU time does not depend on the rate, such as that of the background work. If the
/// two rates are too close for a line, or the line makes no sense, CPU time counts as proportional
/// to the rate.
fn solved(target: f64, first: Point, second: Point) -> f64 {
    let slope = (second.cpus - first.cpus) / (second.rate - first.rate);
    let of_all = second.cpus / second.rate;
    let apart = (second.rate / first.rate).ln().abs() > 0.3;
    let sound = slope.is_finite() && (0.3 * of_all..=1.3 * of_all).contains(&slope);
    let rate = match apart && sound {
        true => second.rate + (target - second.cpus) / slope,
        false => target / of_all,
    };
    rate.clamp(second.rate / 2.0, second.rate * 2.0).clamp(RATES.0, RATES.1)
}

/// The rate for a target, from two rates that were both chosen for it. The cost of a request
/// differs by a sixth from one half second to the next.
///
/// This assumes that CPU time is proportional to the rate. So it corrects too little if a part of
/// the CPU time does not depend on the rate.
fn corrected(target: f64, second: Point, third: Point) -> f64 {
    let cost = (second.cpus / second.rate + third.cpus / third.rate) / 2.0;
    (target / cost).clamp(third.rate / 2.0, third.rate * 2.0).clamp(RATES.0, RATES.1)
}

/// Rounds to two digits. Such a short calibration is not more precise.
fn rounded(rate: f64) -> u32 {
    let step = 10f64.powf(rate.max(1.0).log10().floor() - 1.0).max(1.0);
    ((rate / step).round() * step) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_takes_its_share_whatever_a_request_costs() {
        // A background load of 2% of a CPU, and requests of 5 us to 2 ms.
        for cost in [5e-6, 40e-6, 2e-3] {
            let machine = |rate: f64| Point { rate, cpus: 0.02 + rate * cost };
            let first = machine(2500.0);
            let second = machine(next(0.3, first).round());
            let third = machine(solved(0.3, first, second).round());
            let rate = corrected(0.3, second, third);
            let used = machine(rounded(rate).into()).cpus;
            assert!((0.24..=0.36).contains(&used), "{cost}: {used} at {rate}");
        }
    }

    #[test]
    fn readings_that_are_off_move_the_rate_by_little_more() {
        let machine = |rate: f64, off: f64| Point { rate, cpus: (0.1 + rate * 30e-6) * off };
        let off = |choice: usize| [0.85, 1.0, 1.15][choice % 3];
        for choice in 0..27 {
            let (one, two, three) = (off(choice), off(choice / 3), off(choice / 9));
            let first = machine(2500.0, one);
            let second = machine(next(0.3, first), two);
            let third = machine(solved(0.3, first, second), three);
            let used = machine(corrected(0.3, second, third), 1.0).cpus;
            assert!((0.22..=0.4).contains(&used), "{one} {two} {three}: {used}");
        }
    }

    #[test]
    fn one_reading_that_is_off_counts_half() {
        let machine = |rate: f64, off: f64| Point { rate, cpus: rate * 60e-6 * off };
        let rate = |off| corrected(SHARE / 2.0, machine(5000.0, 1.0), machine(5000.0, off));
        let moved = rate(1.0) / rate(1.2);
        assert!((1.09..=1.11).contains(&moved), "{moved}");
    }

    #[test]
    fn rates_that_make_no_line_are_taken_in_proportion() {
        let first = Point { rate: 2500.0, cpus: 0.3 };
        let rate = |second| rounded(solved(0.3, first, second));
        assert_eq!(rate(Point { rate: 2600.0, cpus: 0.26 }), 3000);
        assert_eq!(rate(Point { rate: 5000.0, cpus: 0.3 }), 5000);
    }

    #[test]
    fn only_what_is_read_while_requests_arrive_counts() {
        let ms = Duration::from_millis;
        let readings = [(10, 0), (100, 500), (250, 60_000_500), (350, 100_000_500), (550, 1 << 40)];
        let readings = readings.map(|(at, used)| (ms(at), used));
        assert_eq!(share(&readings), Some(0.4));
        assert_eq!(share(&readings[..2]), None);
        assert_eq!([rounded(4567.0), rounded(23.4), rounded(7.2)], [4600, 23, 7]);
    }
}
