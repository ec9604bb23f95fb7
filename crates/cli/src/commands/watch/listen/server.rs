//! The thread that answers `--listen`.
//!
//! Any user of the machine may connect, as often and for as long as they like. So the server
//! never waits for one client. It has one thread and non-blocking sockets. It limits the number
//! of connections, the bytes that each may send, and the time that each may last.
//!
//! Admission: if the connections reach their limit, the oldest one is closed for the next. So
//! clients that keep connections open cannot lock others out. A scraper sends its request as soon
//! as it is connected. It is answered before that many other connections have come. If
//! connections come faster than that, they wait in the queue of the kernel, which costs no
//! descriptor. The server then empties the queue only once in a while ([`CROWDED`]). By then
//! nearly every scraper in the queue has sent its request. It is answered at once, without taking
//! a place.

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

/// Length of the kernel's queue of connections that wait for accept. The kernel may allow fewer.
const BACKLOG: i32 = 4096;

/// Most connections that are accepted before the existing ones are served again.
const BATCH: usize = 1024;

/// How long the queue rests after it was emptied.
const PACE: Duration = Duration::from_millis(10);

/// The same, if connections were closed for others. The queue has room for 100,000 new
/// connections a second in this time.
const CROWDED: Duration = Duration::from_millis(40);

/// The same, if the kernel has no descriptor or no memory for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most connections at the same time.
    pub connections: usize,
    /// The longest time of a connection.
    pub time: Duration,
}

/// The function that accepts a connection.
type Accept = Box<dyn FnMut(&TcpListener) -> rustix::io::Result<OwnedFd> + Send>;

/// The work that can be done without waiting.
struct Ready {
    /// Connections wait to be accepted.
    queue: bool,
    /// For each connection, whether it can continue.
    connections: Vec<bool>,
}

/// A server.
pub struct Server<F> {
    listener: TcpListener,
    answer: F,
    limits: Limits,
    end: Arc<OwnedFd>,
    /// Oldest first.
    connections: VecDeque<Connection>,
    /// The queue rests until this time.
    queue_rests_until: Instant,
    accept: Accept,
}

impl<F: FnMut(Request) -> Answer> Server<F> {
    /// Answers with `answer` until `end`, an eventfd, becomes readable.
    ///
    /// # Errors
    /// If the socket cannot be set up.
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
            queue_rests_until: Instant::now(),
            accept: Box::new(|listener| {
                accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
            }),
        })
    }

    /// Serves until the end.
    pub fn run(&mut self) {
        while let Some(ready) = self.wait() {
            // Existing connections come first: they have sent something, and may free a place.
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

    /// Waits for an event or a timeout. Returns the work that can be done; None at the end.
    fn wait(&self) -> Option<Ready> {
        let now = Instant::now();
        let is_open = now >= self.queue_rests_until;
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
            // The kernel has no memory, so nothing is known. Do not ask again at once.
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

    /// The time until something is due without an event; None if nothing is.
    fn timeout(&self, now: Instant, is_open: bool) -> Option<Timespec> {
        let oldest = self.connections.front().map(Connection::until);
        // If a client has closed its side, no event tells when it has received everything.
        let ends = self.connections.iter().any(|connection| connection.waits_for().is_none());
        let own = [(!is_open).then_some(self.queue_rests_until), ends.then(|| now + PACE)];
        let next = oldest.into_iter().chain(own.into_iter().flatten()).min()?;
        // One millisecond more, so that the time has passed when the wait ends.
        let left = next.saturating_duration_since(now) + Duration::from_millis(1);
        Timespec::try_from(left).ok()
    }

    /// Ends the connections that are complete or whose time is over.
    fn tidy(&mut self, now: Instant) {
        for connection in std::mem::take(&mut self.connections) {
            match connection {
                over if over.is_over() => over.end(),
                late if late.until() <= now => late.give_up(),
                other => self.connections.push_back(other),
            }
        }
    }

    /// Accepts the connections in the queue.
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
                    self.queue_rests_until = Instant::now() + pace;
                    return;
                }
                // That client has already gone.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                // No descriptor or no memory: close the oldest connection and use its resources.
                Err(_) => match self.connections.pop_front() {
                    Some(oldest) => oldest.end(),
                    None => {
                        self.queue_rests_until = Instant::now() + PAUSE;
                        return;
                    }
                },
            }
        }
    }

    /// Answers at once if the request is complete. Otherwise the connection takes a place; if all
    /// are taken, the place of the oldest. Returns whether the oldest was closed.
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
