//! Asks the reader, with a time limit.

use super::question::{Answer, Question, Request, What};
use super::server::MOST_ANSWERED;
use host::{Roots, process_files};
use os::death;
use os::pipe::{Got, Input};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for all questions of an interval together. A later answer is there in the
/// next interval.
const PATIENCE: Duration = Duration::from_millis(250);

/// Most questions that are under way.
const UNDER_WAY: usize = 32;

/// Most answers that nobody fetched, and most processes that are not asked about again.
const KEPT: usize = 256;

/// Whether the reader is still there, for code other than the one that asks it.
#[derive(Debug)]
pub struct ReaderState(UnixStream);

impl ReaderState {
    /// Whether the reader has closed its end of the socket, as when it has ended.
    pub fn has_ended(&self) -> bool {
        let closed = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut socket = [PollFd::new(&self.0, closed)];
        let polled = poll(&mut socket, Some(&Timespec::default()));
        polled.is_ok() && socket[0].revents().intersects(closed)
    }
}

/// The reader, seen from the process that watches. Dropping it ends the reader.
#[derive(Debug)]
pub struct Reader {
    socket: UnixStream,
    /// No `os::child::Child`: that sends a signal when it is dropped, and a process within Landlock
    /// may send none.
    child: Child,
    inbox: Input,
    next: u64,
    under_way: HashMap<u64, Question>,
    answered: HashMap<Question, Answer>,
    /// Processes whose worker was given up. They are not asked about again.
    given_up: HashSet<(u32, u64)>,
    left: Duration,
    counts: bool,
    has_ended: bool,
}

impl Reader {
    /// Starts the reader: `command` runs [`serve`](super::serve) with its standard input as socket.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (own, other) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(other)).stdout(Stdio::null()).stderr(Stdio::null());
        death::bind(&mut command, Signal::KILL);
        Ok(Reader {
            inbox: Input::new(own.try_clone()?.into(), usize::MAX)?,
            socket: own,
            child: command.spawn()?,
            next: 0,
            under_way: HashMap::new(),
            answered: HashMap::new(),
            given_up: HashSet::new(),
            left: PATIENCE,
            counts: false,
            has_ended: false,
        })
    }

    /// A handle that tells whether the reader is still there.
    ///
    /// # Errors
    /// If there are too many open files.
    pub fn state(&self) -> io::Result<ReaderState> {
        self.socket.try_clone().map(ReaderState)
    }

    /// Starts an interval, with a new time budget.
    pub fn begin(&mut self) {
        self.left = PATIENCE;
    }

    /// Makes the kernel count the time of its programs, or stop counting.
    pub fn count(&mut self, on: bool) {
        // Without the reader nothing is counted.
        if on != self.counts && self.send(&Request::Count(on)).is_ok() {
            self.counts = on;
        }
    }

    /// Asks about a process. None if the answer is not there yet: ask again in the next interval.
    pub fn ask(&mut self, roots: &Roots, pid: u32, what: What) -> Option<Answer> {
        let Some(started) = process_files::started(roots, pid) else { return Some(Answer::None) };
        if self.given_up.contains(&(pid, started)) {
            return Some(Answer::GivenUp);
        }
        let question = Question { pid, started, what };
        if let Some(answer) = self.answered.remove(&question) {
            return Some(answer);
        }
        if self.has_ended {
            return Some(Answer::None);
        }
        if !self.under_way.values().any(|one| *one == question) {
            // Nobody may repeat the questions that take all places. Then only this call reads
            // their answers.
            while self.under_way.len() >= UNDER_WAY && self.receive(Duration::ZERO) {}
            if self.under_way.len() >= UNDER_WAY {
                return self.has_ended.then_some(Answer::None);
            }
            self.next += 1;
            if self.send(&Request::Ask(self.next, question.clone())).is_err() {
                return Some(Answer::None);
            }
            self.under_way.insert(self.next, question.clone());
        }
        let began = Instant::now();
        while self.receive(self.left.saturating_sub(began.elapsed())) {
            if let Some(answer) = self.answered.remove(&question) {
                self.left = self.left.saturating_sub(began.elapsed());
                return Some(answer);
            }
        }
        self.left = self.left.saturating_sub(began.elapsed());
        self.has_ended.then_some(Answer::None)
    }

    fn send(&self, request: &Request) -> io::Result<()> {
        let mut line = serde_json::to_vec(request).map_err(io::Error::other)?;
        line.push(b'\n');
        // A question is far smaller than the buffer of a socket.
        (&self.socket).write_all(&line)
    }

    /// Takes what comes within this time. Returns whether anything came.
    fn receive(&mut self, within: Duration) -> bool {
        match self.inbox.read_before(Instant::now() + within) {
            Ok(Got::Bytes) => {}
            Ok(Got::Nothing) => return false,
            Ok(Got::End) | Err(_) => {
                self.has_ended = true;
                return false;
            }
        }
        while let Some(line) = self.inbox.take_line() {
            if let Ok((number, answer)) = serde_json::from_slice(&line) {
                self.keep(number, answer);
            }
        }
        // So much without a line means that the reader was taken over. It is no longer listened
        // to.
        if self.inbox.pending.len() > MOST_ANSWERED + 1_024 {
            self.inbox.pending.clear();
            let _ = self.socket.shutdown(std::net::Shutdown::Both);
        }
        true
    }

    fn keep(&mut self, number: u64, answer: Answer) {
        let Some(question) = self.under_way.remove(&number) else { return };
        if self.answered.len() >= KEPT {
            self.answered.clear();
        }
        if self.given_up.len() >= KEPT {
            self.given_up.clear();
        }
        if answer == Answer::GivenUp {
            self.given_up.insert((question.pid, question.started));
        }
        self.answered.insert(question, answer);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The reader ends when its socket closes. Landlock no longer allows a signal.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that does nothing and need not be waited for, and its end of the socket.
    fn idle_reader() -> (Reader, UnixStream) {
        let (own, other) = UnixStream::pair().unwrap();
        let reader = Reader {
            inbox: Input::new(own.try_clone().unwrap().into(), usize::MAX).unwrap(),
            socket: own,
            child: Command::new("true").spawn().unwrap(),
            next: 0,
            under_way: HashMap::new(),
            answered: HashMap::new(),
            given_up: HashSet::new(),
            left: Duration::ZERO,
            counts: false,
            has_ended: false,
        };
        (reader, other)
    }

    #[test]
    fn questions_that_nobody_repeats_do_not_keep_others_out() {
        let (mut reader, mut other) = idle_reader();
        let (roots, own) = (Roots::real(), std::process::id());
        let mut ask = |address| reader.ask(&roots, own, What::InProgram(address));
        let mut reply = |number: u64, answer: Answer| {
            let line = serde_json::to_string(&(number, answer)).unwrap() + "\n";
            other.write_all(line.as_bytes()).unwrap();
        };
        let places = UNDER_WAY as u64;
        (1..=places + 1).for_each(|address| assert_eq!(ask(address), None));
        (1..=places).for_each(|number| reply(number, Answer::None));
        // It is asked only now.
        assert_eq!(ask(places + 1), None);
        reply(places + 1, Answer::Is(true));
        assert_eq!(ask(places + 1), Some(Answer::Is(true)));
    }

    #[test]
    fn a_reader_that_ends_with_many_questions_answers_none() {
        let (mut reader, other) = idle_reader();
        let (roots, own) = (Roots::real(), std::process::id());
        let mut ask = |address| reader.ask(&roots, own, What::InProgram(address));
        (1..=UNDER_WAY as u64).for_each(|address| assert_eq!(ask(address), None));
        // A child that another test has just forked may hold a copy of this end, which keeps the
        // socket open after a drop.
        other.shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(ask(0), Some(Answer::None));
    }
}
