//! Messages between a generator and the tool: one JSON object per line.
//!
//! The generator writes `ready` or `error` to its standard output, waits for a byte on its standard
//! input, works, and writes `report`. A worker pool takes two more bytes: `b`, the window begins,
//! and `e`, it ends; what its workers do outside does not count. The end of standard input means
//! stop; it also comes when the tool dies, however it dies.

use serde::{Deserialize, Serialize};

/// [`Message::Done`] as a line, ready to be written.
pub const DONE_LINE: &[u8] = b"\"done\"\n";

/// A message of a generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Set up, pinned, and waiting to be released.
    Ready(Ready),
    /// The mapper has made its last call; its report follows. It is sent without touching memory
    /// that is not mapped yet, since the load still holds the lock that a page fault takes.
    Done,
    /// What was done.
    Report(Report),
    /// It could not be set up or could not go on.
    Error(Failure),
}

/// A generator is set up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Its process.
    pub pid: u32,
    /// Worker processes; a leader that does no work itself is not counted.
    pub workers: u32,
    /// Start of the mapper's region; 0 for others.
    pub region: u64,
}

/// What a generator did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Of a mapper.
    Mapper(MapperReport),
    /// Of scanners.
    Scanners(PoolReport),
    /// Of spinners.
    Spinners(PoolReport),
    /// Of fibonacci threads.
    Fibonacci(FibonacciReport),
    /// Of a generator that a scenario brings itself.
    Own(serde_json::Value),
}

/// What a mapper did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MapperReport {
    /// From its release to its last operation's return, in nanoseconds.
    pub window_ns: u64,
    /// Calls of mmap.
    pub maps: u64,
    /// Calls of munmap.
    pub unmaps: u64,
    /// Time in all calls, in nanoseconds.
    pub sum_ns: u64,
    /// The longest call, in nanoseconds.
    pub worst_ns: u64,
    /// Time in calls longer than a millisecond, in nanoseconds.
    pub stalled_ns: u64,
    /// Calls longer than 1, 10 and 100 ms.
    pub over: [u64; 3],
    /// Latencies of mmap: HdrHistogram V2, base64.
    pub mmap: String,
    /// Latencies of munmap: HdrHistogram V2, base64.
    pub munmap: String,
    /// The stalls as they came, the first thousand.
    pub stalls: Vec<StallSeen>,
    /// The last call, whether it was a stall or not: after a hang, the call that was hanging.
    pub last: Option<StallSeen>,
}

/// One operation, as a rule one that took longer than a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallSeen {
    /// When it began, in nanoseconds after the release.
    pub at_ns: u64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// Whether it was mmap rather than munmap.
    pub map: bool,
}

/// What a worker pool did in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolReport {
    /// Workers.
    pub workers: u32,
    /// Scans from start to end, or `stat` calls on the file.
    pub rounds: u64,
    /// The fewest rounds of one worker.
    pub fewest: u64,
    /// The most rounds of one worker.
    pub most: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Workers killed from outside.
    pub killed: u32,
    /// The signal that killed the first of them; 0 where none was.
    pub signal: i32,
}

/// What fibonacci threads did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FibonacciReport {
    /// From the release to the end of the last thread, in nanoseconds.
    pub window_ns: u64,
    /// Iterations of all threads.
    pub iterations: u64,
    /// CPU time of all threads since the release, in nanoseconds.
    pub cpu_ns: u64,
    /// Each thread, by its index.
    pub threads: Vec<FibonacciThread>,
    /// Sleeps of the slow threads.
    pub sleeps: u64,
    /// How much later than asked for each sleep ended: HdrHistogram V2, base64.
    pub lateness: String,
}

/// What one fibonacci thread did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FibonacciThread {
    /// The CPU that it was pinned to.
    pub cpu: u32,
    /// Whether it never slept.
    pub fast: bool,
    /// Iterations.
    pub iterations: u64,
    /// The number that it reached, modulo 2^64.
    pub value: u64,
    /// Its CPU time since the release, in nanoseconds.
    pub cpu_ns: u64,
    /// The worst lateness of a wake-up, in nanoseconds; 0 for a fast thread.
    pub worst_late_ns: u64,
}

/// Why a generator gave up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What sort of failure.
    pub kind: FailureKind,
    /// What, where and why, in one sentence.
    pub what: String,
}

/// Sorts of failure that end in different exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A value cannot be used on this machine.
    Unusable,
    /// A privilege is missing.
    Permission,
    /// A limit on processes or memory is in the way.
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
}
