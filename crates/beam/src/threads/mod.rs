//! The threads of a VM, watched from outside.
//!
//! A sampler inside the VM stalls when its schedulers stall; this one only needs a CPU now and
//! then.

mod class;
mod kind;
mod read;
mod series;

pub use class::Class;
pub use kind::ThreadKind;
pub use series::{Shares, ThreadSeries, ThreadTotal};

use crate::error::BeamError;
use read::Files;
use series::Record;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Number of samples after which new threads are searched; known threads are read in each sample.
const SEARCH_EVERY: u64 = 8;

/// Most threads whose files stay open, two files each; a process may have 1024 files by default.
const MOST_OPEN: usize = 128;

/// Shortest time between two samples.
const LEAST: Duration = Duration::from_millis(1);

/// Watches the threads of a process until [`finish`](Self::finish); a drop ends it too.
///
/// It takes samples at a fixed interval on a thread of its own, on the CPUs that the calling
/// thread may use. Each sample reads two small files per thread, in about 8 microseconds. Late
/// samples are not repeated. Threads may vanish, and the process may end.
#[derive(Debug)]
pub struct ThreadSampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<ThreadReport>>,
}

/// What the threads of a process did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadReport {
    /// Every thread that was seen, ordered by kind.
    pub totals: Vec<ThreadTotal>,
    /// When the samples of the series were taken, since the start of sampling.
    pub times: Vec<Duration>,
    /// The series of every scheduler, ordered by kind, for a heat map.
    pub series: Vec<ThreadSeries>,
    /// Number of samples. It is larger than the length of [`ThreadReport::times`] if samples were
    /// dropped.
    pub samples: u64,
    /// Time from the first to the last sample.
    pub lasted: Duration,
}

/// Samples all threads of a process once, for the fuzzer.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(task: &Path) {
    for tid in read::threads(task) {
        let kind = read::name(task, tid).map(|name| ThreadKind::of(&name));
        let looks = [true, false].map(|keep| Files::of(task, tid, keep).look());
        let _ = (kind, looks, read::switches(task, tid));
    }
}

impl ThreadSampler {
    /// Starts to sample the process `pid` below `proc`, which is `/proc` except in tests.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(proc: &Path, pid: u32, every: Duration) -> Result<Self, BeamError> {
        let (stop, stopped) = channel();
        let task = proc.join(pid.to_string()).join("task");
        let watch = move || {
            let mut sampler = Sampler::new(task);
            let mut due = Instant::now();
            loop {
                sampler.sample();
                // Late samples are skipped, so that a busy machine does not become busier.
                due = (due + every.max(LEAST)).max(Instant::now());
                let left = due.saturating_duration_since(Instant::now());
                match stopped.recv_timeout(left) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return sampler.finish(),
                }
            }
        };
        let thread = std::thread::Builder::new().name("thread-sampler".to_owned()).spawn(watch);
        Ok(ThreadSampler { stop: Some(stop), thread: Some(thread.map_err(BeamError::Thread)?) })
    }

    /// Takes a last sample, stops, and returns the result.
    pub fn finish(mut self) -> ThreadReport {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<ThreadReport> {
        self.stop = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for ThreadSampler {
    fn drop(&mut self) {
        self.end();
    }
}

struct Sampler {
    task: PathBuf,
    record: Record,
    files: HashMap<u32, Files>,
    began: Instant,
    lasted: Duration,
}

impl Sampler {
    fn new(task: PathBuf) -> Self {
        let began = Instant::now();
        let (record, files) = (Record::default(), HashMap::new());
        Sampler { task, record, files, began, lasted: Duration::ZERO }
    }

    fn sample(&mut self) {
        if self.record.samples().is_multiple_of(SEARCH_EVERY) {
            self.search();
        }
        let at = self.began.elapsed();
        let looks: HashMap<_, _> =
            self.files.iter().filter_map(|(tid, files)| Some((*tid, files.look()?))).collect();
        self.record.add(at, &looks);
        self.lasted = at;
    }

    /// Starts to sample threads that did not exist before.
    fn search(&mut self) {
        for tid in read::threads(&self.task) {
            if self.record.threads.contains_key(&tid) {
                continue;
            }
            let Some(name) = read::name(&self.task, tid) else { continue };
            let files = Files::of(&self.task, tid, self.files.len() < MOST_OPEN);
            let Some(look) = files.look() else { continue };
            self.files.insert(tid, files);
            self.record.meet(tid, name, look.times, read::switches(&self.task, tid));
        }
    }

    fn finish(mut self) -> ThreadReport {
        self.sample();
        let mut threads: Vec<_> = self.record.threads.iter().collect();
        threads.sort_by_key(|(tid, watched)| (watched.kind, **tid));
        let total = |(tid, watched): &(&u32, &series::Watched)| {
            watched.total(**tid, read::switches(&self.task, **tid))
        };
        let series = |(tid, watched): &(&u32, &series::Watched)| watched.series(**tid);
        ThreadReport {
            totals: threads.iter().map(total).collect(),
            series: threads.iter().filter_map(series).collect(),
            times: self.record.times.clone(),
            samples: self.record.samples(),
            lasted: self.lasted,
        }
    }
}

#[cfg(test)]
mod tests;
