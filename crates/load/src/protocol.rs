//! Messages between a generator and the tool: one JSON object per line.
//!
//! The generator writes `ready` or `error` to its standard output and waits for a byte on its
//! standard input. Then it works and writes `report`. A worker pool takes two more bytes: `b` when
//! the window begins and `e` when it ends. Work outside the window does not count. The end of
//! standard input means stop. It also occurs when the tool dies for any reason.

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

/// [`Message::Done`] as a complete line.
pub const DONE_LINE: &[u8] = b"\"done\"\n";

/// A message from a generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The generator is set up and pinned, and waits for its release.
    Ready(Ready),
    /// The mapper has made its last call, and its report follows. Sending this touches no unmapped
    /// memory, because the load still holds the lock that a page fault needs.
    Done,
    /// The result of the work.
    Report(#[serde(deserialize_with = "deserialize_report")] Report),
    /// The set-up failed, or the generator could not continue.
    Error(Failure),
}

/// Reads a report from its text, so that one function parses all reports. Otherwise each crate that
/// reads messages has a copy of that code, which is large.
fn deserialize_report<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Report, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    parse_report(text.get()).map_err(de::Error::custom)
}

#[inline(never)]
fn parse_report(text: &str) -> serde_json::Result<Report> {
    serde_json::from_str(text)
}

/// The state of a generator after its set-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Process ID of the generator.
    pub pid: u32,
    /// Number of worker processes. A leader that does no work itself is not counted.
    pub workers: u32,
    /// Start address of the mapper's region. 0 for other generators.
    pub region: u64,
}

/// The result of a generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Result of a mapper.
    Mapper(MapperReport),
    /// Result of scanners.
    Scanners(PoolReport),
    /// Result of spinners.
    Spinners(PoolReport),
    /// Result of fibonacci threads.
    Fibonacci(FibonacciReport),
    /// Result of a generator that belongs to one scenario.
    Own(serde_json::Value),
}

/// The result of a mapper.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MapperReport {
    /// Time from the release to the return of the last call, in nanoseconds.
    pub window_ns: u64,
    /// Number of mmap calls.
    pub maps: u64,
    /// Number of munmap calls.
    pub unmaps: u64,
    /// Total time of all calls, in nanoseconds.
    pub sum_ns: u64,
    /// The longest call, in nanoseconds.
    pub worst_ns: u64,
    /// Total time of calls longer than a millisecond, in nanoseconds.
    pub stalled_ns: u64,
    /// Number of calls longer than 1, 10 and 100 ms.
    pub over: [u64; 3],
    /// Latencies of mmap: HdrHistogram V2, base64.
    pub mmap: String,
    /// Latencies of munmap: HdrHistogram V2, base64.
    pub munmap: String,
    /// The first thousand stalls, in order of time.
    pub stalls: Vec<StallSeen>,
    /// The last call, even if it was no stall. After a hang, this is the call that hung.
    pub last: Option<StallSeen>,
}

/// One call. Except for the last call, it took longer than a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallSeen {
    /// Start of the call, in nanoseconds after the release.
    pub at_ns: u64,
    /// Duration of the call, in nanoseconds.
    pub took_ns: u64,
    /// True for mmap, false for munmap.
    pub map: bool,
}

/// The result of a worker pool in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolReport {
    /// Number of workers.
    pub workers: u32,
    /// Number of complete scans, or of `stat` calls on the file.
    pub rounds: u64,
    /// The fewest rounds of one worker.
    pub fewest: u64,
    /// The most rounds of one worker.
    pub most: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Number of workers killed from outside.
    pub killed: u32,
    /// The signal that killed the first of them. 0 if none was killed.
    pub signal: i32,
}

/// The result of fibonacci threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FibonacciReport {
    /// Time from the release to the end of the last thread, in nanoseconds.
    pub window_ns: u64,
    /// Iterations of all threads together.
    pub iterations: u64,
    /// CPU time of all threads together since the release, in nanoseconds.
    pub cpu_ns: u64,
    /// The result of each thread, in the order of the threads.
    pub threads: Vec<FibonacciThread>,
    /// Number of sleeps of the slow threads.
    pub sleeps: u64,
    /// Lateness of the wake-ups after each sleep: HdrHistogram V2, base64.
    pub lateness: String,
}

/// The result of one fibonacci thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FibonacciThread {
    /// The CPU that the thread was pinned to.
    pub cpu: u32,
    /// Whether the thread never slept.
    pub fast: bool,
    /// Number of iterations.
    pub iterations: u64,
    /// The last value of the sequence, modulo 2^64.
    pub value: u64,
    /// CPU time of the thread since the release, in nanoseconds.
    pub cpu_ns: u64,
    /// The worst lateness of a wake-up, in nanoseconds; 0 for a fast thread.
    pub worst_late_ns: u64,
}

/// Why a generator gave up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// One sentence: what failed, where and why.
    pub what: String,
}

/// Kinds of failure that have different exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A value cannot be used on this machine.
    Unusable,
    /// A privilege is missing.
    Permission,
    /// A limit on processes or memory was reached.
    Limit,
    /// The kernel refused something else.
    System,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_ready_to_be_written_says_done() {
        let message: Message = serde_json::from_slice(DONE_LINE).unwrap();
        assert_eq!(message, Message::Done);
    }

    #[test]
    fn a_report_is_read_from_bytes_and_from_text() {
        let reports = [
            Report::Mapper(MapperReport { maps: 3, ..MapperReport::default() }),
            Report::Scanners(PoolReport { rounds: 5, ..PoolReport::default() }),
            Report::Fibonacci(FibonacciReport { sleeps: 7, ..FibonacciReport::default() }),
            Report::Own(serde_json::json!({ "text": "a\n\"b\"", "ns": [u64::MAX, 0] })),
        ];
        for message in reports.map(Message::Report) {
            let line = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_slice::<Message>(line.as_bytes()).unwrap(), message);
            assert_eq!(serde_json::from_str::<Message>(&line).unwrap(), message);
        }
        for line in [r#"{"report":{"unknown":1}}"#, r#"{"report":{"own":1}"#, r#"{"report":}"#] {
            assert!(serde_json::from_str::<Message>(line).is_err(), "{line}");
        }
    }
}
