//! The programs in the kernel, and the thread that listens to them.
//!
//! Nothing is pinned: programs, maps and links go with their descriptors, so with this process,
//! however it ends.

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

/// Programs that are loaded and attached.
pub struct Tracer {
    commands: Sender<Command>,
    thread: Option<JoinHandle<Evidence>>,
}

impl Tracer {
    /// Loads and attaches.
    ///
    /// # Errors
    /// If none of the programs can be had here; where one cannot, its evidence is missing and the
    /// record gives the reason.
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

    /// Watches these processes from now on.
    pub fn watch(&self, watched: Vec<Watched>) {
        self.ask(|answer| Command::Watch(watched, answer));
    }

    /// Marks the release of the load; what was counted before is dropped.
    pub fn release(&self) {
        self.ask(Command::Release);
    }

    /// Detaches: what happens from now on is not seen.
    pub fn stop(&self) {
        self.ask(Command::Stop);
    }

    /// Ends, and returns the evidence; none where the listening thread panicked.
    pub fn finish(mut self) -> Option<Evidence> {
        let _ = self.commands.send(Command::Finish);
        self.thread.take()?.join().ok()
    }

    /// Sends a command and waits for the answer; that a thread is gone is reported at the end.
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
            // Its evidence is not wanted any more.
            let _ = thread.join();
        }
    }
}
