//! From knobs to arms and scripts, checked against the machine.

use super::trial::Script;
use crate::{Cell, Missing, ScenarioError, Site};
use host::cgroup::{Bandwidth, BandwidthGroup, CgroupError, Home, sweep};
use model::{Arm, Role, Settings, Value, units};
use std::time::Duration;

/// What setting a trial up costs beside its duration, roughly, for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(60);

/// What a CPU of a group keeps of its quota when it runs dry, in milliseconds: the kernel's
/// `min_cfs_rq_runtime`.
pub(super) const KEPT_MS: f64 = 1.0;

/// What the quota of a trial is at least, as a multiple of what its CPUs may keep.
const QUOTA_TO_KEPT: f64 = 4.0;

/// A trial is made no longer than this for the sake of what its CPUs may keep.
const LONGEST: Duration = Duration::from_secs(10);

/// The place for groups, or what is missing.
pub(super) fn home(site: &Site) -> Result<Home, Missing> {
    Home::find(site.roots).map_err(|error| missing(&error))
}

fn missing(error: &CgroupError) -> Missing {
    let grant = match error.is_privilege() {
        true => "run as root, or have the cpu controller delegated to this user",
        false => "run where a cgroup hierarchy with the cpu controller is mounted",
    };
    Missing { what: format!("cpu-quota: {error}"), grant: grant.to_owned() }
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

/// The arms: one busy thread alone, all threads, and all threads with a burst.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Vec<Arm>, ScenarioError> {
    let home = home(site).map_err(ScenarioError::Missing)?;
    // What a run that was killed left behind goes first.
    sweep(&home);
    let bandwidth = bandwidth(settings)?;
    // Quota and period are tried out, so that a refusal comes before anything is measured.
    let trial = BandwidthGroup::create(&home).map_err(refused)?;
    trial.set(&Bandwidth { burst_us: 0, ..bandwidth }).map_err(refused)?;
    let burst = match bandwidth.burst_us {
        0 => false,
        _ => match trial.set(&bandwidth) {
            Ok(()) => true,
            Err(CgroupError::NoBurst { .. }) => false,
            Err(error) => return Err(refused(error)),
        },
    };
    trial.remove().map_err(refused)?;
    let threads = threads(settings, site);
    let settings = &long_enough(settings, &bandwidth, threads, site);
    let fast = settings.number("fast").unwrap_or(1);
    if fast > threads {
        return Err(ScenarioError::Unusable(format!(
            "--fast {fast}: there are {threads} threads in all; raise --threads"
        )));
    }
    let mut arms = vec![
        arm(settings, "control", Role::Control, 1, 1, false),
        arm(settings, "spread", Role::Case, threads, fast, false),
    ];
    if burst {
        arms.push(arm(settings, "spread-burst", Role::Fix, threads, fast, true));
    }
    Ok(arms)
}

/// The settings, with a trial so long that what its CPUs may keep is a quarter of its quota.
fn long_enough(settings: &Settings, bandwidth: &Bandwidth, threads: i64, site: &Site) -> Settings {
    let cpus = usize::try_from(threads).unwrap_or(0).min(site.machine.allowed_cpus.len());
    let quota_ms = bandwidth.quota_us as f64 / 1e3;
    let periods = (QUOTA_TO_KEPT * KEPT_MS * cpus as f64 / quota_ms).ceil();
    let period = Duration::from_micros(bandwidth.period_us);
    let least = period.mul_f64(periods.clamp(0.0, 1e6)).min(LONGEST);
    let mut settings = settings.clone();
    if settings.duration("duration").is_some_and(|duration| duration < least) {
        settings.set("duration", Value::Text(units::format_duration(least)));
    }
    settings
}

fn arm(settings: &Settings, id: &str, role: Role, threads: i64, fast: i64, burst: bool) -> Arm {
    let mut settings = settings.clone();
    settings.set("threads", Value::Number(threads));
    settings.set("fast", Value::Number(fast));
    let change =
        burst.then(|| format!("a burst of {}", settings.text("burst").unwrap_or_default()));
    if !burst {
        settings.set("burst", Value::Text("0s".to_owned()));
    }
    Arm { id: id.to_owned(), role, against: None, settings, change }
}

fn threads(settings: &Settings, site: &Site) -> i64 {
    match settings.number("threads") {
        Some(0) | None => i64::try_from(site.machine.allowed_cpus.len()).unwrap_or(2).max(2),
        Some(threads) => threads,
    }
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
    let threads = threads(settings, site);
    let settings = &long_enough(settings, &bandwidth, threads, site);
    let fast = settings.number("fast").unwrap_or(1);
    Ok(Cell {
        control: arm(settings, "control", Role::Control, 1, 1, false),
        case: arm(settings, "spread", Role::Case, threads, fast, false),
    })
}

/// What a trial of these settings plays.
pub(super) fn script(settings: &Settings, site: &Site) -> Result<Script, ScenarioError> {
    let number = |knob: &str| {
        settings.number(knob).and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
    };
    let cpus = site.machine.allowed_cpus.clone();
    let measured = cpus.last().copied().ok_or_else(|| {
        ScenarioError::Broken("the CPUs of this process could not be read".to_owned())
    })?;
    Ok(Script {
        bandwidth: bandwidth(settings)?,
        threads: number("threads"),
        fast: number("fast"),
        duration: settings.duration("duration").unwrap_or_default(),
        cpus,
        measured,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::roots::Roots;
    use model::Machine;

    #[test]
    fn a_trial_is_longer_where_many_cpus_may_keep_quota() {
        let roots = Roots::real();
        let bandwidth = Bandwidth { quota_us: 10_000, period_us: 100_000, burst_us: 0 };
        let mut settings = Settings::default();
        settings.set("duration", Value::Text("1s".to_owned()));
        for (cpus, threads, seconds) in [(2, 2, 1.0), (64, 64, 2.6), (64, 1, 1.0), (512, 512, 10.0)]
        {
            let machine = Machine { allowed_cpus: (0..cpus).collect(), ..Machine::default() };
            let site = Site { roots: &roots, machine: &machine };
            let long = long_enough(&settings, &bandwidth, threads, &site);
            assert_eq!(long.duration("duration").unwrap().as_secs_f64(), seconds, "{cpus}");
        }
    }
}
