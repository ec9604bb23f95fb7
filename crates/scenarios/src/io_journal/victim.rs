//! The victim: appends a block to its file and calls fsync, and records how long that takes.

use super::params::BLOCK;
use super::span::Span;
use hdrhistogram::Histogram;
use load::histogram;
use os::time;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A call that takes longer than this counts as a stall.
const STALL_NS: u64 = 50_000_000;

/// Number of blocks that its file gets at most. After that, it writes to the same blocks again.
const MOST_BLOCKS: u64 = 2048;

/// The content of a block.
const DATA: [u8; BLOCK as usize] = [b'v'; BLOCK as usize];

/// The victim, with the durations of its calls.
pub(super) struct Victim {
    file: File,
    pub(super) calls: u64,
    /// The longest call, in nanoseconds.
    pub(super) worst_ns: u64,
    /// The calls that were stalls, in order.
    pub(super) stalls: Vec<Span>,
    durations: Histogram<u64>,
}

impl Victim {
    /// A victim that writes to this empty file.
    pub(super) fn new(file: File) -> Self {
        let durations = histogram::empty();
        Victim { file, calls: 0, worst_ns: 0, stalls: Vec::new(), durations }
    }

    /// Writes a block and calls fsync, as one call. New blocks change the file system, so fsync
    /// needs a commit of the journal.
    pub(super) fn call(&mut self) -> io::Result<()> {
        let place = self.calls % MOST_BLOCKS * BLOCK;
        let began_ns = time::now_ns();
        self.file.write_all_at(&DATA, place)?;
        self.file.sync_all()?;
        self.count(Span { began_ns, ended_ns: time::now_ns() });
        Ok(())
    }

    fn count(&mut self, call: Span) {
        let took_ns = call.length_ns();
        histogram::record(&mut self.durations, took_ns);
        self.calls += 1;
        self.worst_ns = self.worst_ns.max(took_ns);
        if took_ns > STALL_NS {
            self.stalls.push(call);
        }
    }

    /// Time of the calls that were stalls, in nanoseconds.
    pub(super) fn lost_ns(&self) -> u64 {
        self.stalls.iter().map(|stall| stall.length_ns()).sum()
    }

    /// Durations of all calls: HdrHistogram V2, base64.
    pub(super) fn durations(&self) -> String {
        histogram::encode(&self.durations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn victim() -> Victim {
        Victim::new(tempfile::tempfile().unwrap())
    }

    #[test]
    fn only_calls_of_more_than_50_milliseconds_are_lost_time() {
        let mut victim = victim();
        for took_ms in [3, 50, 51, 900] {
            victim.count(Span { began_ns: 1_000, ended_ns: 1_000 + took_ms * 1_000_000 });
        }
        assert_eq!((victim.calls, victim.stalls.len()), (4, 2));
        assert_eq!((victim.lost_ns(), victim.worst_ns), (951_000_000, 900_000_000));
        assert_eq!(histogram::decode(&victim.durations()).unwrap().len(), 4);
    }

    #[test]
    fn each_call_appends_a_block_until_the_file_is_large_enough() {
        let mut victim = victim();
        victim.call().unwrap();
        victim.call().unwrap();
        assert_eq!(victim.file.metadata().unwrap().len(), 2 * BLOCK);
        victim.calls = MOST_BLOCKS;
        victim.call().unwrap();
        assert_eq!(victim.file.metadata().unwrap().len(), 2 * BLOCK);
    }
}
