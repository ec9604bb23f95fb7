//! The holder, and its rivals, which compete for its CPU.

use super::shared::{Shared, SharedMutex};
use load::OwnGenerator;
use load::protocol::{Failure, FailureKind};
use os::time::{thread_cpu_ns, whole_ns};
use rustix::process::setpriority_process;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The generator of the holder.
pub(super) const HOLDER: OwnGenerator = OwnGenerator { name: "mutex-holder", prepare: holder };

/// The generator of a rival.
pub(super) const RIVAL: OwnGenerator = OwnGenerator { name: "mutex-rival", prepare: rival };

/// The settings of the holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HolderSpec {
    /// Descriptor of the memory that it shares with the waiter.
    pub(super) memory: i32,
    /// Its CPU.
    pub(super) cpu: u32,
    /// The control groups that it joins.
    pub(super) groups: Vec<PathBuf>,
    /// Its nice value. None: unchanged.
    pub(super) nice: Option<u32>,
    /// Whether its policy is SCHED_IDLE.
    pub(super) idle: bool,
    /// Whether the mutex has priority inheritance.
    pub(super) inherit: bool,
    /// CPU time of a section, in nanoseconds.
    pub(super) inside_ns: u64,
    /// Sleep after a section, in nanoseconds.
    pub(super) rest_ns: u64,
}

/// The settings of a rival.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RivalSpec {
    /// Descriptor of the shared memory, as for the holder.
    pub(super) memory: i32,
    /// The holder's CPU.
    pub(super) cpu: u32,
}

/// A failure of one of these generators.
pub(super) fn failure(name: &str, what: impl std::fmt::Display) -> Failure {
    Failure { kind: FailureKind::System, what: format!("{name}: {what}") }
}

/// Reads the specification of a generator.
pub(super) fn read_spec<T: serde::de::DeserializeOwned>(
    name: &str,
    spec: Value,
) -> Result<T, Failure> {
    serde_json::from_value(spec)
        .map_err(|error| Failure { kind: FailureKind::Unusable, what: format!("{name}: {error}") })
}

fn holder(spec: Value) -> Result<load::Work, Failure> {
    let spec: HolderSpec = read_spec(HOLDER.name, spec)?;
    let shared = set_up(&spec).map_err(|error| failure(HOLDER.name, error))?;
    Ok(Box::new(move || {
        hold(&spec, shared.contents()).map_err(|error| failure(HOLDER.name, error))?;
        Ok(Value::Null)
    }))
}

fn set_up(spec: &HolderSpec) -> std::io::Result<Shared> {
    let shared = Shared::inherited(spec.memory)?;
    os::pin::pin(spec.cpu)?;
    if let Some(nice) = spec.nice.and_then(|nice| i32::try_from(nice).ok()) {
        setpriority_process(None, nice)?;
    }
    if spec.idle {
        os::policy::become_idle()?;
    }
    // This comes last, because a quota may throttle the process from here on.
    load::child::scanner::join(&spec.groups)?;
    Ok(shared)
}

/// Takes and holds the mutex repeatedly until the time is over.
fn hold(spec: &HolderSpec, shared: &SharedMutex) -> std::io::Result<()> {
    while shared.stop.load(Relaxed) == 0 {
        shared.take(spec.inherit)?;
        let (began, before) = (Instant::now(), thread_cpu_ns());
        while thread_cpu_ns().saturating_sub(before) < spec.inside_ns {
            std::hint::spin_loop();
        }
        let held_ns = whole_ns(began.elapsed());
        let off_cpu_ns = held_ns.saturating_sub(thread_cpu_ns().saturating_sub(before));
        shared.let_go(spec.inherit)?;
        shared.off_cpu_ns.fetch_add(off_cpu_ns, Relaxed);
        shared.sections.fetch_add(1, Relaxed);
        std::thread::sleep(Duration::from_nanos(spec.rest_ns));
    }
    Ok(())
}

fn rival(spec: Value) -> Result<load::Work, Failure> {
    let spec: RivalSpec = read_spec(RIVAL.name, spec)?;
    let shared = Shared::inherited(spec.memory).map_err(|error| failure(RIVAL.name, error))?;
    os::pin::pin(spec.cpu).map_err(|error| failure(RIVAL.name, error))?;
    Ok(Box::new(move || {
        while shared.contents().stop.load(Relaxed) == 0 {
            std::hint::spin_loop();
        }
        Ok(Value::Null)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_counted_until_the_time_is_over() {
        let shared = SharedMutex::default();
        let spec = HolderSpec {
            memory: 0,
            cpu: 0,
            groups: Vec::new(),
            nice: None,
            idle: false,
            inherit: false,
            inside_ns: 10_000,
            rest_ns: 10_000,
        };
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| hold(&spec, &shared));
            while shared.sections.load(Relaxed) < 3 && !holder.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            shared.stop.store(1, Relaxed);
            holder.join().unwrap().unwrap();
        });
        assert!(shared.sections.load(Relaxed) >= 3);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(holder(serde_json::json!({"cpu": "many"})).is_err());
        assert!(rival(serde_json::json!({"memory": -1, "cpu": 0})).is_err());
    }
}
