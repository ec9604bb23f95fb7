//! The thread that answers `--listen`.
//!
//! Any user of the machine may connect, as often and as long as they like. So nothing here waits
//! for one client: one thread, sockets that do not block, a bound on the connections, on what each
//! may send and on how long it lasts.
//!
//! Who is let in: where there are as many connections as are allowed, the oldest one is ended for
//! the next. So connections that are kept open lock nobody out. A scraper sends its request as soon
//! as it is connected, and is answered before so many others have come. Where they come faster than
//! that, the kernel's queue is the waiting room, which costs no descriptor: it is emptied only once
//! in a while ([`CROWDED`]). Nearly every scraper in it has sent its request by then, and is
//! answered at once, without a place.

use super::answer::Answer;
use super::connection::Connection;
use report::export::scrape::Request;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections that wait to be accepted, in the kernel; it may allow fewer.
const BACKLOG: i32 = 4096;

/// Connections that are accepted before those that are there are looked at again.
const BATCH: usize = 1024;

/// How long the queue is left alone once it was emptied.
const PACE: Duration = Duration::from_millis(10);

/// The same where connections had to go for others. 100,000 a second fit into the queue meanwhile.
const CROWDED: Duration = Duration::from_millis(40);

/// The same where the kernel has no descriptor or no memory for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Bounds of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long one may last.
    pub time: Duration,
}

/// How a connection is accepted.
type Accept = Box<dyn FnMut(&TcpListener) -> rustix::io::Result<OwnedFd> + Send>;

/// What can be done without waiting.
struct Ready {
    /// Connections wait to be accepted.
    queue: bool,
    /// Which connections can go on.
    connections: Vec<bool>,
}

/// A server.
pub struct Server<F> {
    listener: TcpListener,
    answer: F,
    limits: Limits,
    end: Arc<OwnedFd>,
    /// The oldest first.
    connections: VecDeque<Connection>,
    /// The queue is left alone until then.
    closed_until: Instant,
    accept: Accept,
}

impl<F: FnMut(Request) -> Answer> Server<F> {
    /// Answers with `answer` until `end`, an eventfd, can be read.
    ///
    /// # Errors
    /// If the socket cannot be used in this way.
    pub fn new(
        listener: TcpListener,
        end: Arc<OwnedFd>,
        limits: Limits,
        answer: F,
    ) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(Server {
            listener,
            answer,
            limits,
            end,
            connections: VecDeque::new(),
            closed_until: Instant::now(),
            accept: Box::new(|listener| {
                accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
            }),
        })
    }

    /// Answers until the end.
    pub fn run(&mut self) {
        while let Some(ready) = self.wait() {
            // Those that are there come first: they have sent something, and may leave a place.
            for (connection, is_ready) in self.connections.iter_mut().zip(ready.connections) {
                if is_ready {
                    connection.go_on(&mut self.answer);
                }
            }
            self.tidy(Instant::now());
            if ready.queue {
                self.let_in();
            }
        }
    }

    /// Waits for an event or for a moment; what can be done then, and nothing at the end.
    fn wait(&self) -> Option<Ready> {
        let now = Instant::now();
        let is_open = now >= self.closed_until;
        let mut polled = vec![PollFd::new(&self.end, PollFlags::IN)];
        if is_open {
            polled.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        let before = polled.len();
        let waits = self.connections.iter().map(|connection| connection.waits_for());
        let waits: Vec<Option<PollFlags>> = waits.collect();
        for (connection, flags) in self.connections.iter().zip(&waits) {
            polled.extend(flags.map(|flags| PollFd::from_borrowed_fd(connection.as_fd(), flags)));
        }
        if poll(&mut polled, self.timeout(now, is_open).as_ref()).is_err_and(|e| e != Errno::INTR) {
            // It has no memory: nothing is known, and it is not asked again at once.
            std::thread::sleep(PAUSE);
        }
        if !polled[0].revents().is_empty() {
            return None;
        }
        let queue = polled[1..before].iter().any(|one| !one.revents().is_empty());
        let mut events = polled[before..].iter().map(|one| !one.revents().is_empty());
        let connections = waits.iter();
        let connections = connections.map(|flags| flags.is_some() && events.next() == Some(true));
        Some(Ready { queue, connections: connections.collect() })
    }

    /// How long nothing will happen by itself; nothing where that is for ever.
    fn timeout(&self, now: Instant, is_open: bool) -> Option<Timespec> {
        let oldest = self.connections.front().map(Connection::until);
        // Of one whose client has ended its side, no event says when all has arrived there.
        let ends = self.connections.iter().any(|connection| connection.waits_for().is_none());
        let own = [(!is_open).then_some(self.closed_until), ends.then(|| now + PACE)];
        let next = oldest.into_iter().chain(own.into_iter().flatten()).min()?;
        // A millisecond more: the moment itself has come then.
        let left = next.saturating_duration_since(now) + Duration::from_millis(1);
        Timespec::try_from(left).ok()
    }

    /// Ends the connections that have come to their end, or whose time is over.
    fn tidy(&mut self, now: Instant) {
        for connection in std::mem::take(&mut self.connections) {
            match connection {
                over if over.is_over() => over.end(),
                late if late.until() <= now => late.give_up(),
                other => self.connections.push_back(other),
            }
        }
    }

    /// Accepts those that wait.
    fn let_in(&mut self) {
        let mut pace = PACE;
        for _ in 0..BATCH {
            match (self.accept)(&self.listener) {
                Ok(socket) => {
                    if self.begin(socket.into()) {
                        pace = CROWDED;
                    }
                }
                Err(Errno::AGAIN) => {
                    self.closed_until = Instant::now() + pace;
                    return;
                }
                // That client has gone again.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                // No descriptor or no memory: the oldest connection gives its own.
                Err(_) => match self.connections.pop_front() {
                    Some(oldest) => oldest.end(),
                    None => {
                        self.closed_until = Instant::now() + PAUSE;
                        return;
                    }
                },
            }
        }
    }

    /// Answers at once if the request is there; else the connection takes a place, where needed
    /// that of the oldest. Whether that was needed.
    fn begin(&mut self, socket: TcpStream) -> bool {
        let mut connection = Connection::new(socket, Instant::now() + self.limits.time);
        connection.go_on(&mut self.answer);
        if connection.is_over() {
            connection.end();
            return false;
        }
        let oldest = match self.connections.len() >= self.limits.connections {
            true => self.connections.pop_front(),
            false => None,
        };
        self.connections.push_back(connection);
        let is_crowded = oldest.is_some();
        oldest.into_iter().for_each(Connection::end);
        is_crowded
    }
}

#[cfg(test)]
mod tests;
