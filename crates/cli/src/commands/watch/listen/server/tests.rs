//! The server with clients that are slow, endless, many, or never read.

use super::*;
use report::export::scrape::Status;
use rustix::event::{EventfdFlags, eventfd};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Longer than any step here takes.
const LONG: Duration = Duration::from_secs(100);

/// The time limit of connections whose end a test waits for. It is longer than a stall of the
/// machine, so that a client that is not slow by itself gets its answer.
const TIME: Duration = Duration::from_secs(10);

const SCRAPE: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server of a text, on its own thread.
struct Running {
    address: SocketAddr,
    end: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    text: Arc<str>,
}

impl Running {
    fn start(limits: Limits, text: &str, accept: Option<Accept>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let text: Arc<str> = text.into();
        let shared = Arc::clone(&text);
        let answer = move |request: Request| match request.status {
            Status::Figures => Answer::new(request, Arc::clone(&shared), "end\n".into()),
            _ => Answer::new(request, Arc::default(), "wrong\n".into()),
        };
        let mut server = Server::new(listener, Arc::clone(&end), limits, answer).unwrap();
        server.accept = accept.unwrap_or(server.accept);
        let thread = std::thread::spawn(move || server.run());
        Running { address, end, thread: Some(thread), text }
    }

    fn with(connections: usize, time: Duration) -> Self {
        Running::start(Limits { connections, time }, "figures\n", None)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    fn send(&self, text: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, text: &str) -> String {
        read(self.send(text))
    }

    fn assert_answers(&self) {
        let answer = self.ask(SCRAPE);
        let is_whole = answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\nend\n");
        assert!(is_whole, "{} bytes", answer.len());
    }
}

impl Drop for Running {
    /// Ends the server, whatever its clients do.
    fn drop(&mut self) {
        rustix::io::write(&self.end, &1u64.to_ne_bytes()).unwrap();
        let thread = self.thread.take().unwrap();
        let until = Instant::now() + LONG;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(std::thread::panicking() || thread.is_finished());
    }
}

/// Reads until the other side closes. Includes the error if it does not close in order.
fn read(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // Continues after a signal. A signal ends a read with a time limit, in any thread.
    let end = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    match end {
        Ok(_) => text,
        Err(error) => format!("{text}[{error}]"),
    }
}

/// Whether the other side closes the connection; waits for it.
fn is_ended(mut stream: &TcpStream) -> bool {
    // Continues after a signal.
    let read = stream.read_exact(&mut [0]);
    read.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
}

#[test]
fn a_request_is_answered_without_its_body_and_the_connection_closed() {
    let server = Running::with(16, LONG);
    server.assert_answers();
    let head = server.ask("HEAD / HTTP/1.1\r\n\r\n");
    assert!(head.contains("Content-Length: 12\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let of = |text: &str| server.ask(text)[9..12].to_owned();
    assert_eq!(of("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n"), "405");
    assert_eq!(of("GET /other HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(of("nonsense\r\n\r\n"), "400");
    assert_eq!(of(&format!("GET / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n{:5000}", "")), "200");
    assert_eq!(of(&SCRAPE.repeat(3)), "200");
}

#[test]
fn a_slow_client_gets_an_answer_that_says_so_and_others_do_not_wait_for_it() {
    let server = Running::with(16, TIME);
    // This client writes nothing. A byte that arrives after its time would cause a reset, and the
    // reset would destroy the answer.
    let slow = server.connect();
    server.assert_answers();
    let answer = read(slow);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    // A client that never stops sending gets no more time than others.
    let mut endless = server.send("GET /");
    // Long before its request is too long for the server.
    let until = Instant::now() + LONG / 3;
    while endless.write_all(b"a").is_ok() {
        assert!(Instant::now() < until, "it is still connected");
        std::thread::sleep(Duration::from_millis(10));
    }
    // A client that sends its request in pieces is served if it finishes in time.
    let patient = Running::with(16, LONG);
    let mut pieces = patient.connect();
    for byte in SCRAPE.bytes() {
        pieces.write_all(&[byte]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(read(pieces).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_header_without_end_is_not_kept() {
    let server = Running::with(16, LONG);
    let mut endless = server.send("GET / HTTP/1.1\r\nA: ");
    let mut sent = 0;
    // The bytes fit into the kernel's buffers for a while. Then the connection is closed.
    while let Ok(length) = endless.write(&[b'a'; 1 << 16]) {
        sent += length;
        assert!(sent < 1 << 30);
    }
    server.assert_answers();
    let answer = server.ask(&format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(8 << 10)));
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn requests_in_a_row_that_are_never_read_are_not_answered_in_a_row() {
    let server = Running::with(16, LONG);
    let mut many = server.connect();
    let requests = SCRAPE.repeat(2_000);
    let mut sent = 0;
    while let Ok(length) = many.write(requests.as_bytes()) {
        sent += length;
        assert!(sent < 1 << 30);
    }
    server.assert_answers();
}

#[test]
fn the_newest_connections_are_kept_and_a_scrape_is_answered_beside_any_number() {
    let server = Running::with(16, LONG);
    let idle: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    server.assert_answers();
    // A request that is answered at once takes no place.
    assert!(idle[..200 - 16].iter().all(is_ended));
    let begun: Vec<TcpStream> = (0..400).map(|_| server.send("GET / HTTP/1.1\r\n")).collect();
    server.assert_answers();
    assert!(idle.iter().chain(&begun[..400 - 16]).all(is_ended));
    // The scrape may have taken a place for a moment.
    for mut stream in begun.into_iter().skip(400 - 15) {
        stream.write_all(b"\r\n").unwrap();
        assert!(read(stream).starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn answers_that_nobody_reads_are_one_text_and_end_in_time() {
    let limits = Limits { connections: 4, time: TIME };
    let server = Running::start(limits, &"figures\n".repeat(2 << 20), None);
    let before = Arc::strong_count(&server.text);
    let deaf: Vec<TcpStream> = (0..40).map(|_| server.send(SCRAPE)).collect();
    // All of them are accepted before this one.
    assert!(server.ask("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(Arc::strong_count(&server.text) <= before + limits.connections + 1);
    // Then their time is over. The kernel keeps no more of the text than fits into its buffers.
    let until = Instant::now() + LONG;
    while Arc::strong_count(&server.text) > before && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    for stream in deaf {
        let got = read(stream);
        assert!(got.len() < server.text.len(), "{} bytes", got.len());
    }
}

#[test]
fn a_client_that_ends_its_own_side_gets_the_whole_answer() {
    let limits = Limits { connections: 4, time: LONG };
    let server = Running::start(limits, &"figures\n".repeat(1 << 20), None);
    let half = server.send(SCRAPE);
    half.shutdown(Shutdown::Write).unwrap();
    server.assert_answers();
    let got = read(half);
    assert!(got.ends_with("\nend\n") && got.len() > server.text.len(), "{}", got.len());
}

#[test]
fn without_descriptors_it_waits_and_does_not_spin() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let mut real: Accept = Box::new(|listener| accept_with(listener, SocketFlags::NONBLOCK));
    let failures = 5;
    let accept: Accept = Box::new(move |listener| match counted.fetch_add(1, Ordering::Relaxed) {
        call if call < failures => Err(Errno::MFILE),
        _ => real(listener),
    });
    let limits = Limits { connections: 4, time: LONG };
    let began = Instant::now();
    let server = Running::start(limits, "figures\n", Some(accept));
    let _idle = server.connect();
    server.assert_answers();
    assert!(began.elapsed() >= PAUSE * failures as u32 - PAUSE, "{:?}", began.elapsed());
}

#[test]
fn while_nobody_comes_it_rests() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let accept: Accept = Box::new(move |listener| {
        counted.fetch_add(1, Ordering::Relaxed);
        accept_with(listener, SocketFlags::NONBLOCK)
    });
    let limits = Limits { connections: 4, time: LONG };
    let server = Running::start(limits, "figures\n", Some(accept));
    let _idle = server.connect();
    server.assert_answers();
    let before = calls.load(Ordering::Relaxed);
    std::thread::sleep(50 * PACE);
    // The last look into an emptied queue may come after the answer.
    let more = calls.load(Ordering::Relaxed) - before;
    assert!(more <= 2, "{more} more");
}

#[test]
fn the_oldest_connection_gives_its_descriptor_to_the_next() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut real: Accept = Box::new(|listener| accept_with(listener, SocketFlags::NONBLOCK));
    // The first three accepts work. Then each works only after another connection was closed, for
    // a while.
    let accept: Accept = Box::new(move |listener| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        if (3..97).contains(&call) && call % 2 == 1 { Err(Errno::MFILE) } else { real(listener) }
    });
    let limits = Limits { connections: 100, time: LONG };
    let server = Running::start(limits, "figures\n", Some(accept));
    let idle: Vec<TcpStream> = (0..50).map(|_| server.connect()).collect();
    server.assert_answers();
    assert!(is_ended(&idle[0]));
}
