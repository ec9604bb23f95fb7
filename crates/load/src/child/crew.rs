//! A crew: one leader that forks many like workers, releases them together and gathers what they
//! did.
//!
//! Forking is many times cheaper than executing the binary again for each of a thousand workers,
//! and it is sound here since a leader has only one thread.

use super::control::{self, Order};
use super::failure;
use super::slots::{Slot, Slots};
use crate::protocol::{CrewReport, Failure, FailureKind, Message, Ready, Report};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::{PipeReader, PipeWriter, Read, Write};

/// How a worker is made.
pub(super) struct Crew<'a> {
    /// What the workers are called: `scanner`.
    pub name: &'a std::ffi::CStr,
    /// How many.
    pub workers: u32,
    /// Sets one worker up: pins it, renices it.
    pub set_up: &'a dyn Fn() -> std::io::Result<()>,
    /// Works until there is nothing left to do.
    pub work: &'a dyn Fn(&Slot) -> std::io::Result<()>,
}

/// Forked workers, waiting to be released.
pub(super) struct Workers {
    slots: Slots,
    pids: Vec<Pid>,
    release: PipeWriter,
    alive: PipeReader,
}

/// The pipe ends that each worker keeps.
struct WorkerEnds<'a> {
    ready: PipeWriter,
    release: PipeReader,
    alive: PipeWriter,
    leader_ends: (&'a PipeReader, &'a PipeWriter, &'a PipeReader),
}

/// Says that a crew is ready, waits for the order, and reports what it did.
pub(super) fn serve(crew: &Crew, report: fn(CrewReport) -> Report) -> Result<(), Failure> {
    let workers = crew.muster()?;
    let ready = Ready { pid: std::process::id(), workers: crew.workers, region: 0 };
    if control::say(&Message::Ready(ready)).is_err() || control::wait_for_order() == Order::Stop {
        workers.dismiss();
        return Ok(());
    }
    let done = workers.run()?;
    control::say(&Message::Report(report(done))).map_err(|e| failure("report", e))
}

impl Crew<'_> {
    /// Forks the workers and waits until all are set up.
    pub fn muster(&self) -> Result<Workers, Failure> {
        let what = || format!("{} {}s", self.workers, self.name.to_string_lossy());
        let pipe = || std::io::pipe().map_err(|e| failure(what(), e));
        let (ready_in, ready_out) = pipe()?;
        let (release_in, release_out) = pipe()?;
        let (alive_in, alive_out) = pipe()?;
        let slots = Slots::new(self.workers as usize).map_err(|e| failure(what(), e))?;
        let ends = WorkerEnds {
            ready: ready_out,
            release: release_in,
            alive: alive_out,
            leader_ends: (&ready_in, &release_out, &alive_in),
        };
        let pids = self.fork_all(&slots, &ends)?;
        drop(ends);
        let workers = Workers { slots, pids, release: release_out, alive: alive_in };
        self.await_ready(ready_in, workers)
    }

    fn fork_all(&self, slots: &Slots, ends: &WorkerEnds) -> Result<Vec<Pid>, Failure> {
        let leader = std::process::id();
        let mut pids = Vec::with_capacity(self.workers as usize);
        for (index, slot) in slots.all().iter().enumerate() {
            // SAFETY: this process has one thread, so the child may do all that the parent may.
            match unsafe { libc::fork() } {
                0 => self.be_worker(slot, ends, leader),
                pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                    Some(pid) => pids.push(pid),
                    None => {
                        let error = std::io::Error::last_os_error();
                        kill_all(&pids);
                        reap_all(&pids);
                        return Err(self.cannot_fork(index, error));
                    }
                },
            }
        }
        Ok(pids)
    }

    fn cannot_fork(&self, index: usize, error: std::io::Error) -> Failure {
        let name = self.name.to_string_lossy();
        let what = format!(
            "{name} {} of {}: {error}; a limit on processes is in the way (ulimit -u, pids.max)",
            index + 1,
            self.workers
        );
        Failure { kind: FailureKind::System, what }
    }

    /// The life of one worker; never returns into the leader's code.
    fn be_worker(&self, slot: &Slot, ends: &WorkerEnds, leader: u32) -> ! {
        let _ = rustix::thread::set_name(self.name);
        let lived = control::die_with_parent(leader)
            && close_leader_ends(ends)
            && self.live_as_worker(slot, ends);
        // SAFETY: ends this process at once, without the leader's exit handlers.
        unsafe { libc::_exit(i32::from(!lived)) }
    }

    fn live_as_worker(&self, slot: &Slot, ends: &WorkerEnds) -> bool {
        let done = (self.set_up)().and_then(|()| {
            (&ends.ready).write_all(&[1])?;
            // The release is the end of this pipe: one close wakes all.
            let mut byte = [0];
            if (&ends.release).read(&mut byte)? == 1 {
                return Ok(());
            }
            (self.work)(slot)
        });
        if let Err(error) = &done {
            slot.fail(error.raw_os_error().unwrap_or(libc::EIO));
        }
        done.is_ok()
    }

    fn await_ready(&self, mut ready: PipeReader, workers: Workers) -> Result<Workers, Failure> {
        let mut seen = 0;
        let mut bytes = [0; 256];
        while seen < self.workers as usize {
            match ready.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(count) => seen += count,
            }
        }
        if seen == self.workers as usize {
            return Ok(workers);
        }
        kill_all(&workers.pids);
        reap_all(&workers.pids);
        let error = workers.slots.all().iter().find_map(Slot::error);
        let error = error.unwrap_or_else(|| std::io::Error::other("it was killed while set up"));
        Err(failure(self.name.to_string_lossy(), error))
    }
}

/// A worker that kept the leader's ends would keep its fellows from seeing the release.
fn close_leader_ends(ends: &WorkerEnds) -> bool {
    use std::os::fd::AsRawFd;
    let (ready, release, alive) = ends.leader_ends;
    for fd in [ready.as_raw_fd(), release.as_raw_fd(), alive.as_raw_fd(), 0, 1] {
        // SAFETY: this process's own copies, of which it uses none from here on.
        unsafe { libc::close(fd) };
    }
    // Held open until this worker's end, which the leader sees by it.
    ends.alive.as_raw_fd() >= 0
}

impl Workers {
    /// Releases all workers and waits until they are done or standard input ends.
    pub fn run(self) -> Result<CrewReport, Failure> {
        drop(self.release);
        let stopped = wait_for_end(&self.alive);
        if stopped {
            kill_all(&self.pids);
        }
        let signal = reap_all(&self.pids);
        let mut report = gather(self.slots.all());
        if !stopped && let Some((killed, signal)) = signal {
            (report.killed, report.signal) = (killed, signal);
        }
        match self.slots.all().iter().find_map(Slot::error) {
            Some(error) if !stopped => Err(failure("a worker", error)),
            _ => Ok(report),
        }
    }

    /// Ends the workers without having released them.
    pub fn dismiss(self) {
        kill_all(&self.pids);
        reap_all(&self.pids);
    }
}

/// Waits until every worker has ended (false) or standard input has (true).
fn wait_for_end(alive: &PipeReader) -> bool {
    let stdin = std::io::stdin();
    loop {
        let mut fds = [PollFd::new(alive, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[0].revents().is_empty() => return false,
            Ok(_) if !fds[1].revents().is_empty() => return true,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

fn kill_all(pids: &[Pid]) {
    for pid in pids {
        // A worker that is gone already needs no signal; it is not reaped yet, so the number is its own.
        let _ = kill_process(*pid, Signal::KILL);
    }
}

/// Reaps every worker; how many a signal ended, and the first such signal.
fn reap_all(pids: &[Pid]) -> Option<(u32, i32)> {
    let mut killed = None;
    for pid in pids {
        if let Ok(Some((_, status))) = waitpid(Some(*pid), WaitOptions::empty())
            && let Some(signal) = status.terminating_signal()
        {
            let (count, first) = killed.unwrap_or((0, signal));
            killed = Some((count + 1, first));
        }
    }
    killed
}

fn gather(slots: &[Slot]) -> CrewReport {
    let rounds = slots.iter().map(Slot::rounds);
    CrewReport {
        workers: u32::try_from(slots.len()).unwrap_or(u32::MAX),
        rounds: rounds.clone().sum(),
        fewest: rounds.clone().min().unwrap_or(0),
        most: rounds.max().unwrap_or(0),
        bytes: slots.iter().map(Slot::bytes).sum(),
        killed: 0,
        signal: 0,
    }
}
