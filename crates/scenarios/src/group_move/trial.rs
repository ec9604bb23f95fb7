//! One trial: a mover and two groups, until the time is over.

use super::meta::measure;
use super::mover::{MOVER, MoveReport};
use super::params::GroupMoveParams;
use super::plan::{self, refused};
use super::sentences::GroupMoveFact;
use crate::error::unreadable;
use crate::probing::{Part, Probing};
use crate::{Context, Disturbances, ScenarioError, TrialResult, wait};
use host::cgroup::BandwidthGroup;
use load::protocol::Report;
use load::{LoadSpawner, OwnArgs, histogram};
use model::{Latency, Measure, Note, Observation, Problem, Unit};
use os::time;
use probe::{Role, SessionOptions};
use std::time::{Duration, Instant};

/// How long the set-up of the mover may take.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long the mover may take to report after the end of the time. A call that takes longer
/// hangs.
pub(super) const HANG_AFTER: Duration = Duration::from_secs(30);

/// Name of the durations of calls.
const LATENCIES: &str = "call";

/// Runs a trial and makes its observation.
pub(super) fn run(
    params: &GroupMoveParams,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    let home = plan::home(context.host).map_err(ScenarioError::Missing)?;
    // Dropping a group kills the child in it, and removes the group.
    let one = BandwidthGroup::create(&home).map_err(refused)?;
    let other = BandwidthGroup::create(&home).map_err(refused)?;
    let options = SessionOptions { lock: false, ..SessionOptions::new(roots) };
    let mut probing = Probing::start_with(context.probe, &options);
    let folders = [&one, &other].map(|group| group.path().to_owned());
    let spec = plan::spec(params, &home, folders, context.spawner.user);
    let spec = serde_json::to_value(spec).map_err(|error| unreadable(LATENCIES, error))?;
    // The mover keeps the caller's rights: only the owner of the groups may move a process.
    let spawner = LoadSpawner { user: None, ..context.spawner.clone() };
    let mut mover = spawner.start("group mover", &OwnArgs::to_args(&MOVER, &spec), None)?;
    wait::ready(&mut mover, SET_UP_LIMIT, interrupted)?;
    probing.watch_tree(&Part { pid: mover.pid(), part: "mover", role: Role::Victim }, "sleeper");
    probing.release();
    let watch = Disturbances::start(roots, Some(mover.pid()));
    let began = Instant::now();
    mover.go()?;
    let limit = params.duration.get() + HANG_AFTER;
    let report = wait::report_before(&mut mover, limit, interrupted)?;
    let watched = began.elapsed();
    let disturbance = watch.finish(roots);
    probing.end();
    let mut observation = match report {
        Some(report) => observe(&answer(report)?)?,
        None => hung(params, watched),
    };
    drop(mover);
    one.remove().map_err(refused)?;
    other.remove().map_err(refused)?;
    if plan::favors_moves(roots) {
        observation.notes.push(Note::Fact(GroupMoveFact::FavorDynmods.into()));
    }
    observation.evidence = probing.evidence();
    Ok(TrialResult { observation, disturbance })
}

fn answer(report: Report) -> Result<MoveReport, ScenarioError> {
    match report {
        Report::Own(report) => {
            serde_json::from_value(report).map_err(|error| unreadable(LATENCIES, error))
        }
        _ => {
            let role = MOVER.name.to_owned();
            Err(ScenarioError::Broken(Problem::WrongReport { role }))
        }
    }
}

/// The observation of a mover that did not return. Its call took at least for the time since the
/// end of the trial's duration and of a last pause.
fn hung(params: &GroupMoveParams, watched: Duration) -> Observation {
    let window_ms = time::ms(watched);
    let mut seen = Observation { window_ms, hang: true, ..Observation::default() };
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::at_least(value, unit));
    };
    let before = params.duration.get() + params.gap.get();
    let call_ms = time::ms(watched.saturating_sub(before));
    let lost = (call_ms / (window_ms / 1e3).max(1e-9)).min(1e3);
    put(measure::LOST, lost, Unit::MillisecondsPerSecond);
    put(measure::WORST, call_ms, Unit::Milliseconds);
    seen
}

fn observe(report: &MoveReport) -> Result<Observation, ScenarioError> {
    let window_ms = time::ms_of_ns(report.window_ns);
    let mut seen = Observation { window_ms, ..Observation::default() };
    let durations =
        histogram::decode(&report.durations).map_err(|error| unreadable(LATENCIES, error))?;
    let seconds = (window_ms / 1e3).max(1e-9);
    let lost = (time::ms_of_ns(report.lost_ns) / seconds).min(1e3);
    let call_ms = time::ms_of_ns(durations.value_at_quantile(0.5));
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    put(measure::LOST, lost, Unit::MillisecondsPerSecond);
    put(measure::CALL, call_ms, Unit::Milliseconds);
    put(measure::WORST, time::ms_of_ns(report.worst_ns), Unit::Milliseconds);
    put(measure::CALLS, report.calls as f64 / seconds, Unit::PerSecond);
    put(measure::OVER, report.over as f64, Unit::Count);
    seen.latencies.insert(LATENCIES.to_owned(), Latency::from_histogram(&durations));
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> MoveReport {
        let mut durations = histogram::empty();
        (1..=10).for_each(|ms| histogram::record(&mut durations, ms * 1_000_000));
        MoveReport {
            window_ns: 2_000_000_000,
            calls: 10,
            over: 5,
            lost_ns: 40_000_000,
            worst_ns: 10_000_000,
            durations: histogram::encode(&durations),
        }
    }

    #[test]
    fn calls_become_the_figures_of_a_trial() {
        let seen = observe(&report()).unwrap();
        let value = |name: &str| seen.measures[name].value;
        assert_eq!((value("lost"), value("worst"), value("over_5ms")), (20.0, 10.0, 5.0));
        assert_eq!(value("calls"), 5.0);
        assert!((4.9..5.1).contains(&value("call")), "{seen:?}");
        assert_eq!(seen.latencies["call"].count, 10);
        let torn = MoveReport { durations: "x".to_owned(), ..report() };
        assert!(observe(&torn).is_err());
    }

    #[test]
    fn a_mover_that_does_not_come_back_has_a_bound() {
        let hung = hung(&GroupMoveParams::default(), Duration::from_millis(31_100));
        let bound = |name: &str| (hung.measures[name].value, hung.measures[name].at_least);
        assert_eq!(bound("worst"), (30_000.0, true));
        assert!(hung.hang && bound("lost").0 > 900.0 && bound("lost").1, "{hung:?}");
    }
}
