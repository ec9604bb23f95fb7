//! Reading pipes and sockets with a limit on the wait.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// The read end of a pipe, with the bytes that were read but not taken yet.
#[derive(Debug)]
pub struct Input {
    pipe: OwnedFd,
    most: usize,
    /// Bytes that were read but not taken yet.
    pub pending: Vec<u8>,
}

/// The result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    /// Bytes; they are pending now.
    Bytes,
    /// Nothing yet.
    Nothing,
    /// The other end is closed; nothing more comes.
    End,
}

/// The result of a wait for a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A line, without its line feed.
    Line(Vec<u8>),
    /// No whole line came before the deadline.
    Late,
    /// The other end was closed.
    End,
}

impl Input {
    /// Reads from this pipe, which becomes non-blocking; at most `most` bytes may be pending.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(pipe: OwnedFd, most: usize) -> io::Result<Self> {
        set_nonblocking(&pipe)?;
        Ok(Input { pipe, most, pending: Vec::new() })
    }

    /// Reads once, without waiting.
    ///
    /// # Errors
    /// If too much would be pending, or the read fails.
    pub fn read(&mut self) -> io::Result<Got> {
        let mut chunk = [0; 16 << 10];
        match rustix::io::read(&self.pipe, &mut chunk) {
            Ok(0) => Ok(Got::End),
            Ok(count) if self.pending.len() + count <= self.most => {
                self.pending.extend_from_slice(&chunk[..count]);
                Ok(Got::Bytes)
            }
            Ok(_) => Err(io::ErrorKind::FileTooLarge.into()),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Got::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads once, as soon as there is data; [`Got::Nothing`] if the deadline comes first.
    ///
    /// # Errors
    /// As [`Input::read`].
    pub fn read_before(&mut self, deadline: Instant) -> io::Result<Got> {
        loop {
            match self.read()? {
                Got::Nothing
                    if wait_for(&mut [PollFd::new(&self.pipe, PollFlags::IN)], deadline)? => {}
                got => return Ok(got),
            }
        }
    }

    /// Takes the next whole line from the pending bytes, without its line feed.
    pub fn take_line(&mut self) -> Option<Vec<u8>> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let mut line: Vec<u8> = self.pending.drain(..=end).collect();
        line.pop();
        Some(line)
    }

    /// The next line, or the reason why there is none.
    ///
    /// # Errors
    /// As [`Input::read`].
    pub fn next_line(&mut self, deadline: Instant) -> io::Result<Next> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Next::Line(line));
            }
            match self.read_before(deadline)? {
                Got::Bytes => {}
                Got::Nothing => return Ok(Next::Late),
                Got::End => return Ok(Next::End),
            }
        }
    }
}

impl AsFd for Input {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Makes reads and writes of a pipe or socket return at once.
///
/// # Errors
/// If the kernel refuses.
pub fn set_nonblocking(pipe: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&pipe)?;
    Ok(fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?)
}

/// Waits until something happens at one of these ends or the deadline comes. False if the
/// deadline had passed already; true means only that something may have happened.
///
/// # Errors
/// If the kernel refuses.
pub fn wait_for(ends: &mut [PollFd<'_>], deadline: Instant) -> io::Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Ok(false);
    }
    // A time that is too long for the kernel counts as no limit.
    match poll(ends, Timespec::try_from(left).ok().as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_come_whole_however_they_were_written() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut lines = Input::new(reader.into(), 16).unwrap();
        let now = Instant::now();
        assert_eq!(lines.next_line(now).unwrap(), Next::Late);
        writer.write_all(b"one\ntw").unwrap();
        assert_eq!(lines.next_line(now).unwrap(), Next::Line(b"one".into()));
        assert_eq!(lines.next_line(now).unwrap(), Next::Late);
        writer.write_all(b"o\n").unwrap();
        assert_eq!(lines.next_line(now).unwrap(), Next::Line(b"two".into()));
        writer.write_all(&[b'x'; 17]).unwrap();
        assert_eq!(lines.next_line(now).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        drop(writer);
        // A child that another test starts now holds this end of the pipe until its exec.
        let far = now + std::time::Duration::from_secs(60);
        assert_eq!(lines.next_line(far).unwrap(), Next::End);
    }

    #[test]
    fn a_pipe_is_waited_for_until_the_deadline() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut input = Input::new(reader.into(), 16).unwrap();
        let soon = Instant::now() + std::time::Duration::from_millis(10);
        assert_eq!(input.read_before(soon).unwrap(), Got::Nothing);
        assert!(Instant::now() >= soon);
        let later = std::thread::spawn(move || writer.write_all(b"x").unwrap());
        let far = Instant::now() + std::time::Duration::from_secs(60);
        assert_eq!(input.read_before(far).unwrap(), Got::Bytes);
        later.join().unwrap();
        assert_eq!(input.read_before(far).unwrap(), Got::End);
    }
}
