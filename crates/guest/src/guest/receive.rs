//! Reads the data that a guest sends on its two ports.

use super::{Event, Guest};
use crate::error::GuestError;
use crate::frame::{Frame, FrameKind, unpack};
use crate::job::Hello;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;

/// The longest wait of one poll, in nanoseconds.
const POLL_NS: i64 = 100_000_000;

/// Most lines, events and warnings that are passed on.
const MOST_LINES: usize = 20_000;

/// The warning in place of the last one.
const LEFT_OUT: &str = "it sent too many lines: its further lines and warnings are not shown";

/// Longest part of a line or a warning that is passed on, in bytes. Ours are far shorter.
const MOST_LINE: usize = 4096;

/// Most bytes that are read from a port at once, so that the clock is checked even during a
/// flood.
const MOST_AT_ONCE: usize = 4 << 20;

impl Guest {
    /// Reads the available data, or waits a moment. The inner error says that the data is
    /// invalid.
    pub(super) fn receive(&mut self, ended: bool) -> Result<Result<(), String>, GuestError> {
        if !ended {
            self.wait()?;
        }
        let mut bytes = Vec::new();
        read_available(&mut self.console_port, &mut bytes)?;
        self.console.feed(&bytes);
        bytes.clear();
        read_available(&mut self.data_port, &mut bytes)?;
        self.decoder.feed(&bytes);
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => {
                    if let Err(why) = self.take_frame(&frame) {
                        return Ok(Err(why));
                    }
                }
                Ok(None) => return Ok(Ok(())),
                Err(why) => return Ok(Err(why)),
            }
        }
    }

    fn wait(&self) -> Result<(), GuestError> {
        let mut ports = [
            PollFd::new(&self.console_port, PollFlags::IN),
            PollFd::new(&self.data_port, PollFlags::IN),
        ];
        match poll(&mut ports, Some(&Timespec { tv_sec: 0, tv_nsec: POLL_NS })) {
            // A port with a closed other end is always ready.
            Ok(_) if ports.iter().all(|port| port.revents().contains(PollFlags::HUP)) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                Ok(())
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => {
                Err(GuestError::System { what: "waiting for the guest", source: error.into() })
            }
        }
    }

    fn take_frame(&mut self, frame: &Frame) -> Result<(), String> {
        self.clock.note_frame();
        let text = || String::from_utf8_lossy(&frame.payload).into_owned();
        let line = || {
            let kept = &frame.payload[..frame.payload.len().min(MOST_LINE)];
            String::from_utf8_lossy(kept).into_owned()
        };
        match frame.kind {
            FrameKind::Hello if self.received.up => return Err("two hello frames".to_owned()),
            FrameKind::Hello => {
                let hello: Hello = serde_json::from_slice(&frame.payload)
                    .map_err(|error| format!("its hello: {error}"))?;
                self.received.up = true;
                self.boot = Some(self.started.elapsed());
                self.events.push_back(Event::Hello(hello));
            }
            FrameKind::Heartbeat => {}
            FrameKind::Line => self.pass_on(|| Event::Line(line())),
            FrameKind::Event => self.pass_on(|| Event::Told(text())),
            FrameKind::Warning => self.pass_on(|| Event::Warning(line())),
            FrameKind::Output => {
                self.received.output =
                    unpack(&frame.payload).map_err(|why| format!("standard output: {why}"))?;
            }
            FrameKind::Record => {
                let record = unpack(&frame.payload).map_err(|why| format!("the record: {why}"))?;
                self.received.record = Some(record);
            }
            FrameKind::Exit => {
                self.received.code = Some(frame.payload.first().copied().unwrap_or(4))
            }
        }
        Ok(())
    }

    /// Passes a line, an event or a warning on. The last one that is passed on says that the rest
    /// is left out: it may have the reason for an exit code.
    fn pass_on(&mut self, event: impl FnOnce() -> Event) {
        let passed = self.received.lines;
        if passed < MOST_LINES {
            self.received.lines += 1;
            let is_last = passed + 1 == MOST_LINES;
            let event = if is_last { Event::Warning(LEFT_OUT.to_owned()) } else { event() };
            self.events.push_back(event);
        }
    }
}

fn read_available(port: &mut UnixStream, bytes: &mut Vec<u8>) -> Result<(), GuestError> {
    let mut chunk = [0; 65536];
    while bytes.len() < MOST_AT_ONCE {
        match port.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // If QEMU was killed with unread data, the socket is reset. This is its end.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(source) => return Err(GuestError::System { what: "a port of the guest", source }),
        }
    }
    Ok(())
}
