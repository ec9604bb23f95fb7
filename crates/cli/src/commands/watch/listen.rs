//! `--listen`: serves the last figures as OpenMetrics over HTTP.

mod answer;
mod connection;
mod server;

use crate::exit::Failure;
use crate::output;
use answer::{Answers, Latest};
use model::Live;
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit};
use server::{Limits, Server};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Most connections at the same time.
const CONNECTIONS: usize = 64;

/// Connections may use at most one in this many file descriptors of the process. The watching
/// threads need the others.
const SHARE: u64 = 16;

/// The longest time that a connection may last.
const TIME: Duration = Duration::from_secs(5);

/// How long to wait for the end of the thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// A server of the last figures. It ends when this is dropped.
pub struct Listener {
    latest: Latest,
    address: SocketAddr,
    end: Arc<OwnedFd>,
    /// No message is ever sent. The channel closes when the thread ends.
    ended: Receiver<()>,
    complained: bool,
}

/// A bound address, before there is a thread that answers.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// Listens at an address of this machine, or at any address with `anywhere`.
    ///
    /// # Errors
    /// If other machines could reach the address, or it cannot be bound.
    pub fn at(address: SocketAddr, anywhere: bool) -> Result<Self, Failure> {
        if !address.ip().is_loopback() && !anywhere {
            return Err(Failure::usage(format!(
                "--listen {address}: other machines could reach this address, and the figures name \
                 programs of this machine; use 127.0.0.1, or add --listen-anywhere"
            )));
        }
        let bind = || {
            let listener = TcpListener::bind(address)?;
            let address = listener.local_addr()?;
            Ok(Bound { listener, address })
        };
        bind().map_err(|why: std::io::Error| {
            Failure::need(format!("--listen {address}: {why}; {}", remedy(&why)))
        })
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Listener {
    /// Starts to answer.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(bound: Bound) -> Result<Self, Failure> {
        let address = bound.address;
        Self::spawn(bound).map_err(|why| {
            Failure::need(format!(
                "--listen {address}: cannot start the thread that answers: {why}"
            ))
        })
    }

    fn spawn(bound: Bound) -> std::io::Result<Self> {
        let latest = Latest::new();
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut answers = Answers::new(latest.clone());
        let answer = move |request| answers.answer(request);
        let mut server = Server::new(bound.listener, Arc::clone(&end), limits(), answer)?;
        let (alive, ended) = channel::<()>();
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            server.run();
            drop((server, alive));
        })?;
        Ok(Listener { latest, address: bound.address, end, ended, complained: false })
    }

    /// Serves these figures from this call on. The figures of `interval` are added to the
    /// counters. `last` holds the state of the last seconds.
    pub fn show(&mut self, interval: &Live, last: &Live) {
        self.latest.add(interval, last);
        let is_gone = self.ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected);
        if is_gone && !std::mem::replace(&mut self.complained, true) {
            output::complain(&format!(
                "--listen {}: the thread that answers has ended; restart watch",
                self.address
            ));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // If the counter is full, the thread is already told to end.
        let _ = rustix::io::write(&self.end, &1u64.to_ne_bytes());
        // A thread that does not end dies with the process.
        let _: Result<(), RecvTimeoutError> = self.ended.recv_timeout(PATIENCE);
    }
}

/// What to do if an address cannot be bound.
fn remedy(why: &std::io::Error) -> &'static str {
    match why.kind() {
        ErrorKind::AddrNotAvailable => "name an address of this machine",
        _ => "choose another port",
    }
}

/// The limits of the server in this process.
fn limits() -> Limits {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = usize::try_from(descriptors / SHARE).unwrap_or(usize::MAX);
    Limits { connections: share.clamp(1, CONNECTIONS), time: TIME }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn here() -> Listener {
        Listener::start(Bound::at("127.0.0.1:0".parse().unwrap(), false).unwrap()).unwrap()
    }

    #[test]
    fn the_last_figures_are_answered_and_nothing_else() {
        let mut listener = here();
        let live = Live { over_ns: 1, ..Live::default() };
        listener.show(&live, &live);
        let answer = ask(listener.address, "/metrics");
        let has = |text: &str| answer.contains(text);
        assert!(answer.starts_with("HTTP/1.1 200") && has("tailback_watch_lost_threads_total"));
        assert!(has("\ntailback_watch_age_seconds{} ") && answer.ends_with("# EOF\n"), "{answer}");
        assert!(ask(listener.address, "/-/healthy").starts_with("HTTP/1.1 200"));
        assert!(ask(listener.address, "/etc/passwd").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn it_ends_while_clients_want_something_of_it() {
        let listener = here();
        let clients = [(); 3].map(|()| TcpStream::connect(listener.address).unwrap());
        for mut client in &clients {
            client.write_all(b"POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n").unwrap();
        }
        let (address, began) = (listener.address, Instant::now());
        drop(listener);
        assert!(began.elapsed() < TIME, "it waited for a client");
        // Its thread may end later. More clients come all the time, so it cannot wait for them.
        let mut more = Vec::new();
        while let Ok(client) = TcpStream::connect(address) {
            more.push(client);
            assert!(began.elapsed() < Duration::from_secs(100), "it still listens");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    #[test]
    fn an_address_that_others_reach_has_to_be_wanted() {
        let refused = Bound::at("0.0.0.0:0".parse().unwrap(), false).err().unwrap();
        assert!(refused.code == 2 && refused.line.contains("--listen-anywhere"), "{refused:?}");
        assert!(Bound::at("0.0.0.0:0".parse().unwrap(), true).is_ok());
    }

    #[test]
    fn an_address_that_is_taken_is_said_in_one_line() {
        let listener = here();
        let refused = Bound::at(listener.address, false).err().unwrap();
        assert!(refused.code == 3 && refused.line.contains("choose another port"), "{refused:?}");
        // No port of the address of another machine can be bound.
        let elsewhere = std::io::Error::from(rustix::io::Errno::ADDRNOTAVAIL);
        assert_eq!(remedy(&elsewhere), "name an address of this machine");
    }
}
