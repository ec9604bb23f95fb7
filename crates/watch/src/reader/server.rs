//! The process that starts a worker for each question, and ends those that take too long.

use super::question::{Answer, Question, Request};
use super::worker::work;
use host::Roots;
use os::death;
use os::sandbox::{Network, keep_privileges, limit_memory, refuse_calls};
use probe::live::Counting;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use rustix::thread::CapabilitySet;
use std::collections::VecDeque;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Most workers at a time.
const WORKERS: usize = 2;

/// Most questions that wait. Further questions are answered at once with [`Answer::None`].
const WAITING: usize = 64;

/// How long a worker may take. Nobody waits for it that long: its answer is there at the next
/// question.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most killed workers that have not ended yet. A file system that no longer answers can keep a
/// worker from ending. With more of them, no question is answered.
const DYING: usize = 16;

/// The longest question and the longest answer, in bytes.
const MOST_ASKED: usize = 64 << 10;
pub const MOST_ANSWERED: usize = 512 << 10;

/// Address space of the reader, in bytes.
const MEMORY: u64 = 1 << 30;

/// Privileges of the reader: to look at the processes of others, to follow the links to their
/// mapped files, and to open files that root could open. Also to turn workers into nobody, to kill
/// these, and to make the kernel count what its programs cost.
const NEEDED: [CapabilitySet; 7] = [
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::SETUID,
    CapabilitySet::SETGID,
    CapabilitySet::KILL,
    CapabilitySet::SYS_ADMIN,
];

/// A worker under way.
struct Worker {
    number: u64,
    pid: Pid,
    pipe: PipeReader,
    bytes: Vec<u8>,
    until: Instant,
}

/// Answers the questions from the socket until it closes. The calling process must have one
/// thread.
///
/// # Errors
/// If the socket breaks.
pub fn serve(socket: UnixStream) -> io::Result<()> {
    // It was started as /proc/self/exe, and would be shown as `exe`.
    let _ = rustix::thread::set_name(c"tailback-reader");
    restrict()?;
    socket.set_nonblocking(true)?;
    let mut server = Server {
        socket,
        inbox: Vec::new(),
        waiting: VecDeque::new(),
        workers: Vec::new(),
        dying: Vec::new(),
        counting: None,
    };
    while server.step()? {}
    Ok(())
}

fn restrict() -> io::Result<()> {
    limit_memory(MEMORY)?;
    let needed = NEEDED.into_iter().fold(CapabilitySet::empty(), |all, one| all | one);
    keep_privileges(needed)?;
    // A kernel without such filters refuses no call. The workers give everything up anyway.
    let _ = refuse_calls(Network::None);
    Ok(())
}

struct Server {
    socket: UnixStream,
    inbox: Vec<u8>,
    waiting: VecDeque<(u64, Question)>,
    workers: Vec<Worker>,
    /// Workers that were killed and not reaped yet.
    dying: Vec<Pid>,
    counting: Option<Counting>,
}

impl Server {
    /// Waits for an event and handles it. Returns whether anybody is left to ask.
    fn step(&mut self) -> io::Result<bool> {
        let (is_asked, ready) = self.wait()?;
        if is_asked && !self.hear()? {
            return Ok(false);
        }
        for index in (0..self.workers.len()).rev() {
            let is_done = ready[index] && self.workers[index].read();
            if is_done || Instant::now() >= self.workers[index].until {
                let worker = self.workers.swap_remove(index);
                self.end(worker, is_done)?;
            }
        }
        self.reap();
        while self.workers.len() < WORKERS {
            let Some((number, question)) = self.waiting.pop_front() else { break };
            let started = (self.dying.len() < DYING).then(|| start(number, &question));
            match started {
                Some(Ok(worker)) => self.workers.push(worker),
                Some(Err(_)) => self.say(number, &Answer::None)?,
                None => self.say(number, &Answer::None)?,
            }
        }
        Ok(true)
    }

    /// Whether a question came, and which workers have output.
    fn wait(&self) -> io::Result<(bool, Vec<bool>)> {
        let mut all = vec![PollFd::new(&self.socket, PollFlags::IN)];
        all.extend(self.workers.iter().map(|one| PollFd::new(&one.pipe, PollFlags::IN)));
        let first = self.workers.iter().map(|worker| worker.until).min();
        let left = first.map(|until| until.saturating_duration_since(Instant::now()));
        // A little longer, so that the deadline has passed then.
        let left = left.map(|left| left + Duration::from_millis(1));
        let left = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        match poll(&mut all, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = all.iter().map(|one| !one.revents().is_empty());
        Ok((ready.next().unwrap_or(false), ready.collect()))
    }

    /// Takes the questions that came. Returns whether there may be more.
    fn hear(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 16 << 10];
        let count = match self.socket.read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        self.inbox.extend_from_slice(&bytes[..count]);
        while let Some(end) = self.inbox.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.inbox.drain(..=end).collect();
            match serde_json::from_slice(&line).map_err(io::Error::other)? {
                Request::Count(true) => self.counting = Counting::start(),
                Request::Count(false) => self.counting = None,
                Request::Ask(number, question) if self.waiting.len() < WAITING => {
                    self.waiting.push_back((number, question));
                }
                Request::Ask(number, _) => self.say(number, &Answer::None)?,
            }
        }
        match self.inbox.len() <= MOST_ASKED {
            true => Ok(true),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Ends a worker, and passes on its answer. Does not wait for its end: the kernel cannot kill a
    /// worker while a file system has its request.
    fn end(&mut self, worker: Worker, is_done: bool) -> io::Result<()> {
        let _ = kill_process(worker.pid, Signal::KILL);
        self.dying.push(worker.pid);
        let said = is_done.then(|| serde_json::from_slice(&worker.bytes).ok()).flatten();
        self.say(worker.number, &said.unwrap_or(Answer::GivenUp))
    }

    /// Reaps the killed workers that have ended.
    fn reap(&mut self) {
        self.dying.retain(|pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None)));
    }

    fn say(&self, number: u64, answer: &Answer) -> io::Result<()> {
        let mut line = serde_json::to_vec(&(number, answer)).map_err(io::Error::other)?;
        line.push(b'\n');
        // The process that asked reads every second, so this wait for room ends.
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match (&self.socket).write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let polled = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], None);
                    polled.or_else(|error| match error {
                        rustix::io::Errno::INTR => Ok(0),
                        error => Err(error),
                    })?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Worker {
    /// Reads the worker's output. Returns whether that was all.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 16 << 10];
        match self.pipe.read(&mut bytes) {
            Ok(count) if count > 0 && self.bytes.len() + count <= MOST_ANSWERED => {
                self.bytes.extend_from_slice(&bytes[..count]);
                false
            }
            _ => true,
        }
    }
}

fn start(number: u64, question: &Question) -> io::Result<Worker> {
    let (pipe, mut end) = io::pipe()?;
    let reader = getpid();
    // SAFETY: this process has one thread, so the child may do all that the parent may.
    let pid = match unsafe { libc::fork() } {
        0 => {
            close_others(end.as_raw_fd());
            let dies = death::die_with(reader.as_raw_nonzero().get().cast_unsigned(), Signal::KILL);
            if dies.is_ok() {
                let reader = reader.as_raw_nonzero().get().cast_unsigned();
                let answer = work(&Roots::real(), question, reader);
                let _ = serde_json::to_vec(&answer).map(|bytes| end.write_all(&bytes));
            }
            // SAFETY: ends this process at once; nothing of the reader's is cleaned up twice.
            unsafe { libc::_exit(0) }
        }
        pid => pid,
    };
    let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)?;
    Ok(Worker { number, pid, pipe, bytes: Vec::new(), until: Instant::now() + PATIENCE })
}

/// Closes all descriptors of a worker except this one. A worker that was taken over could answer
/// for others through the reader's socket. And while a worker hangs in the kernel, what it has open
/// would outlive the reader.
fn close_others(kept: RawFd) {
    // SAFETY: afterwards, this process uses only that descriptor and those that it opens itself.
    unsafe {
        for below in 0..kept {
            libc::close(below);
        }
        let above = kept + 1;
        if libc::syscall(libc::SYS_close_range, above, libc::c_uint::MAX, 0) != 0 {
            for above in above..4_096 {
                libc::close(above);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_nothing_open_but_its_end_of_its_pipe() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let (pipe, end) = io::pipe().unwrap();
        let [socket, pipe, end] = [socket.as_raw_fd(), pipe.as_raw_fd(), end.as_raw_fd()];
        // SAFETY: only asks about the flags of a descriptor.
        let is_open = |of: RawFd| unsafe { libc::fcntl(of, libc::F_GETFD) } >= 0;
        // SAFETY: the child makes system calls alone.
        let pid = match unsafe { libc::fork() } {
            0 => {
                close_others(end);
                let is_alone = is_open(end) && ![0, socket, pipe].into_iter().any(is_open);
                // SAFETY: ends this process at once.
                unsafe { libc::_exit(if is_alone { 0 } else { 1 }) }
            }
            pid => pid,
        };
        assert!(pid > 0);
        let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
    }
}
