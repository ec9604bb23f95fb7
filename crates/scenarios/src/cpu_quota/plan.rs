//! Turns parameters into arms and trials, checked against the machine.

use super::meta::META;
use super::params::CpuQuotaParams;
use super::sentences::CpuQuotaFact;
use super::trial::{TrialSpec, Window};
use crate::params::Time;
use crate::quota::{self, KEPT_MS};
use crate::{Arms, Cell, Host, ScenarioError, cpus};
use host::cgroup::Bandwidth;
use model::{Amount, Arm, Changed, LeftOut, Need, Problem, Role, Unit, WhyLeftOut};
use std::time::Duration;

/// Estimated cost of the set-up of a trial. Used for the progress bar.
const SET_UP: Duration = Duration::from_millis(20);

/// Largest CPU time that all CPUs together may keep, as a part of the quota of a trial.
const KEPT_PART: f64 = 0.03;

/// Largest duration of a tick, as a part of the quota of a trial.
const TICK_PART: f64 = 0.0125;

/// Ticks per second if the kernel does not tell: the lowest usual value.
const HZ: u32 = 100;

/// The part of a CPU that a busy thread gets for certain.
const USABLE: f64 = 0.9;

/// Number of CPUs to use by default. Beyond it, the loss hardly grows, but a trial takes longer
/// with each CPU that keeps a part of the quota.
const CPUS: u32 = 32;

/// Ticks and kept CPU time may lengthen a trial to at most this duration.
const LONGEST: Duration = Duration::from_secs(10);

/// Periods before the measurement, and periods that may pass after it.
const WARM_UP: u64 = 3;
const SPARE: u64 = 30;

/// What this machine lacks for the scenario.
pub(super) fn missing(host: &Host) -> Option<Need> {
    quota::missing(host).or_else(|| cpus::missing(META.needs.cpus, host.machine))
}

/// The arms. The control has all threads on as few CPUs as can use the quota. The case has the
/// same threads on all CPUs. The fix is the case with a burst, if requested.
pub(super) fn arms(
    params: &CpuQuotaParams,
    host: &Host,
) -> Result<Arms<CpuQuotaParams>, ScenarioError> {
    quota::home(host)?;
    let bandwidth = bandwidth(params);
    let layout = Layout::of(params, &bandwidth, host)?;
    let with_burst = Some(&bandwidth).filter(|bandwidth| bandwidth.burst_us > 0);
    let has_burst = quota::try_out(host, &Bandwidth { burst_us: 0, ..bandwidth }, with_burst)?;
    let params = resolved(params, &bandwidth, &layout, host);
    Ok(layout.arms(&params, has_burst))
}

/// The number of threads and of their CPUs.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    threads: u32,
    /// Number of CPUs of the control: as few as can use the quota.
    narrow: u32,
    /// Number of CPUs of the case.
    spread: u32,
}

impl Layout {
    fn of(
        params: &CpuQuotaParams,
        bandwidth: &Bandwidth,
        host: &Host,
    ) -> Result<Self, ScenarioError> {
        let fast = params.fast;
        let most = cpus::on_cpus(params.on_cpus, CPUS, host.machine)?;
        // Every CPU gets a slow thread, even the CPU of a busy thread. When the slow thread wakes
        // up there, the kernel checks what the busy thread has used. Otherwise this check waits
        // for a tick.
        let threads = if params.threads > 0 { params.threads } else { most + fast };
        let spread = most.min(threads);
        if fast > threads {
            return Err(ScenarioError::unusable(CpuQuotaFact::TooManyFast { fast, threads }));
        }
        let share = bandwidth.cpus();
        // A number of CPUs that a quota can ask for is small enough to be exact as a float.
        let narrow = (share / USABLE).ceil().max(1.0) as u32;
        let usable = fast.min(spread);
        if narrow > usable {
            let raise = if fast < spread {
                "--fast"
            } else if spread < most {
                // Then all threads are busy ones.
                "both --fast and --threads"
            } else {
                "--on-cpus"
            };
            let (quota, raise) = ((&params.quota).into(), raise.into());
            let cpus = Amount::exact(share, Unit::Count);
            let fact = CpuQuotaFact::UnusedQuota { quota, usable, cpus, raise };
            return Err(ScenarioError::unusable(fact));
        }
        Ok(Layout { threads, narrow, spread })
    }

    /// The arms of these parameters. If the kernel has no burst, the arm with the burst is left
    /// out.
    fn arms(&self, params: &CpuQuotaParams, has_burst: bool) -> Arms<CpuQuotaParams> {
        let without_burst = CpuQuotaParams { burst: Time::ZERO, ..params.clone() };
        let Cell { control, case } = self.cell(&without_burst);
        let mut all = Arms::from(vec![control, case]);
        if params.burst.is_zero() {
            return all;
        }
        let id = "spread-burst";
        if has_burst {
            let fact = CpuQuotaFact::Burst { burst: (&params.burst).into() };
            let change = Some(Changed::Scenario(fact.into()));
            all.arms.push(Arm { change, ..arm(params, id, Role::Fix, self.spread) });
        } else {
            let why = WhyLeftOut::Scenario(CpuQuotaFact::NoBurst.into());
            all.left_out.push(LeftOut { id: id.to_owned(), why });
        }
        all
    }

    /// Control and case of these parameters. The control has a fix: fewer CPUs.
    fn cell(&self, params: &CpuQuotaParams) -> Cell<CpuQuotaParams> {
        let fewer = CpuQuotaFact::FewerCpus { cpus: self.narrow };
        let change = (self.narrow < self.spread).then(|| Changed::Scenario(fewer.into()));
        let control = arm(params, "control", Role::Control, self.narrow);
        let case = arm(params, "spread", Role::Case, self.spread);
        Cell { control: Arm { change, ..control }, case }
    }
}

/// The duration of a trial: whole periods. It is long enough that neither a tick nor the CPU time
/// kept by CPUs is a large part of the group's quota.
fn long_enough(duration: Duration, bandwidth: &Bandwidth, cpus: u32, hz: Option<u32>) -> Duration {
    let tick_ms = 1e3 / f64::from(hz.unwrap_or(HZ).max(1));
    let least_ms = (tick_ms / TICK_PART).max(KEPT_MS * f64::from(cpus) / KEPT_PART);
    let period = Duration::from_micros(bandwidth.period_us);
    let quota_ms = bandwidth.quota_us as f64 / 1e3;
    let least = period.mul_f64((least_ms / quota_ms).clamp(1.0, 1e6)).min(LONGEST);
    let duration = duration.max(least);
    period.mul_f64((duration.as_secs_f64() / period.as_secs_f64() - 1e-9).ceil().max(1.0))
}

fn arm(params: &CpuQuotaParams, id: &str, role: Role, cpus: u32) -> Arm<CpuQuotaParams> {
    let settings = CpuQuotaParams { on_cpus: cpus, ..params.clone() };
    Arm { id: id.to_owned(), role, against: None, settings, change: None }
}

/// Quota, period and burst in the form that a group takes.
fn bandwidth(params: &CpuQuotaParams) -> Bandwidth {
    quota::bandwidth(params.quota, params.period, params.burst)
}

/// For a study: control and case of these parameters. Both have the burst, so a study can compare
/// cases with several bursts.
pub(super) fn cell(
    params: &CpuQuotaParams,
    host: &Host,
) -> Result<Cell<CpuQuotaParams>, ScenarioError> {
    quota::home(host)?;
    let cell = sketch(params, host)?;
    quota::try_out(host, &bandwidth(params), None)?;
    Ok(cell)
}

/// Control and case of these parameters, as [`cell`] makes them, but without trying the quota out.
pub(super) fn sketch(
    params: &CpuQuotaParams,
    host: &Host,
) -> Result<Cell<CpuQuotaParams>, ScenarioError> {
    let bandwidth = bandwidth(params);
    let layout = Layout::of(params, &bandwidth, host)?;
    Ok(layout.cell(&resolved(params, &bandwidth, &layout, host)))
}

/// The parameters with the resolved duration of a trial and number of threads.
fn resolved(
    params: &CpuQuotaParams,
    bandwidth: &Bandwidth,
    layout: &Layout,
    host: &Host,
) -> CpuQuotaParams {
    let duration = params.duration.get();
    let duration = long_enough(duration, bandwidth, layout.spread, host.machine.hz).into();
    CpuQuotaParams { duration, threads: layout.threads, ..params.clone() }
}

/// The trial for these parameters.
pub(super) fn spec(params: &CpuQuotaParams, host: &Host) -> Result<TrialSpec, ScenarioError> {
    let mut cpus = host.machine.allowed_cpus.clone();
    cpus.truncate(params.on_cpus.max(1) as usize);
    if cpus.is_empty() {
        return Err(ScenarioError::Broken(Problem::CpusUnread));
    }
    let bandwidth = bandwidth(params);
    let period = Duration::from_micros(bandwidth.period_us);
    let warm_up = warm_up_periods(&bandwidth, cpus.len());
    let periods =
        ((params.duration.get().as_secs_f64() / period.as_secs_f64()).round() as u64).max(1);
    let all = u32::try_from(warm_up + periods + SPARE).unwrap_or(u32::MAX);
    Ok(TrialSpec {
        bandwidth,
        threads: params.threads,
        fast: params.fast,
        fast_first: true,
        wake: params.wake.get(),
        duration: period.saturating_mul(all),
        cpus,
        window: Some(Window { warm_up, periods }),
    })
}

/// Periods before the measurement. Until each CPU keeps as much as it may, a part of the quota
/// goes there. Until the busy threads have used up what the group saved for a burst before they
/// began, the group gets more than its quota.
fn warm_up_periods(bandwidth: &Bandwidth, cpus: usize) -> u64 {
    let kept_us = KEPT_MS * 1e3 * cpus as f64;
    // The CPUs of the control, the fewest of all arms, offer at least this part of the quota more.
    let offered = 1.0 / USABLE - 1.0;
    let periods = |us: f64| (us / bandwidth.quota_us as f64).ceil() as u64;
    WARM_UP + periods(kept_us) + periods(bandwidth.burst_us as f64 / offered)
}

/// Expected duration of a trial.
pub(super) fn expected(params: &CpuQuotaParams) -> Duration {
    SET_UP + warm_up(params) + params.duration.get()
}

/// How long a trial of these parameters runs before the measurement.
pub(super) fn warm_up(params: &CpuQuotaParams) -> Duration {
    let periods = warm_up_periods(&bandwidth(params), params.on_cpus.max(1) as usize);
    params.period.get().saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use host::roots::Roots;
    use model::Machine;

    fn layout(cpus: u32, params: &CpuQuotaParams) -> Result<Layout, ScenarioError> {
        let machine = Machine { allowed_cpus: (0..cpus).collect(), ..Machine::default() };
        let roots = Roots::real();
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        Layout::of(params, &bandwidth(params), &host)
    }

    #[test]
    fn the_control_has_the_same_threads_on_as_few_cpus_as_can_use_the_quota() {
        let usual = CpuQuotaParams::default();
        assert_eq!(layout(4, &usual), Ok(Layout { threads: 5, narrow: 1, spread: 4 }));
        assert_eq!(layout(64, &usual), Ok(Layout { threads: 33, narrow: 1, spread: 32 }));
        let large = CpuQuotaParams { quota: Time::ms(15), ..usual.clone() };
        let two = CpuQuotaParams { fast: 2, ..large.clone() };
        assert_eq!(layout(4, &two), Ok(Layout { threads: 6, narrow: 2, spread: 4 }));
        let alone = CpuQuotaParams { threads: 1, ..usual.clone() };
        assert_eq!(layout(4, &alone), Ok(Layout { threads: 1, narrow: 1, spread: 1 }));
        for (params, part) in [
            (large, "raise --fast"),
            (CpuQuotaParams { on_cpus: 1, ..two.clone() }, "raise --on-cpus"),
            (CpuQuotaParams { quota: Time::ms(25), threads: 2, ..two }, "--fast and --threads"),
            (CpuQuotaParams { threads: 2, fast: 3, ..usual.clone() }, "only 2 threads"),
        ] {
            let refused = testing::refused(&META, layout(4, &params));
            assert!(refused.contains(part), "{refused}");
        }
        let five = layout(4, &CpuQuotaParams { on_cpus: 5, ..usual });
        let too_many = Problem::TooManyCpus { asked: 5, allowed: 4 };
        assert_eq!(five, Err(ScenarioError::Unusable(too_many)));
    }

    #[test]
    fn a_burst_is_an_arm_of_its_own_or_is_left_out_with_the_reason() {
        let layout = Layout { threads: 5, narrow: 1, spread: 4 };
        let with = CpuQuotaParams { burst: Time::ms(4), ..CpuQuotaParams::default() };
        let bursts = |all: &Arms<CpuQuotaParams>| -> Vec<Time> {
            all.arms.iter().map(|arm| arm.settings.burst).collect()
        };
        let all = layout.arms(&with, true);
        assert_eq!(bursts(&all), [Time::ZERO, Time::ZERO, Time::ms(4)]);
        assert!(all.arms[2].change.is_some() && all.left_out.is_empty(), "{all:?}");
        let all = layout.arms(&with, false);
        assert_eq!(bursts(&all), [Time::ZERO; 2]);
        let [LeftOut { id, why: WhyLeftOut::Scenario(fact) }] = all.left_out.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!((id.as_str(), fact.id.as_str()), ("spread-burst", "no-burst"));
        let usual = layout.arms(&CpuQuotaParams::default(), false);
        assert!(usual.arms.len() == 2 && usual.left_out.is_empty(), "{usual:?}");
    }

    #[test]
    fn a_study_has_its_burst_in_control_and_case() {
        let layout = Layout { threads: 5, narrow: 1, spread: 4 };
        let with = CpuQuotaParams { burst: Time::ms(4), ..CpuQuotaParams::default() };
        let Cell { control, case } = layout.cell(&with);
        assert_eq!(case.settings, CpuQuotaParams { on_cpus: 4, ..with.clone() });
        assert_eq!(control.settings, CpuQuotaParams { on_cpus: 1, ..with });
    }

    #[test]
    fn the_control_has_a_fix_unless_it_has_the_cpus_of_the_case() {
        let change = |spread| {
            let layout = Layout { threads: 5, narrow: 1, spread };
            layout.cell(&CpuQuotaParams::default()).control.change
        };
        let Some(Changed::Scenario(fact)) = change(4) else { panic!() };
        assert_eq!(testing::told(&META, &fact), "the same threads on 1 CPU, as with a cpuset");
        assert_eq!(change(1), None);
    }

    #[test]
    fn a_trial_is_so_long_that_neither_ticks_nor_what_cpus_keep_count() {
        let bandwidth = Bandwidth { quota_us: 8_000, period_us: 10_000, burst_us: 0 };
        let asked = Duration::from_millis(400);
        for (cpus, hz, ms) in [
            (2, Some(250), 400),
            (2, Some(1000), 400),
            (2, Some(100), 1000),
            (2, None, 1000),
            (32, Some(250), 1340),
            (512, Some(250), 10_000),
        ] {
            let long = long_enough(asked, &bandwidth, cpus, hz);
            assert_eq!(long.as_millis(), ms, "{cpus} CPUs, HZ {hz:?}");
        }
    }

    #[test]
    fn a_trial_warms_up_until_each_cpu_keeps_what_it_may() {
        let machine = Machine { allowed_cpus: (0..32).collect(), ..Machine::default() };
        let roots = Roots::real();
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        let on = |on_cpus| CpuQuotaParams { on_cpus, ..CpuQuotaParams::default() };
        let of_case = spec(&on(32), &host).unwrap();
        assert_eq!(of_case.window, Some(Window { warm_up: 7, periods: 40 }));
        assert_eq!(warm_up(&on(32)), Duration::from_millis(70));
        let of_control = spec(&on(1), &host).unwrap();
        assert_eq!(of_control.cpus, [0]);
        assert_eq!(of_control.duration, Duration::from_millis(10) * (4 + 40 + 30));
        // The CPU of the control offers at least a ninth of the 8 ms more in each period.
        let with_burst = CpuQuotaParams { burst: Time::ms(4), ..on(1) };
        assert_eq!(warm_up(&with_burst), Duration::from_millis(90));
        assert_eq!(expected(&with_burst) - expected(&on(1)), Duration::from_millis(50));
    }
}
