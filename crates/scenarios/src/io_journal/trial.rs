//! One trial: a stage and the group of its writer, until the time is over.

use super::meta::measure;
use super::params::{IoJournalParams, On};
use super::plan::{self, refused};
use super::sentences::IoJournalFact;
use super::stage::{STAGE, StageReport};
use crate::error::unreadable;
use crate::{Context, Disturbances, ScenarioError, TrialResult, wait};
use host::Roots;
use host::cgroup::IoGroup;
use load::protocol::Report;
use load::{LoadSpawner, OwnArgs, histogram};
use model::{Latency, Measure, Note, Observation, Problem, Unit};
use os::time;
use probe::{Role, Session, SessionOptions, Watched};
use std::time::{Duration, Instant};

/// How long the set-up of the stage may take.
const SET_UP_LIMIT: Duration = Duration::from_secs(180);

/// How long the stage may take to report after the end of the time. A call that takes longer
/// hangs.
pub(super) const HANG_AFTER: Duration = Duration::from_secs(30);

/// Name of the durations of calls.
const LATENCIES: &str = "call";

/// The writer counts as the holder if it was in fsync during this part of the lost time.
const HOLDS: f64 = 0.9;

/// Runs a trial and makes its observation.
pub(super) fn run(
    params: &IoJournalParams,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    let home = plan::home(context.host).map_err(ScenarioError::Missing)?;
    let mkfs = plan::mkfs().map_err(ScenarioError::Missing)?;
    // Dropping a group kills the writer in it, and removes the group.
    let group = IoGroup::create(&home).map_err(refused)?;
    let options = SessionOptions { lock: false, ..SessionOptions::new(roots) };
    let mut session = context.probe.then(|| Session::start(&options));
    let spec = serde_json::to_value(plan::spec(params, &group, mkfs));
    let spec = spec.map_err(|error| unreadable(LATENCIES, error))?;
    // The stage keeps the caller's rights: only root may mount.
    let spawner = LoadSpawner { user: None, ..context.spawner.clone() };
    let mut stage = spawner.start("journal stage", &OwnArgs::to_args(&STAGE, &spec), None)?;
    wait::ready(&mut stage, SET_UP_LIMIT, interrupted)?;
    if let Some(session) = &mut session {
        session.watch(watched(roots, stage.pid()));
        session.release();
    }
    let watch = Disturbances::start(roots, Some(stage.pid()));
    let began = Instant::now();
    stage.go()?;
    let limit = params.duration.get() + HANG_AFTER;
    let report = wait::report_before(&mut stage, limit, interrupted);
    // Without this, the end of the stage would wait for the writer's data.
    let report = report.inspect_err(|_| group.lift())?;
    let lasted = began.elapsed();
    let disturbance = watch.finish(roots);
    if let Some(session) = &mut session {
        session.stop();
    }
    let mut observation = match report {
        Some(report) => observe(params, &answer(report)?)?,
        None => hung(params, lasted),
    };
    // A victim that hangs can end only when the writer's data is written.
    group.lift();
    drop(stage);
    group.remove().map_err(refused)?;
    observation.evidence = session.map(Session::finish);
    Ok(TrialResult { observation, disturbance })
}

/// What the probes watch. The waits of the victim alone are explained: the writer waits for its own
/// cap, longer than the victim.
fn watched(roots: &Roots, stage: u32) -> Vec<Watched> {
    let mut all = vec![Watched::new(stage, "victim", Role::Victim)];
    all.extend(Watched::descendants(roots, stage, "writer", Role::Bystander));
    all
}

fn answer(report: Report) -> Result<StageReport, ScenarioError> {
    match report {
        Report::Own(report) => {
            serde_json::from_value(report).map_err(|error| unreadable(LATENCIES, error))
        }
        _ => {
            let role = STAGE.name.to_owned();
            Err(ScenarioError::Broken(Problem::WrongReport { role }))
        }
    }
}

/// The observation of a stage that did not report. The victim's call took at least for the time
/// since the end of the trial's duration and of a last pause.
fn hung(params: &IoJournalParams, watched: Duration) -> Observation {
    let window_ms = time::ms(watched);
    let mut seen = Observation { window_ms, hang: true, ..Observation::default() };
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::at_least(value, unit));
    };
    let before = params.duration.get() + params.pause.get();
    let call_ms = time::ms(watched.saturating_sub(before));
    let lost = (call_ms / (window_ms / 1e3).max(1e-9)).min(1e3);
    put(measure::LOST, lost, Unit::MillisecondsPerSecond);
    put(measure::WORST, call_ms, Unit::Milliseconds);
    seen
}

fn observe(params: &IoJournalParams, report: &StageReport) -> Result<Observation, ScenarioError> {
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
    put(measure::ROUNDS, report.rounds as f64, Unit::Count);
    put(measure::WRITER, time::ms_of_ns(report.writer_ns), Unit::Milliseconds);
    let behind = behind_writer(report);
    if let Some(behind) = behind {
        put(measure::BEHIND, 100.0 * behind, Unit::Percent);
    }
    if let Some(locked_ms) = report.locked_ms {
        put(measure::LOCKED, locked_ms as f64, Unit::Milliseconds);
    }
    seen.latencies.insert(LATENCIES.to_owned(), Latency::from_histogram(&durations));
    if params.on == On::Same && behind.is_some_and(|behind| behind >= HOLDS) {
        seen.notes.push(Note::Fact(IoJournalFact::Holder.into()));
    }
    Ok(seen)
}

/// The part of the lost time in which the writer was in fsync. None if nothing was lost.
fn behind_writer(report: &StageReport) -> Option<f64> {
    (report.lost_ns > 0).then(|| report.behind_ns as f64 / report.lost_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> StageReport {
        let mut durations = histogram::empty();
        (1..=10).for_each(|ms| histogram::record(&mut durations, ms * 100_000_000));
        StageReport {
            window_ns: 4_000_000_000,
            calls: 10,
            over: 9,
            lost_ns: 3_800_000_000,
            behind_ns: 3_610_000_000,
            worst_ns: 1_000_000_000,
            durations: histogram::encode(&durations),
            rounds: 4,
            writer_ns: 980_000_000,
            locked_ms: Some(612),
        }
    }

    #[test]
    fn calls_become_the_figures_of_a_trial() {
        let params = IoJournalParams::default();
        let seen = observe(&params, &report()).unwrap();
        let value = |name: &str| seen.measures[name].value;
        assert_eq!((value("lost"), value("worst"), value("over_50ms")), (950.0, 1000.0, 9.0));
        assert_eq!((value("calls"), value("rounds")), (2.5, 4.0));
        assert_eq!((value("writer_fsync"), value("locked")), (980.0, 612.0));
        assert!((94.9..95.1).contains(&value("behind_writer")), "{seen:?}");
        assert!((499.0..501.0).contains(&value("call")), "{seen:?}");
        assert_eq!((seen.latencies["call"].count, seen.notes.len()), (10, 1));
        let torn = StageReport { durations: "x".to_owned(), ..report() };
        assert!(observe(&params, &torn).is_err());
    }

    #[test]
    fn a_writer_is_named_only_where_it_held_the_victim_up() {
        let notes = |params: &IoJournalParams, behind_ns| {
            let report = StageReport { behind_ns, ..report() };
            observe(params, &report).unwrap().notes.len()
        };
        let case = IoJournalParams::default();
        assert_eq!((notes(&case, 3_420_000_000), notes(&case, 3_400_000_000)), (1, 0));
        assert_eq!(notes(&case.control(), 3_800_000_000), 0);
        let quiet = StageReport { lost_ns: 0, behind_ns: 0, locked_ms: None, ..report() };
        let seen = observe(&case, &quiet).unwrap();
        assert!(seen.notes.is_empty() && !seen.measures.contains_key("behind_writer"));
        assert!(!seen.measures.contains_key("locked"));
    }

    #[test]
    fn the_waits_of_the_writer_are_not_explained() {
        let stats = [("proc/7/stat", "7 (stage) S 1 x"), ("proc/8/stat", "8 (writer) S 7 x")];
        let tree = testing::Tree::new(&stats);
        let victim = Watched::new(7, "victim", Role::Victim);
        let writer = Watched::new(8, "writer", Role::Bystander);
        assert_eq!(watched(&Roots::at(tree.root()), 7), [victim, writer]);
    }

    #[test]
    fn a_victim_that_does_not_come_back_has_a_bound() {
        let hung = hung(&IoJournalParams::default(), Duration::from_millis(33_010));
        let bound = |name: &str| (hung.measures[name].value, hung.measures[name].at_least);
        assert_eq!(bound("worst"), (30_000.0, true));
        assert!(hung.hang && bound("lost").0 > 900.0 && bound("lost").1, "{hung:?}");
    }
}
