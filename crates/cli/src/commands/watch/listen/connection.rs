//! One connection of `--listen`: it reads a request, writes an answer, and closes. No step
//! blocks.

use super::answer::Answer;
use report::export::scrape::{self, Request, Status};
use rustix::event::PollFlags;
use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most that a client may send after its request, in bytes. These bytes are read, because
/// closing a connection with unread bytes may lose the answer on its way.
const MOST_MORE: usize = 64 << 10;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    until: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The received part of the request.
    Reading(Vec<u8>),
    /// The answer that is being written.
    Writing(Answer),
    /// The kernel has the whole answer. Up to this many more bytes are read; None once the client
    /// has closed its side.
    Closing(Option<usize>),
    /// Nothing is left to do.
    Over,
}

/// The result of a step.
enum Step {
    /// Something was done. The next step can be tried at once.
    Further,
    /// The connection enters this state.
    Next(State),
    /// The socket has nothing to read, or no room to write.
    Waits,
}

impl Connection {
    /// A newly accepted connection on a non-blocking socket. It ends at `until`.
    pub fn new(stream: TcpStream, until: Instant) -> Self {
        Connection { stream, until, state: State::Reading(Vec::new()) }
    }

    /// The end of its time.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The event that it waits for; None if no event of its socket can change anything.
    pub fn waits_for(&self) -> Option<PollFlags> {
        match &self.state {
            State::Reading(_) | State::Closing(Some(_)) => Some(PollFlags::IN),
            State::Writing(_) => Some(PollFlags::OUT),
            State::Closing(None) | State::Over => None,
        }
    }

    /// Continues as far as possible without waiting. `answer` makes the answer to its request.
    pub fn go_on(&mut self, answer: &mut impl FnMut(Request) -> Answer) {
        loop {
            let step = match &mut self.state {
                State::Reading(head) => read(&mut self.stream, head, answer),
                State::Writing(answer) => write(&mut self.stream, answer),
                State::Closing(Some(more)) => discard(&mut self.stream, more),
                State::Closing(None) | State::Over => return,
            };
            match step {
                Ok(Step::Further) => {}
                Ok(Step::Next(state)) => self.state = state,
                Ok(Step::Waits) => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The client has gone.
                Err(_) => self.state = State::Over,
            }
        }
    }

    /// Whether it is complete: the client has gone, or has received the whole answer.
    pub fn is_over(&self) -> bool {
        match &self.state {
            State::Over => true,
            // The socket has no peer address any more once the client has acknowledged
            // everything.
            State::Closing(None) => self.stream.peer_addr().is_err(),
            _ => false,
        }
    }

    /// Ends it because its time is over. If its request is incomplete, it gets an answer that
    /// says so, as far as that works without waiting.
    pub fn give_up(mut self) {
        if !matches!(self.state, State::Reading(_)) {
            return self.end();
        }
        let line = format!("{}\n", Status::Late.line());
        let mut answer = Answer::new(Status::Late.into(), Arc::default(), line);
        // This is only a courtesy: the client may have gone.
        let _ = write(&mut self.stream, &mut answer);
    }

    /// Ends it. The kernel drops the rest of its send buffer, so a client that reads nothing uses
    /// no memory. A client that has read its answer does not notice.
    pub fn end(self) {
        // If this fails, the kernel tries for a while to send the rest.
        let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn read(
    stream: &mut TcpStream,
    head: &mut Vec<u8>,
    answer: &mut impl FnMut(Request) -> Answer,
) -> Result<Step> {
    let mut bytes = [0; scrape::MOST];
    // Never zero: a head of that length has already been answered.
    let room = bytes.len() - head.len().min(bytes.len());
    match now_or_later(stream.read(&mut bytes[..room]))? {
        None => Ok(Step::Waits),
        Some(0) => Ok(Step::Next(State::Over)),
        Some(length) => {
            head.extend_from_slice(&bytes[..length]);
            let request = scrape::request(head);
            Ok(request.map_or(Step::Further, |request| Step::Next(State::Writing(answer(request)))))
        }
    }
}

fn write(stream: &mut TcpStream, answer: &mut Answer) -> Result<Step> {
    match now_or_later(stream.write_vectored(&answer.rest()))? {
        None => Ok(Step::Waits),
        Some(0) => Ok(Step::Next(State::Over)),
        Some(length) => {
            answer.add_written(length);
            if !answer.is_written() {
                return Ok(Step::Further);
            }
            stream.shutdown(Shutdown::Write)?;
            Ok(Step::Next(State::Closing(Some(MOST_MORE))))
        }
    }
}

fn discard(stream: &mut TcpStream, more: &mut usize) -> Result<Step> {
    match now_or_later(stream.read(&mut [0; 4096]))? {
        None => Ok(Step::Waits),
        Some(0) => Ok(Step::Next(State::Closing(None))),
        Some(length) if length < *more => {
            *more -= length;
            Ok(Step::Further)
        }
        Some(_) => Ok(Step::Next(State::Over)),
    }
}

/// The result of a call; None if the call would have to wait.
fn now_or_later(done: Result<usize>) -> Result<Option<usize>> {
    match done {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        done => done.map(Some),
    }
}
