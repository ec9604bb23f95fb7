//! From knobs to arms and scripts, checked against the machine.

use super::trial::{Script, Window};
use crate::{Cell, Missing, ScenarioError, Site};
use host::cgroup::{Bandwidth, BandwidthGroup, CgroupError, ParentGroup, sweep};
use model::{Arm, Role, Settings, Value, units};
use std::time::Duration;

/// What setting a trial up and warming it up costs beside its duration, roughly, for the progress
/// bar.
pub(super) const SET_UP: Duration = Duration::from_millis(60);

/// What a CPU of a group keeps of its quota when its last thread sleeps, in milliseconds: the
/// kernel's `min_cfs_rq_runtime`.
pub(super) const KEPT_MS: f64 = 1.0;

/// What all CPUs may keep, as a part of what a trial is entitled to, at most.
const KEPT_PART: f64 = 0.03;

/// A tick, as a part of what a trial is entitled to, at most.
const TICK_PART: f64 = 0.01;

/// Ticks a second where the kernel does not say: the fewest that are usual.
const HZ: u32 = 100;

/// How much of a CPU a busy thread is trusted to get.
const USABLE: f64 = 0.9;

/// CPUs that are used unless more are asked for: what is lost hardly grows beyond, and the more
/// CPUs keep something, the longer a trial takes.
const CPUS: usize = 32;

/// A trial is made no longer than this for the sake of what ticks and CPUs hide.
const LONGEST: Duration = Duration::from_secs(10);

/// Periods that go by before a trial is measured, and those that may go by after it.
const WARM_UP: u64 = 3;
const SPARE: u64 = 30;

/// The place for groups, or what is missing.
pub(super) fn home(site: &Site) -> Result<ParentGroup, Missing> {
    ParentGroup::find(site.roots).map_err(|error| missing(&error))
}

/// What the scenario lacks here.
pub(super) fn lacking(site: &Site) -> Option<Missing> {
    if let Err(missing) = home(site) {
        return Some(missing);
    }
    (site.machine.allowed_cpus.len() == 1).then(|| Missing {
        what: "cpu-quota: this process may use one CPU only, where no slice lies idle".to_owned(),
        grant: "run where it may use two or more".to_owned(),
    })
}

fn missing(error: &CgroupError) -> Missing {
    // The error says itself what would help.
    Missing { what: "cpu-quota: no CPU quota can be set here".to_owned(), grant: error.to_string() }
}

/// A group error as a scenario's.
pub(super) fn refused(error: CgroupError) -> ScenarioError {
    if error.is_bad_value() {
        ScenarioError::Unusable(error.to_string())
    } else if error.is_privilege() {
        ScenarioError::Missing(missing(&error))
    } else {
        ScenarioError::Broken(error.to_string())
    }
}

/// The arms: all threads on as few CPUs as can use the quota, the same threads on all CPUs, and
/// those with a burst, where one is asked for.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Vec<Arm>, ScenarioError> {
    let home = home(site).map_err(ScenarioError::Missing)?;
    let bandwidth = bandwidth(settings)?;
    let layout = Layout::of(settings, &bandwidth, site)?;
    // What a run that was killed left behind goes first.
    sweep(&home);
    let burst = try_out(&home, &bandwidth)?;
    let settings = resolved(settings, &bandwidth, &layout, site);
    let mut arms = vec![
        arm(&settings, "control", Role::Control, layout.narrow, false),
        arm(&settings, "spread", Role::Case, layout.spread, false),
    ];
    if burst {
        arms.push(arm(&settings, "spread-burst", Role::Fix, layout.spread, true));
    }
    Ok(arms)
}

/// Tries quota and period out, so that a refusal comes before anything is measured. Returns whether
/// there is an arm with a burst.
fn try_out(home: &ParentGroup, bandwidth: &Bandwidth) -> Result<bool, ScenarioError> {
    let trial = BandwidthGroup::create(home).map_err(refused)?;
    trial.set(&Bandwidth { burst_us: 0, ..*bandwidth }).map_err(refused)?;
    let burst = match bandwidth.burst_us {
        0 => false,
        _ => match trial.set(bandwidth) {
            Ok(()) => true,
            Err(CgroupError::NoBurst { .. }) => false,
            Err(error) => return Err(refused(error)),
        },
    };
    trial.remove().map_err(refused)?;
    Ok(burst)
}

/// How many threads there are, and on how many CPUs.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    threads: usize,
    /// CPUs of the control: as few as can use the quota.
    narrow: usize,
    /// CPUs of the case.
    spread: usize,
}

impl Layout {
    fn of(settings: &Settings, bandwidth: &Bandwidth, site: &Site) -> Result<Self, ScenarioError> {
        let number = |knob: &str| {
            settings.number(knob).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
        };
        let there = site.machine.allowed_cpus.len().max(1);
        let (fast, asked) = (number("fast").max(1), number("on-cpus"));
        if asked > there {
            return Err(ScenarioError::Unusable(format!(
                "--on-cpus {asked}: this process may use {there} CPUs"
            )));
        }
        let spread = if asked > 0 { asked } else { there.min(CPUS) };
        // A slow thread on every CPU, that of a busy one too: a thread that wakes there makes the
        // kernel look what the busy one has used, which else waits for a tick.
        let threads = if number("threads") > 0 { number("threads") } else { spread + fast };
        let spread = spread.min(threads);
        if fast > threads {
            return Err(ScenarioError::Unusable(format!(
                "--fast {fast}: there are {threads} threads in all; raise --threads"
            )));
        }
        let share = bandwidth.quota_us as f64 / bandwidth.period_us as f64;
        // A whole number that a quota can ask for stays far below what a float holds exactly.
        let narrow = (share / USABLE).ceil().max(1.0) as usize;
        let (usable, raise) = if fast < spread { (fast, "--fast") } else { (spread, "--on-cpus") };
        if narrow > usable {
            return Err(ScenarioError::Unusable(format!(
                "--quota {}: {usable} busy threads on CPUs of their own cannot use {share:.1} CPUs; \
                 lower it or raise {raise}",
                settings.text("quota").unwrap_or_default()
            )));
        }
        Ok(Layout { threads, narrow, spread })
    }
}

/// How long a trial lasts: whole periods, and so many that neither a tick nor what CPUs keep is
/// much of what the group is entitled to.
fn long_enough(
    settings: &Settings,
    bandwidth: &Bandwidth,
    cpus: usize,
    hz: Option<u32>,
) -> Duration {
    let tick_ms = 1e3 / f64::from(hz.unwrap_or(HZ).max(1));
    let least_ms = (tick_ms / TICK_PART).max(KEPT_MS * cpus as f64 / KEPT_PART);
    let period = Duration::from_micros(bandwidth.period_us);
    let quota_ms = bandwidth.quota_us as f64 / 1e3;
    let least = period.mul_f64((least_ms / quota_ms).clamp(1.0, 1e6)).min(LONGEST);
    let duration = settings.duration("duration").unwrap_or_default().max(least);
    period.mul_f64((duration.as_secs_f64() / period.as_secs_f64() - 1e-9).ceil().max(1.0))
}

fn arm(settings: &Settings, id: &str, role: Role, cpus: usize, burst: bool) -> Arm {
    let mut settings = settings.clone();
    settings.set("on-cpus", whole(cpus));
    let change =
        burst.then(|| format!("a burst of {}", settings.text("burst").unwrap_or_default()));
    if !burst {
        settings.set("burst", Value::Text("0s".to_owned()));
    }
    Arm { id: id.to_owned(), role, against: None, settings, change }
}

fn whole(number: usize) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Quota, period and burst in the kernel's microseconds.
fn bandwidth(settings: &Settings) -> Result<Bandwidth, ScenarioError> {
    let us = |knob: &str| {
        let duration = settings.duration(knob).unwrap_or_default();
        match duration.as_nanos() % 1000 {
            0 => Ok(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)),
            _ => Err(ScenarioError::Unusable(format!(
                "--{knob} {}: whole microseconds only",
                settings.text(knob).unwrap_or_default()
            ))),
        }
    };
    Ok(Bandwidth { quota_us: us("quota")?, period_us: us("period")?, burst_us: us("burst")? })
}

/// Control and case of these settings, as [`arms`] makes them, without trying the quota out.
pub(super) fn sketch(settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
    let bandwidth = bandwidth(settings)?;
    let layout = Layout::of(settings, &bandwidth, site)?;
    let settings = resolved(settings, &bandwidth, &layout, site);
    Ok(Cell {
        control: arm(&settings, "control", Role::Control, layout.narrow, false),
        case: arm(&settings, "spread", Role::Case, layout.spread, false),
    })
}

/// The settings with the length of a trial and the number of threads that they come to here.
fn resolved(settings: &Settings, bandwidth: &Bandwidth, layout: &Layout, site: &Site) -> Settings {
    let duration = long_enough(settings, bandwidth, layout.spread, site.machine.hz);
    let mut settings = settings.clone();
    settings.set("duration", Value::Text(units::format_duration(duration)));
    settings.set("threads", whole(layout.threads));
    settings
}

/// What a trial of these settings runs.
pub(super) fn script(settings: &Settings, site: &Site) -> Result<Script, ScenarioError> {
    let number = |knob: &str| {
        settings.number(knob).and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
    };
    let mut cpus = site.machine.allowed_cpus.clone();
    cpus.truncate(number("on-cpus").max(1) as usize);
    if cpus.is_empty() {
        return Err(ScenarioError::Broken("the CPUs of this process could not be read".to_owned()));
    }
    let bandwidth = bandwidth(settings)?;
    let period = Duration::from_micros(bandwidth.period_us);
    let kept_us = KEPT_MS * 1e3 * cpus.len() as f64;
    // Until each CPU keeps what it may, part of the quota goes there.
    let warm_up = WARM_UP + (kept_us / bandwidth.quota_us as f64).ceil() as u64;
    let measured = settings.duration("duration").unwrap_or_default();
    let periods = ((measured.as_secs_f64() / period.as_secs_f64()).round() as u64).max(1);
    let all = u32::try_from(warm_up + periods + SPARE).unwrap_or(u32::MAX);
    Ok(Script {
        bandwidth,
        threads: number("threads"),
        fast: number("fast"),
        fast_first: true,
        wake: settings.duration("wake").unwrap_or_default(),
        duration: period.saturating_mul(all),
        cpus,
        window: Some(Window { warm_up, periods }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_quota::META;
    use host::roots::Roots;
    use model::Machine;

    fn layout(cpus: u32, change: &[(&str, &str)]) -> Result<Layout, String> {
        let machine = Machine { allowed_cpus: (0..cpus).collect(), ..Machine::default() };
        let roots = Roots::real();
        let mut settings = Settings::defaults(META.knobs, false);
        for (knob, value) in change {
            let value = value.parse().map_or(Value::Text((*value).to_owned()), Value::Number);
            settings.set(knob, value);
        }
        let bandwidth = bandwidth(&settings).unwrap();
        Layout::of(&settings, &bandwidth, &Site { roots: &roots, machine: &machine })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_control_has_the_same_threads_on_as_few_cpus_as_can_use_the_quota() {
        assert_eq!(layout(4, &[]), Ok(Layout { threads: 5, narrow: 1, spread: 4 }));
        assert_eq!(layout(64, &[]), Ok(Layout { threads: 33, narrow: 1, spread: 32 }));
        let two = [("quota", "15ms"), ("fast", "2")];
        assert_eq!(layout(4, &two), Ok(Layout { threads: 6, narrow: 2, spread: 4 }));
        let alone = [("threads", "1")];
        assert_eq!(layout(4, &alone), Ok(Layout { threads: 1, narrow: 1, spread: 1 }));
        for (change, part) in [
            (&[("quota", "15ms")][..], "raise --fast"),
            (&[("quota", "15ms"), ("fast", "2"), ("on-cpus", "1")], "raise --on-cpus"),
            (&[("on-cpus", "5")], "may use 4 CPUs"),
            (&[("threads", "2"), ("fast", "3")], "2 threads in all"),
        ] {
            let refused = layout(4, change).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn a_trial_is_so_long_that_neither_ticks_nor_what_cpus_keep_count() {
        let bandwidth = Bandwidth { quota_us: 8_000, period_us: 10_000, burst_us: 0 };
        let mut settings = Settings::default();
        settings.set("duration", Value::Text("500ms".to_owned()));
        for (cpus, hz, ms) in [
            (2, Some(250), 500),
            (2, Some(1000), 500),
            (2, Some(100), 1250),
            (2, None, 1250),
            (32, Some(250), 1340),
            (512, Some(250), 10_000),
        ] {
            let long = long_enough(&settings, &bandwidth, cpus, hz);
            assert_eq!(long.as_millis(), ms, "{cpus} CPUs, HZ {hz:?}");
        }
    }

    #[test]
    fn a_trial_warms_up_until_each_cpu_keeps_what_it_may() {
        let machine = Machine { allowed_cpus: (0..32).collect(), ..Machine::default() };
        let roots = Roots::real();
        let site = Site { roots: &roots, machine: &machine };
        let mut settings = Settings::defaults(META.knobs, false);
        settings.set("on-cpus", Value::Number(32));
        let of_case = script(&settings, &site).unwrap();
        assert_eq!(of_case.window, Some(Window { warm_up: 7, periods: 50 }));
        settings.set("on-cpus", Value::Number(1));
        let of_control = script(&settings, &site).unwrap();
        assert_eq!(of_control.cpus, [0]);
        assert_eq!(of_control.duration, Duration::from_millis(10) * (4 + 50 + 30));
    }
}
