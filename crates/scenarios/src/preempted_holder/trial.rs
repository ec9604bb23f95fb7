//! One trial: threads that share a lock, until their time is over.

use super::load::{Did, GENERATOR, Spec};
use super::meta::measure;
use crate::probing::{Part, Probing};
use crate::{Context, Disturbances, ScenarioError, TrialResult, wait};
use host::governor::Governor;
use load::protocol::Report;
use load::{OwnArgs, histogram};
use model::{Latency, Measure, Observation, Unit};
use probe::Role;
use std::time::Duration;

/// How long the threads may take to get ready: their work is calibrated first.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long they may take to report once their time is over: one that spins may not get a CPU soon.
const REPORT_LIMIT: Duration = Duration::from_secs(30);

/// Runs a trial and makes its observation.
pub(super) fn run(spec: &Spec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    // Rounds depend on the clock of the CPU; it is put back when the trial ends.
    let _governor = Governor::performance(roots);
    let mut probing = Probing::start(context.probe, roots);
    let told = serde_json::to_value(spec).map_err(|error| broken(&error))?;
    let args = OwnArgs::to_args(&GENERATOR, &told);
    let mut child = context.launcher.start("lock sharers", &args, None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    probing.watch(&Part { pid: child.pid(), part: "thread", role: Role::Bystander });
    probing.release();
    let watch = Disturbances::start(roots, None);
    child.go()?;
    let limit = Duration::from_millis(spec.duration_ms) + REPORT_LIMIT;
    let report = wait::report(&mut child, limit, interrupted)?;
    probing.end();
    let surroundings = watch.finish(roots);
    drop(child);
    let Report::Own(report) = report else {
        return Err(ScenarioError::Broken("another generator reported".to_owned()));
    };
    let did: Did = serde_json::from_value(report).map_err(|error| broken(&error))?;
    let observation = Observation { evidence: probing.evidence(), ..observe(spec, &did)? };
    Ok(TrialResult { observation, surroundings })
}

fn broken(error: &serde_json::Error) -> ScenarioError {
    ScenarioError::Broken(format!("lock sharers: {error}"))
}

fn observe(spec: &Spec, did: &Did) -> Result<Observation, ScenarioError> {
    let window_ms = did.window_ns as f64 / 1e6;
    let mut observation = Observation { window_ms, ..Observation::default() };
    let waits = histogram::decode(&did.waits)
        .map_err(|why| ScenarioError::Broken(format!("waits of the threads: {why}")))?;
    let seconds = (window_ms / 1e3).max(1e-9);
    let mut put = |name: &str, value: f64, unit: Unit| {
        observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    put(measure::LOST, lost(did), Unit::Percent);
    put(measure::ROUNDS, did.rounds as f64 / seconds, Unit::PerSecond);
    put(measure::WAIT_P99, waits.value_at_quantile(0.99) as f64 / 1e6, Unit::Milliseconds);
    put(measure::WORST, did.worst_ns as f64 / 1e6, Unit::Milliseconds);
    let stalled_ms = did.stalled_ns as f64 / 1e6 / f64::from(spec.threads.max(1));
    put(measure::STALLED, (stalled_ms / seconds).min(1e3), Unit::MillisecondsPerSecond);
    let preempted_ms = did.preempted_ns as f64 / 1e6;
    put(measure::PREEMPTED, (preempted_ms / seconds).min(1e3), Unit::MillisecondsPerSecond);
    put(measure::THREADS, f64::from(spec.threads), Unit::Count);
    put(measure::CPUS, spec.cpus.len() as f64, Unit::Count);
    observation.latencies.insert("wait".to_owned(), Latency::from_histogram(&waits));
    Ok(observation)
}

/// Percent of the threads' CPU time that was not their work.
fn lost(did: &Did) -> f64 {
    let part = 1.0 - did.work_ns as f64 / (did.cpu_ns as f64).max(1.0);
    (100.0 * part).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_work_is_lost() {
        let did = |work_ns, cpu_ns| Did { work_ns, cpu_ns, ..Did::default() };
        assert!((lost(&did(60, 100)) - 40.0).abs() < 1e-9);
        // Work that was calibrated a little too slow makes it no gain.
        assert_eq!(lost(&did(101, 100)), 0.0);
        assert_eq!(lost(&did(0, 0)), 100.0);
    }
}
