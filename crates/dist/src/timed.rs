//! A connection with a deadline, and with a limit on the bytes that are read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Reads and writes of a connection that end at a deadline, however slow the other end is.
#[derive(Debug)]
pub struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
    left: usize,
}

impl<'a> Timed<'a> {
    /// Until this moment; at most this many bytes are read.
    pub fn new(stream: &'a TcpStream, until: Instant, most: usize) -> Self {
        Timed { stream, until, left: most }
    }

    fn time(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.left);
        if most == 0 && !buffer.is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidData, "more bytes than the limit"));
        }
        self.stream.set_read_timeout(Some(self.time()?))?;
        let count = self.stream.read(&mut buffer[..most])?;
        self.left -= count;
        Ok(count)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.time()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (stream, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_that_come_slowly_do_not_prolong_it() {
        let (near, far) = pair();
        std::thread::spawn(move || {
            while (&far).write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let until = Instant::now() + Duration::from_millis(300);
        let error = Timed::new(&near, until, usize::MAX).read_exact(&mut [0; 1 << 16]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error}");
        assert!(Instant::now() >= until);
    }

    #[test]
    fn a_writer_waits_no_longer_for_a_reader_that_does_not_read() {
        let (near, _far) = pair();
        let mut timed = Timed::new(&near, Instant::now() + Duration::from_millis(300), 0);
        let error = timed.write_all(&vec![0; 64 << 20]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error}");
    }

    #[test]
    fn no_more_bytes_are_read_than_are_taken() {
        let (near, far) = pair();
        (&far).write_all(&[7; 100]).unwrap();
        let mut timed = Timed::new(&near, Instant::now() + Duration::from_secs(60), 64);
        timed.read_exact(&mut [0; 64]).unwrap();
        let error = timed.read(&mut [0; 1]).unwrap_err();
        assert!(error.to_string().contains("more bytes than the limit"));
    }
}
