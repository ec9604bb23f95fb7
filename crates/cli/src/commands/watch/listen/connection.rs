//! One connection of `--listen`: a request is read, an answer is written, and it is closed. Nothing
//! of it blocks.

use super::answer::Answer;
use report::export::scrape::{self, Request, Status};
use rustix::event::PollFlags;
use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a client may send beyond its request, in bytes. It is read, since a connection that is
/// closed with unread bytes may lose the answer on its way.
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
    /// What has come of the request.
    Reading(Vec<u8>),
    /// What is answered.
    Writing(Answer),
    /// The answer is with the kernel; so many more bytes are read. None once the client has ended
    /// its side.
    Closing(Option<usize>),
    /// Nothing is left to do.
    Over,
}

/// What a step came to.
enum Step {
    /// Something was done, and the next step can be tried at once.
    Further,
    /// The next state has begun.
    Next(State),
    /// The socket has nothing, or takes nothing, for now.
    Waits,
}

impl Connection {
    /// One that has just been accepted, on a socket that does not block; it ends then.
    pub fn new(stream: TcpStream, until: Instant) -> Self {
        Connection { stream, until, state: State::Reading(Vec::new()) }
    }

    /// When its time is over.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// What it waits for; nothing where no event of its socket can change anything.
    pub fn waits_for(&self) -> Option<PollFlags> {
        match &self.state {
            State::Reading(_) | State::Closing(Some(_)) => Some(PollFlags::IN),
            State::Writing(_) => Some(PollFlags::OUT),
            State::Closing(None) | State::Over => None,
        }
    }

    /// Goes on as far as it can without waiting; `answer` answers its request.
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
                // The client is gone.
                Err(_) => self.state = State::Over,
            }
        }
    }

    /// Whether it has come to its end: the client is gone, or has all of its answer.
    pub fn is_over(&self) -> bool {
        match &self.state {
            State::Over => true,
            // The socket has no other side any more once that has acknowledged everything.
            State::Closing(None) => self.stream.peer_addr().is_err(),
            _ => false,
        }
    }

    /// Ends it since its time is over. Where its request has not come, that is answered, as far as
    /// it can be without waiting.
    pub fn give_up(mut self) {
        if !matches!(self.state, State::Reading(_)) {
            return self.end();
        }
        let line = format!("{}\n", Status::Late.line());
        let mut answer = Answer::new(Status::Late.into(), Arc::default(), line);
        // It is a courtesy: the client may be gone.
        let _ = write(&mut self.stream, &mut answer);
    }

    /// Ends it. What the kernel still has to send is dropped, so that a client that reads nothing
    /// leaves no memory behind; a client that has read its answer does not notice.
    pub fn end(self) {
        // Where that is refused, the kernel tries to send the rest for a while.
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
    // Never full: a head that long has been answered.
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

/// What a call did; nothing where it would have to wait.
fn now_or_later(done: Result<usize>) -> Result<Option<usize>> {
    match done {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        done => done.map(Some),
    }
}
