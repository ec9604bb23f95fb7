//! The writer as the stage sees it: a child process, and the records that it sends.

use super::failure::{broken, refused};
use super::file_systems::path_of;
use super::round::{self, Round};
use super::span::Span;
use super::writer::{WRITER, WriterSpec, limit};
use load::OwnArgs;
use load::protocol::{Failure, Message};
use os::child::Child;
use os::death;
use os::pipe::{Got, Input, Next};
use os::time;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the writer may take to get ready, or to prepare its first round.
const LIMIT: Duration = Duration::from_secs(30);

/// Most unread bytes of the writer. It sends a line first, and then small records.
const MOST: usize = 1 << 20;

/// A running writer. When it is dropped, it is killed.
pub(super) struct RunningWriter {
    child: Child,
    input: File,
    output: Input,
    /// The file with the limits of its group.
    limits: File,
    disk: String,
    /// Its calls of fsync that have returned, in order.
    ended: Vec<Span>,
    /// When its present call of fsync began.
    began_ns: Option<u64>,
}

impl RunningWriter {
    /// Starts the writer, and waits until it is in its group. Its files are in this folder, instead
    /// of the one of `spec`. It gets the descriptor: a path by the number of this process could
    /// lead elsewhere if /proc is that of another PID namespace.
    pub(super) fn start(spec: WriterSpec, folder: &OwnedFd) -> Result<Self, Failure> {
        let limits = File::options().write(true).open(&spec.limits);
        let limits = limits.map_err(|error| refused(spec.limits.display(), &error))?;
        let folder = folder.try_clone().map_err(broken)?;
        let spec = WriterSpec { folder: path_of(&folder), ..spec };
        let args = OwnArgs::to_args(&WRITER, &serde_json::to_value(&spec).map_err(broken)?);
        let mut command = Command::new("/proc/self/exe");
        death::keep_open(&mut command, vec![folder]);
        command.arg("load").args(args);
        command.args(["--parent", &std::process::id().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = command.spawn();
        let started = started.map_err(|error| refused("the writer cannot be started", &error))?;
        let mut child = Child::alone(started);
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(broken("no pipe to the writer"));
        };
        let output = Input::new(output, MOST).map_err(broken)?;
        let mut writer = RunningWriter {
            child,
            input: input.into(),
            output,
            limits,
            disk: spec.disk,
            ended: Vec::new(),
            began_ns: None,
        };
        writer.wait_until_ready()?;
        Ok(writer)
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let line = self.output.next_line(Instant::now() + LIMIT).map_err(broken)?;
        let Next::Line(line) = line else { return Err(broken("the writer did not get ready")) };
        match serde_json::from_slice(&line) {
            Ok(Message::Ready(_)) => Ok(()),
            Ok(Message::Error(failure)) => Err(failure),
            _ => Err(broken("the writer said something else than that it is ready")),
        }
    }

    /// Lets the writer begin, and waits until its first fsync has begun.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        // If the writer has ended, the read below detects it.
        let _ = self.input.write_all(b"g");
        let deadline = Instant::now() + LIMIT;
        while self.began_ns.is_none() && self.ended.is_empty() {
            match self.output.read_before(deadline).map_err(broken)? {
                Got::Bytes => self.take_records()?,
                Got::End => return Err(broken("the writer has ended")),
                Got::Nothing => {
                    return Err(broken(format!("the writer began no fsync within {LIMIT:?}")));
                }
            }
        }
        Ok(())
    }

    /// Reads the records that the writer has sent since the last call, without waiting.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        match self.output.read().map_err(broken)? {
            Got::Bytes => self.take_records(),
            Got::Nothing => Ok(()),
            Got::End => Err(broken("the writer has ended")),
        }
    }

    fn take_records(&mut self) -> Result<(), Failure> {
        while let Some(record) = self.output.pending.first_chunk::<{ round::SIZE }>().copied() {
            self.output.pending.drain(..round::SIZE);
            match Round::from_bytes(record) {
                Round::Began { at_ns } => self.began_ns = Some(at_ns),
                Round::Ended(span) => {
                    self.began_ns = None;
                    self.ended.push(span);
                }
                Round::Failed { error } => {
                    let error = std::io::Error::from_raw_os_error(error);
                    return Err(refused(WRITER.name, &error));
                }
            }
        }
        Ok(())
    }

    /// All calls of fsync so far, in order. One that has not returned ends now.
    pub(super) fn rounds(&self) -> Vec<Span> {
        let present = self.began_ns.map(|began_ns| Span { began_ns, ended_ns: time::now_ns() });
        self.ended.iter().copied().chain(present).collect()
    }

    /// Ends the writer. The cap is removed, so that nothing holds its last writes back.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.child.kill();
        self.lift()?;
        self.child.end();
        // The writer may have set the cap again before it was killed.
        self.lift()
    }

    fn lift(&self) -> Result<(), Failure> {
        let lifted = (&self.limits).write_all(limit(&self.disk, None).as_bytes());
        lifted.map_err(|error| refused("the limit of the writer's group", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer whose records come from a pipe, and the other end of that pipe.
    fn running() -> (RunningWriter, std::io::PipeWriter) {
        let (output, pipe) = std::io::pipe().unwrap();
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::piped());
        let mut child = Child::alone(command.spawn().unwrap());
        let writer = RunningWriter {
            input: child.take_stdin().unwrap().into(),
            child,
            output: Input::new(output.into(), MOST).unwrap(),
            limits: tempfile::tempfile().unwrap(),
            disk: "7:3".to_owned(),
            ended: Vec::new(),
            began_ns: None,
        };
        (writer, pipe)
    }

    #[test]
    fn rounds_are_read_from_records() {
        let (mut writer, mut pipe) = running();
        let mut send = |round: Round| pipe.write_all(&round.to_bytes()).unwrap();
        send(Round::Began { at_ns: 5 });
        writer.begin().unwrap();
        writer.look().unwrap();
        let [present] = writer.rounds()[..] else { panic!() };
        assert!(present.began_ns == 5 && present.ended_ns > 5);
        let span = Span { began_ns: 5, ended_ns: 9 };
        send(Round::Ended(span));
        writer.look().unwrap();
        assert_eq!(writer.rounds(), [span]);
        send(Round::Failed { error: 28 });
        let failure = writer.look().unwrap_err();
        assert!(failure.what.starts_with("journal-writer: No space left"), "{}", failure.what);
        writer.end().unwrap();
    }

    #[test]
    fn a_writer_that_has_ended_is_noticed() {
        let (mut writer, pipe) = running();
        drop(pipe);
        // The first call waits: a child that another test starts now holds the pipe until its exec.
        assert!(writer.begin().is_err() && writer.look().is_err());
    }
}
