//! Lines from a pipe, waited for with a deadline.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::os::fd::OwnedFd;
use std::time::Instant;

/// The longest line that is taken, in bytes; a mapper's report is some hundred kilobytes at most.
const MOST: usize = 8 << 20;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line without its end.
    Line(Vec<u8>),
    /// Nothing before the deadline.
    Late,
    /// The other end was closed.
    End,
}

/// A pipe read line by line.
#[derive(Debug)]
pub(super) struct Lines {
    pipe: OwnedFd,
    pending: Vec<u8>,
}

impl Lines {
    /// Reads from this pipe, which becomes non-blocking.
    pub fn new(pipe: OwnedFd) -> std::io::Result<Self> {
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        Ok(Lines { pipe, pending: Vec::new() })
    }

    /// The next line, or what came instead of it.
    pub fn next(&mut self, deadline: Instant) -> std::io::Result<Next> {
        let mut chunk = [0; 65536];
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.pending.drain(..=end).collect();
                line.pop();
                return Ok(Next::Line(line));
            }
            match rustix::io::read(&self.pipe, &mut chunk) {
                Ok(0) => return Ok(Next::End),
                Ok(count) if self.pending.len() + count <= MOST => {
                    self.pending.extend_from_slice(&chunk[..count]);
                }
                Ok(_) => return Err(std::io::ErrorKind::FileTooLarge.into()),
                Err(rustix::io::Errno::AGAIN) if !self.wait(deadline)? => return Ok(Next::Late),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether something can be read before the deadline.
    fn wait(&self, deadline: Instant) -> std::io::Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let left = Timespec::try_from(left).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_come_whole_however_they_were_written() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut lines = Lines::new(reader.into()).unwrap();
        let now = Instant::now();
        assert_eq!(lines.next(now).unwrap(), Next::Late);
        writer.write_all(b"one\ntw").unwrap();
        assert_eq!(lines.next(now).unwrap(), Next::Line(b"one".into()));
        assert_eq!(lines.next(now).unwrap(), Next::Late);
        writer.write_all(b"o\n").unwrap();
        assert_eq!(lines.next(now).unwrap(), Next::Line(b"two".into()));
        drop(writer);
        assert_eq!(lines.next(now).unwrap(), Next::End);
    }
}
