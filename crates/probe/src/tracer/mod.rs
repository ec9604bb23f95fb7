//! The programs in the kernel, and the thread that listens to them.
//!
//! Nothing is pinned: programs, maps and links end with their descriptors, and so with this
//! process, however it ends.

mod command;
mod load;
mod object;
mod read;
mod serve;

use crate::SessionOptions;
use crate::refused::refused;
use crate::watched::Watched;
use command::Command;
use model::Evidence;
use model::not_seen::{NoPrograms, ProgramPart};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The loaded and attached programs.
pub struct Tracer {
    commands: Sender<Command>,
    thread: Option<JoinHandle<Evidence>>,
}

impl Tracer {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    /// If the programs cannot be loaded here at all. If only one of them cannot, its evidence is
    /// missing and the record gives the reason.
    pub fn start(options: &SessionOptions) -> Result<Self, NoPrograms> {
        crate::privilege::check(&options.roots)?;
        crate::privilege::same_pids(&options.roots)?;
        let (commands, inbox) = channel();
        let (reply, answer) = channel();
        let options = options.clone();
        let spawned = std::thread::Builder::new()
            .name("probe".to_owned())
            .spawn(move || serve::serve(&options, &reply, &inbox));
        let thread = spawned.map_err(|error| refused(ProgramPart::Thread, &error))?;
        match answer.recv() {
            Ok(Ok(())) => Ok(Tracer { commands, thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(NoPrograms::LoaderEnded),
        }
    }

    /// Watches these processes, beginning with this call.
    pub fn watch(&self, watched: Vec<Watched>) {
        self.ask(|answer| Command::Watch(watched, answer));
    }

    /// Marks the release of the load; everything counted before is dropped.
    pub fn release(&self) {
        self.ask(Command::Release);
    }

    /// Detaches the programs; later events are not seen.
    pub fn stop(&self) {
        self.ask(Command::Stop);
    }

    /// Ends the session and returns the evidence; None if the listening thread panicked.
    pub fn finish(mut self) -> Option<Evidence> {
        let _ = self.commands.send(Command::Finish);
        self.thread.take()?.join().ok()
    }

    /// Sends a command and waits for the answer. If the thread has ended, that is reported at the
    /// end.
    fn ask(&self, command: impl FnOnce(Sender<()>) -> Command) {
        let (answer, answered) = channel();
        if self.commands.send(command(answer)).is_ok() {
            let _ = answered.recv();
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Finish);
        if let Some(thread) = self.thread.take() {
            // Its evidence is not needed any more.
            let _ = thread.join();
        }
    }
}
