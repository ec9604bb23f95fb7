//! The waiter: takes the mutex repeatedly, and records how long that takes.

use super::holder::{failure, read_spec};
use super::shared::{Shared, SharedMutex};
use hdrhistogram::Histogram;
use load::protocol::Failure;
use load::{OwnGenerator, histogram};
use os::time::whole_ns;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The generator.
pub(super) const WAITER: OwnGenerator = OwnGenerator { name: "mutex-waiter", prepare };

/// A wait counts as a stall if it exceeds the work of a section by more than this.
const STALL_NS: u64 = 1_000_000;

/// The settings of the waiter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WaiterSpec {
    /// Descriptor of the memory that it shares with the holder.
    pub(super) memory: i32,
    /// Its CPU.
    pub(super) cpu: u32,
    /// Whether the mutex has priority inheritance.
    pub(super) inherit: bool,
    /// CPU time of a section of the holder, in nanoseconds.
    pub(super) inside_ns: u64,
    /// Pause between two calls, in nanoseconds.
    pub(super) every_ns: u64,
    /// Duration of the work, in milliseconds.
    pub(super) duration_ms: u64,
}

/// The report of the waiter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitReport {
    /// Time in which it took the mutex repeatedly, in nanoseconds.
    pub(super) window_ns: u64,
    /// Time of waits beyond the work of a section, in nanoseconds.
    pub(super) lost_ns: u64,
    /// The longest wait, in nanoseconds.
    pub(super) worst_ns: u64,
    /// Waits for the mutex: HdrHistogram V2, base64.
    pub(super) waits: String,
}

fn prepare(spec: Value) -> Result<load::Work, Failure> {
    let spec: WaiterSpec = read_spec(WAITER.name, spec)?;
    let cannot = |error: std::io::Error| failure(WAITER.name, error);
    let shared = Shared::inherited(spec.memory).map_err(cannot)?;
    os::pin::pin(spec.cpu).map_err(cannot)?;
    Ok(Box::new(move || {
        let report = take_again_and_again(&spec, shared.contents()).map_err(cannot)?;
        serde_json::to_value(report).map_err(|error| failure(WAITER.name, error))
    }))
}

fn take_again_and_again(spec: &WaiterSpec, shared: &SharedMutex) -> std::io::Result<WaitReport> {
    let (began, duration) = (Instant::now(), Duration::from_millis(spec.duration_ms));
    let mut waits: Histogram<u64> = histogram::empty();
    let (mut lost_ns, mut worst_ns) = (0, 0);
    while began.elapsed() < duration {
        let asked = Instant::now();
        shared.take(spec.inherit)?;
        let waited_ns = whole_ns(asked.elapsed());
        shared.let_go(spec.inherit)?;
        histogram::record(&mut waits, waited_ns);
        lost_ns += lost_of(waited_ns, spec.inside_ns);
        worst_ns = worst_ns.max(waited_ns);
        std::thread::sleep(Duration::from_nanos(spec.every_ns));
    }
    let waits = histogram::encode(&waits);
    Ok(WaitReport { window_ns: whole_ns(began.elapsed()), lost_ns, worst_ns, waits })
}

/// The part of a wait that a holder with a CPU would not cause.
fn lost_of(waited_ns: u64, inside_ns: u64) -> u64 {
    let beyond = waited_ns.saturating_sub(inside_ns);
    if beyond > STALL_NS { beyond } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_the_work_of_a_section_is_no_loss() {
        let lost = |waited_ms: u64| lost_of(waited_ms * 1_000_000, 5_000_000) / 1_000_000;
        assert_eq!([0, 5, 6, 7, 300].map(lost), [0, 0, 0, 2, 295]);
    }

    #[test]
    fn a_wait_for_a_holder_is_counted_whole() {
        let shared = SharedMutex::default();
        let spec = WaiterSpec {
            memory: 0,
            cpu: 0,
            inherit: false,
            inside_ns: 1_000_000,
            every_ns: 10_000,
            duration_ms: 200,
        };
        shared.take(false).unwrap();
        let report = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| take_again_and_again(&spec, &shared));
            while !shared.is_waited_for() && !waiter.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(20));
            shared.let_go(false).unwrap();
            waiter.join().unwrap().unwrap()
        });
        assert!(report.worst_ns > 10_000_000, "{report:?}");
        assert!(report.lost_ns > 8_000_000 && report.lost_ns < report.window_ns, "{report:?}");
        assert!(!histogram::decode(&report.waits).unwrap().is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"cpu": "many"})).is_err());
    }
}
