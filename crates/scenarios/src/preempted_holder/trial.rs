//! One trial: threads share a lock until the time is over.

use super::load::{GENERATOR, SharersReport};
use super::meta::{MARGIN, measure};
use super::spec::Spec;
use crate::error::unreadable;
use crate::probing::{Part, Probing};
use crate::{Context, Disturbances, ScenarioError, TrialResult, wait};
use host::governor::Governor;
use load::protocol::Report;
use load::{OwnArgs, histogram};
use model::{Latency, Measure, Observation, Problem, Unit};
use os::time;
use probe::Role;
use std::time::{Duration, Instant};

/// How long the set-up of the threads may take. Their work is calibrated first.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long the threads may take to report after the end of the time. The holder of a lock that
/// others spin for may have to wait for a CPU. Threads that take longer hang.
pub(super) const HANG_AFTER: Duration = Duration::from_secs(30);

/// Runs a trial and makes its observation.
pub(super) fn run(spec: &Spec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    run_for(spec, HANG_AFTER, context)
}

fn run_for(
    spec: &Spec,
    hang_after: Duration,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    // The rounds depend on the CPU's clock. The governor is restored when the trial ends.
    let _governor = Governor::performance(roots);
    let mut probing = Probing::start(context.probe, roots);
    let told = serde_json::to_value(spec).map_err(|error| unreadable("wait", error))?;
    let args = OwnArgs::to_args(&GENERATOR, &told);
    let mut child = context.spawner.start("lock sharers", &args, None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    probing.watch(&Part { pid: child.pid(), part: "thread", role: Role::Bystander });
    probing.release();
    let watch = Disturbances::start(roots, None);
    let began = Instant::now();
    child.go()?;
    let limit = Duration::from_millis(spec.duration_ms) + hang_after;
    let report = wait::report_before(&mut child, limit, interrupted)?;
    let watched = began.elapsed();
    probing.end();
    let disturbance = watch.finish(roots);
    drop(child);
    let observation = match report {
        Some(Report::Own(report)) => observe(
            spec,
            &serde_json::from_value(report).map_err(|error| unreadable("wait", error))?,
        )?,
        Some(_) => {
            let role = GENERATOR.name.to_owned();
            return Err(ScenarioError::Broken(Problem::WrongReport { role }));
        }
        None => hung(spec, watched),
    };
    let observation = Observation { evidence: probing.evidence(), ..observation };
    Ok(TrialResult { observation, disturbance })
}

/// The observation of threads that never reported. The judged figure gets a bound without
/// information. What counts is that they hung.
fn hung(spec: &Spec, watched: Duration) -> Observation {
    let window_ms = time::ms(watched);
    let mut observation = Observation { window_ms, hang: true, ..Observation::default() };
    let lost = Measure::at_least(0.0, Unit::Percent);
    observation.measures.insert(measure::LOST.to_owned(), lost);
    add_sizes(spec, &mut observation);
    observation
}

fn observe(spec: &Spec, report: &SharersReport) -> Result<Observation, ScenarioError> {
    let window_ms = time::ms_of_ns(report.window_ns);
    let mut observation = Observation { window_ms, ..Observation::default() };
    let waits = histogram::decode(&report.waits).map_err(|error| unreadable("wait", error))?;
    let seconds = (window_ms / 1e3).max(1e-9);
    observation.measures.insert(measure::LOST.to_owned(), lost(report));
    let mut put = |name: &str, value: f64, unit: Unit| {
        observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    put(measure::ROUNDS, report.rounds as f64 / seconds, Unit::PerSecond);
    put(measure::WAIT_P99, time::ms_of_ns(waits.value_at_quantile(0.99)), Unit::Milliseconds);
    put(measure::WORST, time::ms_of_ns(report.worst_ns), Unit::Milliseconds);
    let stalled_ms = time::ms_of_ns(report.stalled_ns) / f64::from(spec.threads.max(1));
    put(measure::STALLED, (stalled_ms / seconds).min(1e3), Unit::MillisecondsPerSecond);
    let preempted_ms = time::ms_of_ns(report.preempted_ns);
    put(measure::PREEMPTED, (preempted_ms / seconds).min(1e3), Unit::MillisecondsPerSecond);
    put(measure::FAULTS, report.faults as f64 / seconds, Unit::PerSecond);
    put(measure::EXTENDED, report.extended as f64 / seconds, Unit::PerSecond);
    add_sizes(spec, &mut observation);
    observation.latencies.insert("wait".to_owned(), Latency::from_histogram(&waits));
    Ok(observation)
}

fn add_sizes(spec: &Spec, observation: &mut Observation) {
    for (name, count) in
        [(measure::THREADS, f64::from(spec.threads)), (measure::CPUS, spec.cpus.len() as f64)]
    {
        observation.measures.insert(name.to_owned(), Measure::exact(count, Unit::Count));
    }
}

/// Percent of the threads' CPU time that was not their work.
///
/// Work that was calibrated as slightly too slow must not count as a gain. If it exceeds the CPU
/// time by more than the margin, the CPUs ran faster in the trial than in both calibrations, and
/// the loss is not known.
fn lost(report: &SharersReport) -> Measure {
    let part = 1.0 - report.work_ns as f64 / (report.cpu_ns as f64).max(1.0);
    let percent = 100.0 * part;
    if percent < -MARGIN {
        return Measure::at_least(0.0, Unit::Percent);
    }
    Measure::exact(percent.clamp(0.0, 100.0), Unit::Percent)
}

#[cfg(test)]
mod tests {
    use super::super::lock::LockKind;
    use super::super::params::Fault;
    use super::*;
    use crate::{Host, LoadSpawner};
    use host::Roots;
    use model::Machine;

    #[test]
    fn what_is_not_work_is_lost() {
        let report =
            |work_ns, cpu_ns| SharersReport { work_ns, cpu_ns, ..SharersReport::default() };
        assert!((lost(&report(60, 100)).value - 40.0).abs() < 1e-9);
        assert_eq!(lost(&report(104, 100)), Measure::exact(0.0, Unit::Percent));
        assert_eq!(lost(&report(106, 100)), Measure::at_least(0.0, Unit::Percent));
        assert_eq!(lost(&report(0, 0)).value, 100.0);
    }

    /// A trial whose generator prints this text at its start, and then nothing.
    fn trial_of(says: &str) -> Result<Observation, ScenarioError> {
        let script = format!("echo '{says}'; exec sleep 600");
        let prefix = vec!["-c".to_owned(), script];
        let spawner = LoadSpawner { program: "/bin/sh".into(), prefix, user: None };
        let (roots, machine) = (Roots::at("/nonexistent"), Machine::default());
        let spec = Spec {
            threads: 8,
            cpus: vec![0, 1],
            lock: LockKind::Spin,
            inside_ns: 1,
            outside_ns: 1,
            fault: Fault::None,
            pages: 1,
            huge: false,
            extension: false,
            duration_ms: 1,
        };
        let mut context = Context {
            host: &Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() },
            spawner: &spawner,
            seed: 1,
            probe: false,
            interrupted: &|| false,
            tick: &mut |_| {},
        };
        run_for(&spec, Duration::from_millis(5), &mut context).map(|result| result.observation)
    }

    #[test]
    fn threads_that_never_report_hang() {
        let seen = trial_of(r#"{"ready":{"pid":1,"workers":1,"region":0}}"#).unwrap();
        assert!(seen.hang && seen.measures[measure::LOST].at_least, "{seen:?}");
        assert!(seen.window_ms >= 5.0, "{seen:?}");
        assert_eq!(seen.measures[measure::THREADS].value, 8.0);
    }

    #[test]
    fn a_generator_that_gives_up_is_an_error() {
        let refused = trial_of(r#"{"error":{"kind":"limit","what":"no more threads"}}"#);
        assert!(matches!(refused, Err(ScenarioError::Missing(_))), "{refused:?}");
    }
}
