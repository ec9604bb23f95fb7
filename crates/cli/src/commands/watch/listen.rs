//! `--listen`: the last figures, as OpenMetrics over HTTP.

use crate::exit::Failure;
use model::Live;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tiny_http::{Header, Method, Response, Server};

/// How long a request is waited for before it is looked whether to end.
const PATIENCE: Duration = Duration::from_millis(200);

/// The format of the answer.
const FORMAT: &[u8] = b"application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A server of the last figures; it ends when it is dropped.
pub struct Listener {
    text: Arc<Mutex<String>>,
    end: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// An address that is waited at, before there is anybody who answers.
pub struct Bound {
    server: Server,
    address: SocketAddr,
}

impl Bound {
    /// Waits at an address of this machine, or where `anywhere` allows it at any.
    ///
    /// # Errors
    /// If others could reach the address, or if it cannot be had.
    pub fn at(address: SocketAddr, anywhere: bool) -> Result<Self, Failure> {
        if !address.ip().is_loopback() && !anywhere {
            return Err(Failure::usage(format!(
                "--listen {address}: others could reach that address, and it names programs of this \
                 machine; use 127.0.0.1, or add --listen-anywhere"
            )));
        }
        let failed = |why: &dyn std::fmt::Display| {
            Failure::need(format!("--listen {address}: {why}; choose another port"))
        };
        let server = Server::http(address).map_err(|error| failed(&error))?;
        let address = server.server_addr().to_ip().unwrap_or(address);
        Ok(Bound { server, address })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Listener {
    /// Starts to answer.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(bound: Bound) -> Result<Self, Failure> {
        let text = Arc::new(Mutex::new(String::from("# EOF\n")));
        let end = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (shown, ended) = (Arc::clone(&text), Arc::clone(&end));
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || serve(&bound.server, &shown, &ended))
            .map_err(|error| Failure::need(format!("--listen: no thread: {error}")))?;
        Ok(Listener { text, end, thread: Some(thread) })
    }

    /// Shows these figures from now on.
    pub fn show(&self, live: &Live) {
        // Figures that cannot be written leave the last ones standing.
        if let Ok(text) = report::export::live::live_metrics(live) {
            *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(server: &Server, text: &Mutex<String>, end: &std::sync::atomic::AtomicBool) {
    while !end.load(std::sync::atomic::Ordering::Relaxed) {
        let Ok(Some(request)) = server.recv_timeout(PATIENCE) else { continue };
        let path = request.url().split('?').next().unwrap_or_default();
        let known = *request.method() == Method::Get && ["/", "/metrics"].contains(&path);
        let mut answer = match known {
            true => {
                let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Response::from_string(text)
            }
            false => Response::from_string("see /metrics\n").with_status_code(404),
        };
        if let (true, Ok(format)) = (known, Header::from_bytes(&b"Content-Type"[..], FORMAT)) {
            answer = answer.with_header(format);
        }
        // The client may have closed its connection.
        let _ = request.respond(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_last_figures_are_answered_and_nothing_else() {
        let bound = Bound::at("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let address = bound.address();
        let listener = Listener::start(bound).unwrap();
        listener.show(&Live { over_ns: 1, ..Live::default() });
        let answer = ask(address, "/metrics");
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("tailback_watch"),
            "{answer}"
        );
        assert!(ask(address, "/etc/passwd").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn an_address_that_others_reach_has_to_be_wanted() {
        let refused = Bound::at("0.0.0.0:0".parse().unwrap(), false).err().unwrap();
        assert!(refused.code == 2 && refused.line.contains("--listen-anywhere"), "{refused:?}");
        assert!(Bound::at("0.0.0.0:0".parse().unwrap(), true).is_ok());
    }
}
