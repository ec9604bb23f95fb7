//! Fibonacci threads: some run all the time, and some sleep most of the time. Under a CPU quota,
//! the slow threads may take quota from the fast threads without using it.

mod sequence;
mod worker;

use super::control::{self, Order};
use super::cpu_list::CpuList;
use super::failure::failure;
use super::line::Line;
use crate::histogram;
use crate::protocol::{Failure, FailureKind, FibonacciReport, FibonacciThread, Message};
use crate::protocol::{Ready, Report};
use clap::Args;
use os::time;
use os::time::now_ns;
use os::user::User;
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::{Shared, ThreadSpec};

/// The largest number of threads.
pub const MOST_THREADS: u32 = 1 << 16;

/// Default sleep of a slow thread, in microseconds.
const SLEEP_US: u64 = 10_000;

/// Stack size of a thread, in bytes. Thousands of stacks of the default size would not fit in
/// memory.
const STACK: usize = 128 << 10;

/// Options of fibonacci threads.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FibonacciArgs {
    /// Number of fast threads: threads whose index modulo the number of CPUs is below this number
    #[arg(short, long, default_value_t = 1)]
    pub fast: u32,
    /// Total number of threads, at least the number of fast threads; the number of CPUs if absent
    #[arg(short, long)]
    pub threads: Option<u32>,
    /// Make the first threads fast, whatever CPUs they are pinned to
    #[arg(long)]
    pub fast_first: bool,
    /// How long a slow thread sleeps after each round, in microseconds
    #[arg(long, default_value_t = SLEEP_US)]
    pub sleep_us: u64,
    /// How long to work, in milliseconds
    #[arg(long, default_value_t = 5_000)]
    pub duration_ms: u64,
    /// CPUs to pin the threads to, in turns, such as 0-3,8; all CPUs that the process may use if
    /// absent
    #[arg(long)]
    pub cpus: Option<CpuList>,
    /// Control group to join; the process writes its own pid to PATH/cgroup.procs
    #[arg(long, value_name = "PATH")]
    pub join: Vec<PathBuf>,
    /// Process whose death ends the threads; none if absent
    #[arg(long)]
    pub parent: Option<u32>,
}

impl FibonacciArgs {
    /// Options for `threads` threads, one of them fast, for `duration`, with defaults for the
    /// rest.
    pub fn new(threads: u32, duration: Duration) -> Self {
        FibonacciArgs {
            fast: 1,
            threads: Some(threads),
            fast_first: false,
            sleep_us: SLEEP_US,
            duration_ms: time::whole_ms(duration),
            cpus: None,
            join: Vec::new(),
            parent: None,
        }
    }

    /// The command line for these options.
    pub fn to_args(&self) -> Vec<String> {
        let mut line = Line::of("fibonacci");
        line.put("fast", Some(self.fast));
        line.put("threads", self.threads);
        line.put("sleep-us", (self.sleep_us != SLEEP_US).then_some(self.sleep_us));
        line.put("duration-ms", Some(self.duration_ms));
        line.put("cpus", self.cpus.as_ref());
        for path in &self.join {
            line.put("join", Some(path.display()));
        }
        line.put("parent", self.parent);
        let mut words = line.words();
        words.extend(self.fast_first.then(|| "--fast-first".to_owned()));
        words
    }

    /// How long to work.
    pub fn duration(&self) -> Duration {
        Duration::from_millis(self.duration_ms)
    }

    fn thread_specs(&self) -> Result<Vec<ThreadSpec>, Failure> {
        let cpus = match &self.cpus {
            Some(cpus) => cpus.clone(),
            None => CpuList::allowed().map_err(|e| failure("fibonacci: CPUs to use", e))?,
        };
        let count = u32::try_from(cpus.count()).unwrap_or(u32::MAX);
        let threads = self.threads.unwrap_or(count);
        let absurd_count = [threads, threads.max(self.fast)].into_iter().find(|&n| is_absurd(n));
        if let Some(threads) = absurd_count {
            return Err(absurd(threads));
        }
        let spec = |index: u32| ThreadSpec {
            cpu: cpus.of_thread(index as usize),
            fast: if self.fast_first { index } else { index % count } < self.fast,
            sleep: Duration::from_micros(self.sleep_us),
        };
        Ok((0..threads.max(self.fast)).map(spec).collect())
    }
}

/// Threads that are set up and wait for their release. If this value is dropped, they end.
#[derive(Debug)]
pub struct Fibonacci {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<(FibonacciThread, u64)>>,
    release: PipeWriter,
    duration: Duration,
}

pub(super) fn serve(args: &FibonacciArgs, user: Option<User>) -> Result<(), Failure> {
    if !control::die_with(args.parent) {
        return Ok(());
    }
    let fibonacci = Fibonacci::set_up(args)?;
    // The process is in its control groups, which perhaps only root can join. All its threads
    // change the user together.
    if !control::step_down(user, args.parent)? {
        return Ok(());
    }
    let workers = u32::try_from(fibonacci.threads.len()).unwrap_or(u32::MAX);
    let ready = Ready { pid: std::process::id(), workers, region: 0 };
    if control::send(&Message::Ready(ready)).is_err() || control::wait_for_order() == Order::Stop {
        return Ok(());
    }
    let report = fibonacci.work(stdin_ends_within)?;
    control::send(&Message::Report(Report::Fibonacci(report)))
        .map_err(|e| failure("report of the fibonacci threads", e))
}

impl Fibonacci {
    /// Starts and pins all threads, which then wait. Afterwards it joins the control groups.
    ///
    /// The groups come last, so they are not charged for the set-up, and a small quota does not
    /// slow the set-up down.
    ///
    /// # Errors
    /// If a group cannot be joined, a thread cannot be started, or a CPU cannot be used.
    pub fn set_up(args: &FibonacciArgs) -> Result<Self, Failure> {
        let thread_specs = args.thread_specs()?;
        let groups = args.join.iter().map(|path| open_group(path));
        let groups: Vec<(PathBuf, File)> = groups.collect::<Result<_, _>>()?;
        let (reader, release) = std::io::pipe().map_err(|e| failure("fibonacci threads", e))?;
        let shared = Arc::new(Shared::new(reader));
        let mut fibonacci =
            Fibonacci { shared, threads: Vec::new(), release, duration: args.duration() };
        fibonacci.start(&thread_specs)?;
        for (path, file) in groups {
            join_group(&path, file)?;
        }
        Ok(fibonacci)
    }

    fn start(&mut self, thread_specs: &[ThreadSpec]) -> Result<(), Failure> {
        let (sender, receiver) = mpsc::channel();
        for (index, &spec) in thread_specs.iter().enumerate() {
            let (shared, sender) = (Arc::clone(&self.shared), sender.clone());
            let body = move || {
                let ready = spec.set_up();
                // The starting thread waits for this message from every thread before it continues
                // or fails.
                let _ = sender.send((spec.cpu, ready));
                drop(sender);
                spec.run(&shared)
            };
            let name = format!("{}-{index}", if spec.fast { "fast" } else { "slow" });
            let thread = std::thread::Builder::new().name(name).stack_size(STACK).spawn(body);
            let thread = thread.map_err(|e| cannot_start(index, thread_specs.len(), &e))?;
            self.threads.push(thread);
        }
        drop(sender);
        let unusable = |(cpu, ready): (u32, std::io::Result<()>)| Some((cpu, ready.err()?));
        match receiver.iter().filter_map(unusable).next() {
            Some((cpu, error)) => Err(failure(format!("fibonacci thread on CPU {cpu}"), error)),
            None => Ok(()),
        }
    }

    /// Releases all threads together and reports their results.
    ///
    /// `ended` waits for at most the given duration. It returns whether the threads must end
    /// early.
    ///
    /// # Errors
    /// If a thread panicked.
    pub fn work(self, ended: impl FnOnce(Duration) -> bool) -> Result<FibonacciReport, Failure> {
        let Fibonacci { shared, threads, release, duration } = self;
        let began = now_ns();
        let lasts = time::whole_ns(duration);
        shared.end_at(began.saturating_add(lasts));
        drop(release);
        if ended(duration) {
            shared.stop();
        }
        let mut report = FibonacciReport::default();
        for thread in threads {
            let (done, at) = thread.join().map_err(|_| lost())?;
            report.window_ns = report.window_ns.max(at.saturating_sub(began));
            report.iterations += done.iterations;
            report.cpu_ns += done.cpu_ns;
            report.threads.push(done);
        }
        let lateness = shared.lateness();
        report.sleeps = lateness.len();
        report.lateness = histogram::encode(&lateness);
        Ok(report)
    }
}

/// Whether standard input ends within `limit`.
fn stdin_ends_within(limit: Duration) -> bool {
    let limit = time::whole_ns(limit);
    let deadline = now_ns().saturating_add(limit);
    let stdin = std::io::stdin();
    loop {
        let left = Duration::from_nanos(deadline.saturating_sub(now_ns()));
        // A time that is too long for the kernel means no limit.
        let left = rustix::time::Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], left.as_ref()) {
            Ok(0) => return false,
            // The tool sends some bytes to all generators. They mean nothing to this one.
            Ok(_) if control::read_byte().is_some() => {}
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return true,
        }
    }
}

fn open_group(group: &Path) -> Result<(PathBuf, File), Failure> {
    let path = group.join("cgroup.procs");
    match File::options().write(true).open(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(cannot_join(&path, error)),
    }
}

/// Moves this process with all its threads into the group.
fn join_group(path: &Path, mut file: File) -> Result<(), Failure> {
    let pid = std::process::id().to_string();
    file.write_all(pid.as_bytes()).map_err(|error| cannot_join(path, error))
}

fn cannot_join(path: &Path, error: std::io::Error) -> Failure {
    failure(format!("fibonacci: cannot join the group of {}", path.display()), error)
}

fn cannot_start(index: usize, all: usize, error: &std::io::Error) -> Failure {
    let what = format!(
        "fibonacci thread {} of {all}: {error}; a limit on threads is too low (ulimit -u, \
         pids.max)",
        index + 1
    );
    Failure { kind: FailureKind::System, what }
}

fn is_absurd(threads: u32) -> bool {
    !(1..=MOST_THREADS).contains(&threads)
}

fn absurd(threads: u32) -> Failure {
    let what = format!("fibonacci: {threads} threads; allowed are 1 to {MOST_THREADS}");
    Failure { kind: FailureKind::Unusable, what }
}

fn lost() -> Failure {
    Failure { kind: FailureKind::System, what: "fibonacci: a thread was lost".to_owned() }
}

#[cfg(test)]
mod tests;
