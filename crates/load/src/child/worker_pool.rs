//! A worker pool: one leader forks many equal workers, releases them together and sums up their
//! results.
//!
//! Forking is much cheaper than executing the binary again for each of a thousand workers. It is
//! safe here because the leader has only one thread.

use super::control::{self, Order};
use super::failure::failure;
use super::slots::{Slot, Slots};
use crate::protocol::{Failure, FailureKind, Message, PoolReport, Ready, Report};
use os::user::User;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid,
};
use std::collections::HashSet;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::{Duration, Instant};

/// The task of a worker pool.
pub(super) struct PoolSpec<'a> {
    /// The name of a worker: `scanner`.
    pub name: &'a std::ffi::CStr,
    /// The file that a worker reads, for messages: `/proc/12/smaps`.
    pub object: String,
    /// The user that all of them become after the set-up. None: they stay the caller.
    pub user: Option<User>,
    /// The leader dies when this process dies. None: no such process.
    pub parent: Option<u32>,
    /// The workers are killed after this time in any case. A tool that was stopped must not leave
    /// its load running.
    pub limit: Option<Duration>,
    /// Number of workers.
    pub workers: u32,
    /// Sets one worker up: its CPU and its nice value.
    pub set_up: &'a dyn Fn() -> std::io::Result<()>,
    /// The work of one worker. It returns when nothing is left to do.
    pub work: &'a dyn Fn(&Slot) -> std::io::Result<()>,
}

/// Forked workers that wait for their release.
pub(super) struct WorkerPool {
    slots: Slots,
    pids: Vec<Pid>,
    release: PipeWriter,
    alive: PipeReader,
}

/// The pipe ends that each worker keeps.
struct WorkerEnds<'a> {
    ready: PipeWriter,
    release: PipeReader,
    /// Stays open until the worker ends, so the leader can detect that end.
    _alive: PipeWriter,
    leader_ends: (&'a PipeReader, &'a PipeWriter, &'a PipeReader),
}

/// Reports that the pool is ready, waits for the order to begin, and sends the report.
pub(super) fn serve(spec: &PoolSpec, report: fn(PoolReport) -> Report) -> Result<(), Failure> {
    // ps and top show this name instead of `exe`. Nothing depends on it.
    let _ = rustix::thread::set_name(spec.name);
    let workers = spec.spawn()?;
    // The leader then has the same user as its workers, so it can still kill them.
    if !control::step_down(spec.user, spec.parent)? {
        workers.kill();
        return Ok(());
    }
    let ready = Ready { pid: std::process::id(), workers: spec.workers, region: 0 };
    if control::send(&Message::Ready(ready)).is_err() || control::wait_for_order() == Order::Stop {
        workers.kill();
        return Ok(());
    }
    let done = workers.run(spec)?;
    control::send(&Message::Report(report(done))).map_err(|e| failure("report", e))
}

impl PoolSpec<'_> {
    /// Forks the workers and waits until all of them are set up.
    pub fn spawn(&self) -> Result<WorkerPool, Failure> {
        let what = || format!("{} {}s", self.workers, self.name.to_string_lossy());
        let pipe = || std::io::pipe().map_err(|e| failure(what(), e));
        let (ready_in, ready_out) = pipe()?;
        let (release_in, release_out) = pipe()?;
        let (alive_in, alive_out) = pipe()?;
        let slots = Slots::new(self.workers as usize).map_err(|e| failure(what(), e))?;
        let ends = WorkerEnds {
            ready: ready_out,
            release: release_in,
            _alive: alive_out,
            leader_ends: (&ready_in, &release_out, &alive_in),
        };
        let pids = self.fork_all(&slots, &ends)?;
        drop(ends);
        let workers = WorkerPool { slots, pids, release: release_out, alive: alive_in };
        self.await_ready(ready_in, workers)
    }

    fn fork_all(&self, slots: &Slots, ends: &WorkerEnds) -> Result<Vec<Pid>, Failure> {
        let leader = std::process::id();
        let mut pids = Vec::with_capacity(self.workers as usize);
        for (index, slot) in slots.all().iter().enumerate() {
            // SAFETY: this process has one thread, so the child may do everything that the parent
            // may.
            match unsafe { libc::fork() } {
                0 => self.worker_main(slot, ends, leader),
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
        let what = format!("{name} {} of {}: {error}", index + 1, self.workers);
        Failure { kind: FailureKind::Limit, what }
    }

    /// Runs one worker. It never returns into the leader's code.
    fn worker_main(&self, slot: &Slot, ends: &WorkerEnds, leader: u32) -> ! {
        let _ = rustix::thread::set_name(self.name);
        close_leader_ends(ends);
        let succeeded = control::die_with(Some(leader)) && self.run_worker(slot, ends, leader);
        // SAFETY: this ends the process at once, without the leader's exit handlers.
        unsafe { libc::_exit(i32::from(!succeeded)) }
    }

    fn run_worker(&self, slot: &Slot, ends: &WorkerEnds, leader: u32) -> bool {
        let done = (self.set_up)().and_then(|()| {
            // After the set-up, the worker no longer needs the caller's rights.
            self.user.map_or(Ok(()), User::become_it)?;
            if !control::die_with(Some(leader)) {
                return Ok(());
            }
            (&ends.ready).write_all(&[1])?;
            // If another worker died before it sent its byte, the leader waits for the end of this
            // pipe.
            close(&ends.ready);
            // The end of this pipe is the release. One close wakes all workers.
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

    fn await_ready(
        &self,
        mut ready: PipeReader,
        workers: WorkerPool,
    ) -> Result<WorkerPool, Failure> {
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
        let error = error.unwrap_or_else(|| std::io::Error::other("it was killed during setup"));
        Err(failure(self.name.to_string_lossy(), error))
    }
}

/// If a worker kept the leader's ends, the other workers would not see the release.
fn close_leader_ends(ends: &WorkerEnds) {
    let (ready, release, alive) = ends.leader_ends;
    close(ready);
    close(release);
    close(alive);
    close(&std::io::stdin());
    close(&std::io::stdout());
}

/// Closes this process's copy of a descriptor that it no longer uses. A worker never returns to
/// code that would close the descriptor again.
fn close(fd: &impl std::os::fd::AsRawFd) {
    // SAFETY: see above.
    unsafe { libc::close(fd.as_raw_fd()) };
}

impl WorkerPool {
    /// Releases all workers and waits until all have ended, standard input ends, or the time limit
    /// passes.
    fn run(self, spec: &PoolSpec) -> Result<PoolReport, Failure> {
        drop(self.release);
        let mut tally = Tally::default();
        let deadline = spec.limit.map(|limit| Instant::now() + limit);
        let ended = wait_for_end(&self.alive, deadline, &mut |order| match order {
            b'b' => tally.begin = counts(self.slots.all()),
            _ => tally.end = Some(counts(self.slots.all())),
        });
        // A worker that ended before the leader's kill was killed from outside. Its end of the
        // pipe closes some time before the worker can be reaped.
        let exited = match ended {
            true => self.pids.iter().copied().collect(),
            false => find_exited(&self.pids),
        };
        kill_all(&self.pids);
        let (mut killed, mut signal) = (0, 0);
        for pid in &self.pids {
            let ended_by = wait_for(*pid);
            if exited.contains(pid) && ended_by != 0 {
                killed += 1;
                signal = if signal == 0 { ended_by } else { signal };
            }
        }
        if let Some(error) = self.slots.all().iter().find_map(Slot::error) {
            let name = spec.name.to_string_lossy();
            return Err(failure(format!("{name} of {}", spec.object), error));
        }
        Ok(PoolReport { killed, signal, ..tally.report(&counts(self.slots.all())) })
    }

    /// Ends the workers without releasing them.
    fn kill(self) {
        kill_all(&self.pids);
        reap_all(&self.pids);
    }
}

/// Rounds and bytes of one worker.
type Counts = (u64, u64);

fn counts(slots: &[Slot]) -> Vec<Counts> {
    slots.iter().map(|slot| (slot.rounds(), slot.bytes())).collect()
}

/// The counts of the workers at the start and at the end of the window.
#[derive(Default)]
struct Tally {
    begin: Vec<Counts>,
    end: Option<Vec<Counts>>,
}

impl Tally {
    /// The work in the window. If the end of the window was not announced, the window ends at
    /// `now`.
    fn report(&self, now: &[Counts]) -> PoolReport {
        let end = self.end.as_deref().unwrap_or(now);
        let begin = self.begin.iter().copied().chain(std::iter::repeat((0, 0)));
        let done: Vec<Counts> =
            end.iter().zip(begin).map(|(end, begin)| (end.0 - begin.0, end.1 - begin.1)).collect();
        let rounds = || done.iter().map(|(rounds, _)| *rounds);
        PoolReport {
            workers: u32::try_from(done.len()).unwrap_or(u32::MAX),
            rounds: rounds().sum(),
            fewest: rounds().min().unwrap_or(0),
            most: rounds().max().unwrap_or(0),
            bytes: done.iter().map(|(_, bytes)| *bytes).sum(),
            killed: 0,
            signal: 0,
        }
    }
}

/// Waits until every worker has ended, standard input ends, or the deadline passes. Meanwhile it
/// passes on each byte from standard input. True if all workers have ended: each keeps its end of
/// the pipe open until it ends.
fn wait_for_end(
    alive: &PipeReader,
    deadline: Option<Instant>,
    on_byte: &mut dyn FnMut(u8),
) -> bool {
    let stdin = rustix::stdio::stdin();
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return false;
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = [PollFd::new(alive, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, left.as_ref()) {
            Ok(_) if !fds[0].revents().is_empty() => return true,
            Ok(_) if !fds[1].revents().is_empty() => match control::read_byte() {
                Some(byte) => on_byte(byte),
                None => return false,
            },
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn kill_all(pids: &[Pid]) {
    for pid in pids {
        // A worker that has ended needs no signal. It is not reaped yet, so the pid still belongs
        // to it.
        let _ = kill_process(*pid, Signal::KILL);
    }
}

/// The workers that have ended. They are not reaped here, so their pids cannot be reused.
fn find_exited(pids: &[Pid]) -> HashSet<Pid> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = |pid: &Pid| matches!(waitid(WaitId::Pid(*pid), options), Ok(Some(_)));
    pids.iter().copied().filter(ended).collect()
}

/// Reaps a worker. Returns the signal that ended it, or 0.
fn wait_for(pid: Pid) -> i32 {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return status.terminating_signal().unwrap_or(0),
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return 0,
        }
    }
}

fn reap_all(pids: &[Pid]) {
    for pid in pids {
        wait_for(*pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_done_in_the_window_counts() {
        let tally = Tally { begin: vec![(5, 500), (1, 100)], end: Some(vec![(9, 900), (1, 100)]) };
        let report = tally.report(&[(20, 2000), (20, 2000)]);
        assert_eq!((report.workers, report.rounds, report.bytes), (2, 4, 400));
        assert_eq!((report.fewest, report.most), (0, 4));
        let open = Tally::default().report(&[(3, 30)]);
        assert_eq!((open.rounds, open.bytes), (3, 30));
    }
}
