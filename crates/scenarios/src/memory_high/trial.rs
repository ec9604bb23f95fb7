//! One trial: a worker in its own group, until the time is over.

use super::leader::GENERATOR;
use super::load::{Spec, Work, WorkReport};
use super::meta::measure;
use super::params::{By, MemoryHighParams};
use super::plan::{self, refused};
use super::watched::Watched;
use crate::error::unreadable;
use crate::probing::{Part, Probing};
use crate::{Context, Disturbances, ScenarioError, TrialResult, wait};
use host::cgroup::{MemoryGroup, MemoryUsage};
use load::protocol::Report;
use load::{Awaited, Child, OwnArgs, histogram};
use model::{Latency, Measure, Observation, Problem, Unit};
use os::time;
use probe::Role;
use std::time::{Duration, Instant};

/// How long the worker may take to get ready. It fills memory first.
const SET_UP_LIMIT: Duration = Duration::from_secs(60);

/// How long the leader may take to report after the end of the time. It is not in the group, so
/// the limit does not slow it down.
const REPORT_LIMIT: Duration = Duration::from_secs(30);

/// The part of the limit that the worker leaves free before the trial begins, in bytes. The
/// program itself and the kernel's memory for it must fit into it.
const LEFT_FREE: u64 = 4 << 20;

/// Runs a trial and makes its observation.
pub(super) fn run(
    params: &MemoryHighParams,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    let home = plan::home(context.host).map_err(ScenarioError::Missing)?;
    let group = MemoryGroup::create(&home).map_err(refused)?;
    group.set(&plan::limits(params)).map_err(refused)?;
    let mut probing = Probing::start(context.probe, roots);
    let told = serde_json::to_value(spec(params, &group, context))
        .map_err(|error| unreadable("unit", error))?;
    let args = OwnArgs::to_args(&GENERATOR, &told);
    let mut child = context.spawner.start("memory leader", &args, None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    probing.watch(&Part { pid: child.pid(), part: "worker", role: Role::Victim });
    probing.release();
    let watch = Disturbances::start(roots, None);
    let mut watched = Watched::start(&group);
    child.go()?;
    let report = report_of(params, &mut child, context, &mut || watched.look(&group, roots))?;
    probing.end();
    let gained = watched.gained(&group);
    let disturbance = watch.finish(roots);
    drop(child);
    let name = group.name();
    group.remove().map_err(refused)?;
    let observation = observe(params, &report, &watched, &gained)?;
    let mut observation = Observation { evidence: probing.evidence(), ..observation };
    if let Some(evidence) = &mut observation.evidence {
        let limits = plan::limits(params);
        evidence.memory = Some(watched.evidence(&name, &limits, &gained, &evidence.threads));
    }
    Ok(TrialResult { observation, disturbance })
}

/// The input of the leader.
fn spec(params: &MemoryHighParams, group: &MemoryGroup, context: &Context) -> Spec {
    let (need, unit) = (params.need.get(), params.unit.get());
    let fill = need.min(params.limit.get().saturating_sub(LEFT_FREE));
    let every_us = time::whole_us(params.every.get());
    let work = Work { need, unit, every_us, fill };
    Spec {
        procs: group.path().join("cgroup.procs"),
        user: context.spawner.user.map(|user| user.to_string()),
        work,
        duration_ms: time::whole_ms(params.duration.get()),
    }
}

/// Waits for the report, and watches the group meanwhile.
fn report_of(
    params: &MemoryHighParams,
    child: &mut Child,
    context: &mut Context,
    look: &mut dyn FnMut(),
) -> Result<WorkReport, ScenarioError> {
    let limit = params.duration.get() + REPORT_LIMIT;
    let began = Instant::now();
    let tick = &mut context.tick;
    let report = wait::until(limit, context.interrupted, |deadline| {
        look();
        tick(crate::Tick { elapsed: began.elapsed(), ..crate::Tick::default() });
        child.report_before(deadline)
    })?;
    match report {
        Some(Report::Own(report)) => {
            serde_json::from_value(report).map_err(|error| unreadable("unit", error))
        }
        Some(_) => {
            let role = "memory leader".to_owned();
            Err(ScenarioError::Broken(Problem::WrongReport { role }))
        }
        None => Err(child.late(Awaited::Report, limit).into()),
    }
}

fn observe(
    params: &MemoryHighParams,
    report: &WorkReport,
    watched: &Watched,
    gained: &MemoryUsage,
) -> Result<Observation, ScenarioError> {
    let window_ms = time::ms_of_ns(report.window_ns);
    let mut observation = Observation { window_ms, ..Observation::default() };
    let durations =
        histogram::decode(&report.durations).map_err(|error| unreadable("unit", error))?;
    let seconds = (window_ms / 1e3).max(1e-9);
    let mut put = |name: &str, value: f64, unit: Unit| {
        observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    put(measure::LOST, lost(report, gained)?, Unit::Percent);
    put(measure::UNITS, report.units as f64 / seconds, Unit::PerSecond);
    put(measure::UNIT_P99, time::ms_of_ns(durations.value_at_quantile(0.99)), Unit::Milliseconds);
    put(measure::WORST, time::ms_of_ns(report.worst_ns), Unit::Milliseconds);
    if let Some(ns) = gained.some_ns {
        put(measure::STALLED, time::ms_of_ns(ns) / seconds, Unit::MillisecondsPerSecond);
    }
    let events = match params.by {
        By::High => gained.high_events,
        By::Max => gained.max_events,
    };
    if let Some(events) = events {
        put(measure::EVENTS, events as f64 / seconds, Unit::PerSecond);
    }
    let limit = params.limit.get().max(1) as f64;
    let above = 100.0 * (watched.most_bytes as f64 / limit - 1.0);
    put(measure::OVER, above.max(0.0), Unit::Percent);
    if let Some(kills) = gained.kills {
        put(measure::KILLS, kills as f64, Unit::Count);
    }
    observation.latencies.insert("unit".to_owned(), Latency::from_histogram(&durations));
    Ok(observation)
}

/// Percent of the time in which the group waited for memory, or in which there was no worker.
fn lost(report: &WorkReport, gained: &MemoryUsage) -> Result<f64, ScenarioError> {
    let stalled_ns = gained.some_ns.ok_or_else(|| unreadable("unit", "no memory.pressure"))?;
    let lost_ns = stalled_ns.saturating_add(report.down_ns) as f64;
    // The group is read shortly before and after the window.
    Ok((100.0 * lost_ns / (report.window_ns as f64).max(1.0)).min(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(down_ns: u64) -> WorkReport {
        let mut durations = histogram::empty();
        (1..=100).for_each(|ms| histogram::record(&mut durations, ms * 1_000_000));
        WorkReport {
            window_ns: 1_000_000_000,
            down_ns,
            units: 100,
            restarts: 0,
            worst_ns: 100_000_000,
            durations: histogram::encode(&durations),
        }
    }

    fn stalled(ms: u64) -> MemoryUsage {
        MemoryUsage { some_ns: Some(ms * 1_000_000), ..MemoryUsage::default() }
    }

    #[test]
    fn what_stands_still_for_memory_or_is_not_there_is_lost() {
        let lost = |down_ms: u64, ms| lost(&report(down_ms * 1_000_000), &stalled(ms)).unwrap();
        assert_eq!((lost(0, 0), lost(0, 750), lost(250, 500)), (0.0, 75.0, 75.0));
        // Two clocks never agree to the nanosecond.
        assert_eq!(lost(0, 1_001), 100.0);
        assert!(super::lost(&report(0), &MemoryUsage::default()).is_err());
    }

    #[test]
    fn a_trial_is_told_by_its_units_and_by_its_group() {
        let params = MemoryHighParams::default();
        let watched = Watched { most_bytes: 40 << 20, ..Watched::default() };
        let gained = MemoryUsage { high_events: Some(12), kills: Some(0), ..stalled(900) };
        let seen = observe(&params, &report(0), &watched, &gained).unwrap();
        let value = |name: &str| seen.measures[name].value;
        assert_eq!((value("units"), value("events"), value("stalled")), (100.0, 12.0, 900.0));
        assert_eq!((value("over"), value("kills"), value("worst")), (25.0, 0.0, 100.0));
        assert!((98.0..101.0).contains(&value("unit_p99")), "{seen:?}");
        let max = params.with(super::super::params::MemoryFix::MemoryMax);
        let gained = MemoryUsage { max_events: Some(3), ..gained };
        let seen = observe(&max, &report(0), &watched, &gained).unwrap();
        assert_eq!(seen.measures["events"].value, 3.0, "each limit has events of its own");
        let torn = WorkReport { durations: "x".to_owned(), ..report(0) };
        assert!(observe(&max, &torn, &watched, &gained).is_err());
    }
}
