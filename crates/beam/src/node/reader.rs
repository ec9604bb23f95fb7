//! The thread that reads a node's frames and its output.

use super::mailbox::{End, Mailbox};
use crate::wire::Frames;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// How often to check for free space while too many frames wait.
const FULL: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// The pipes that are read, and a pipe that ends the thread when its other end is closed.
pub(super) struct Pipes {
    /// The pipe with frames.
    pub frames: OwnedFd,
    /// The pipe with standard output and error.
    pub written: OwnedFd,
    /// Becomes readable when the thread must end.
    pub stop: OwnedFd,
}

/// Reads until the frames end or the thread is stopped.
///
/// The time of arrival is taken here, so it does not depend on when a caller takes the frame.
///
/// # Errors
/// If the thread cannot be started.
pub(super) fn start(pipes: Pipes, mailbox: Arc<Mailbox>) -> io::Result<JoinHandle<()>> {
    for pipe in [&pipes.frames, &pipes.written] {
        os::pipe::set_nonblocking(pipe)?;
    }
    std::thread::Builder::new().name("node-reader".to_owned()).spawn(move || {
        let end = Reader { pipes, mailbox: &mailbox, buffer: vec![0; 64 << 10] }.run();
        mailbox.end(end);
    })
}

struct Reader<'a> {
    pipes: Pipes,
    mailbox: &'a Mailbox,
    buffer: Vec<u8>,
}

/// The result of one read.
enum Got {
    Bytes(usize),
    Nothing,
    End,
}

impl Reader<'_> {
    fn run(mut self) -> End {
        let (mut frames, mut writes) = (Frames::default(), true);
        loop {
            let room = self.mailbox.has_room();
            let [framed, written, stopped] = self.wait(room, writes);
            if framed {
                let arrived = Instant::now();
                match read(&self.pipes.frames, &mut self.buffer) {
                    Got::Bytes(count) => frames.push(&self.buffer[..count]),
                    Got::Nothing => {}
                    Got::End => return self.ended(),
                }
                loop {
                    match frames.next() {
                        Ok(Some(frame)) => self.mailbox.deliver(arrived, frame),
                        Ok(None) => break,
                        Err(length) => return End::Broken(format!("a frame of {length} bytes")),
                    }
                }
            }
            if written {
                writes = self.drain();
            }
            if stopped {
                return End::Closed;
            }
        }
    }

    /// Which of the pipes have data.
    fn wait(&self, room: bool, writes: bool) -> [bool; 3] {
        // A closed pipe would always be ready, so a pipe that is not needed is left out.
        let pipes = [
            Some(&self.pipes.stop),
            room.then_some(&self.pipes.frames),
            writes.then_some(&self.pipes.written),
        ];
        let mut fds: Vec<PollFd<'_>> =
            pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
        let timeout = (!room).then_some(&FULL);
        if poll(&mut fds, timeout).is_err() {
            return [false; 3];
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let stopped = ready.next().unwrap_or(false);
        let framed = room && ready.next().unwrap_or(false);
        [framed, writes && ready.next().unwrap_or(false), stopped]
    }

    /// Takes the written output; returns whether more may come.
    fn drain(&mut self) -> bool {
        match read(&self.pipes.written, &mut self.buffer) {
            Got::Bytes(count) => {
                self.mailbox.wrote(&self.buffer[..count]);
                true
            }
            Got::Nothing => true,
            Got::End => false,
        }
    }

    /// The frames have ended. Everything that the node wrote before is in its pipe already.
    fn ended(&mut self) -> End {
        for _ in 0..64 {
            match read(&self.pipes.written, &mut self.buffer) {
                Got::Bytes(count) => self.mailbox.wrote(&self.buffer[..count]),
                _ => break,
            }
        }
        End::Closed
    }
}

fn read(pipe: &OwnedFd, buffer: &mut [u8]) -> Got {
    match rustix::io::read(pipe, buffer) {
        Ok(0) => Got::End,
        Ok(count) => Got::Bytes(count),
        Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
        Err(_) => Got::End,
    }
}
