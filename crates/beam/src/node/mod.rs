//! A node: started, driven, and reliably ended.

mod call;
mod child_setup;
mod hello;
mod mailbox;
mod options;
mod process;
mod reader;

pub use hello::Hello;
pub use options::NodeOptions;

use crate::app::App;
use crate::error::{BeamError, Death};
use crate::otp::Otp;
use crate::wire::Incoming;
use mailbox::{End, Mailbox, Next};
use process::Process;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the caller is asked whether the user has interrupted.
const ASK: Duration = Duration::from_millis(50);

/// How long a VM with closed pipes may take to end, including a crash dump.
const ENDING: Duration = Duration::from_secs(15);

/// An Erlang VM that is driven over pipes by the protocol of `schema/port.md`.
///
/// It is not distributed: there is no epmd, no cookie, and nothing listens. The node and
/// everything that it has started end with this value and with the tool, however the tool dies;
/// nothing is left behind. A supervisor between the two adopts and kills the processes that
/// survive the VM. The supervisor's CPU time is separate from the tool's; the measured process is
/// [`Node::pid`].
#[derive(Debug)]
pub struct Node {
    process: Process,
    hello: Hello,
    mailbox: Arc<Mailbox>,
    /// None once the node was asked to end, or can no longer be written to.
    requests: Option<OwnedFd>,
    stop: Option<OwnedFd>,
    reader: Option<JoinHandle<()>>,
    last_id: u64,
    printed: Vec<u8>,
}

impl Node {
    /// Starts a node and waits for its hello message; `interrupted` is called every 50 ms.
    ///
    /// # Errors
    /// If it cannot be started as the options say, dies, or is not ready in time; its last output
    /// is part of the error.
    pub fn start(
        otp: &Otp,
        app: &App,
        options: NodeOptions,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, BeamError> {
        let (mut process, ends) = process::start(otp, app, &options)?;
        let mailbox = Arc::new(Mailbox::default());
        let requests = Some(never_blocking(ends.requests)?);
        let reader = reader::start(ends.pipes, Arc::clone(&mailbox)).map_err(BeamError::Thread)?;
        let hello = wait_for_hello(&mut process, &mailbox, options.hello_within, interrupted)?;
        Ok(Node {
            hello,
            process,
            mailbox,
            requests,
            stop: Some(ends.stop),
            reader: Some(reader),
            last_id: 0,
            printed: Vec::new(),
        })
    }

    /// The pid of the VM's process.
    pub fn pid(&self) -> u32 {
        self.hello.os_pid
    }

    /// The description that the node sent when it started.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The last lines, at most 20, that the VM and its programs wrote to standard output and
    /// error, cleaned, oldest first.
    pub fn last_lines(&self) -> Vec<String> {
        self.mailbox.last_lines()
    }

    /// Takes the text that Erlang code printed during calls so far; only the last 1 MiB is kept.
    pub fn printed(&mut self) -> String {
        let bytes = std::mem::take(&mut self.printed);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Asks the node to end, and forces it after `limit`; returns whether it ended by itself.
    pub fn stop(mut self, limit: Duration) -> bool {
        self.requests = None;
        self.process.wait_until(Instant::now() + limit).is_some_and(|status| status.success())
    }

    /// Describes the end of a node that ended, or closed its pipes, without being asked.
    fn death(&mut self, interrupted: &dyn Fn() -> bool) -> Death {
        death(&mut self.process, &self.mailbox, interrupted)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.requests = None;
        self.process.kill();
        self.stop = None;
        if let Some(reader) = self.reader.take() {
            // The thread ends at once; the panic hook would have reported a panic in it.
            let _ = reader.join();
        }
    }
}

/// A pipe for writing calls that never blocks.
fn never_blocking(requests: OwnedFd) -> Result<OwnedFd, BeamError> {
    os::pipe::set_nonblocking(&requests).map_err(BeamError::Thread)?;
    Ok(requests)
}

fn wait_for_hello(
    process: &mut Process,
    mailbox: &Mailbox,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Hello, BeamError> {
    let (deadline, pid) = (Instant::now() + limit, process.vm);
    loop {
        if interrupted() {
            return Err(BeamError::Interrupted);
        }
        match mailbox.receive(deadline.min(Instant::now() + ASK)) {
            Next::Frame(_, frame) => {
                return hello(&frame).map_err(|what| BeamError::Protocol { pid, what });
            }
            Next::End(End::Broken(what)) => return Err(BeamError::Protocol { pid, what }),
            Next::End(End::Closed) => {
                let death = death(process, mailbox, interrupted);
                // After the first line comes the VM's usage text, or a trace of its boot.
                let last = mailbox.first_line().into_iter().collect();
                return Err(BeamError::Died(Death { last, ..death }));
            }
            Next::Late if Instant::now() >= deadline => {
                return Err(BeamError::NoHello { pid, limit, last: mailbox.last_lines() });
            }
            Next::Late => {}
        }
    }
}

fn hello(frame: &[u8]) -> Result<Hello, String> {
    match Incoming::parse(frame)? {
        Incoming::Hello(map) => Hello::read(&map).map_err(|error| error.to_string()),
        _ => Err("its first message is not a hello".to_owned()),
    }
}

fn death(process: &mut Process, mailbox: &Mailbox, interrupted: &dyn Fn() -> bool) -> Death {
    let deadline = Instant::now() + ENDING;
    let mut status = None;
    while status.is_none() && Instant::now() < deadline && !interrupted() {
        status = process.wait_until(deadline.min(Instant::now() + ASK));
    }
    let how = os::child::describe(status);
    process.kill();
    Death { pid: process.vm, how, last: mailbox.last_lines(), dump: process.keep_dump() }
}
