//! The reader: a separate process, the only one that opens what users of this machine wrote.
//!
//! The memory maps, command lines, programs and libraries of processes may hold anything, and
//! reading them may take for ever. A file may be on a file system that its owner serves, or its
//! mappings may be hidden behind a lock. So `watch` asks the reader for them. The reader starts a
//! worker for each question. The worker opens what it needs, gives up every privilege, its user
//! and all other files, and only then looks at a byte. A worker that takes too long or too much
//! memory is ended, and the answer is [`Answer::GivenUp`].

mod answer;
mod client;
mod command_line;
mod maps;
mod question;
mod server;
mod settings;
mod worker;

pub use answer::{Material, answer};
pub use client::{Reader, ReaderState};
pub use command_line::{CommandLine, GivenFlags};
pub use maps::{Maps, Told, file_name};
pub use question::{Answer, ContainerId, MOST_PLACES, What};
pub use server::serve;

use host::Roots;

/// Who answers questions about the files of users.
#[derive(Debug)]
pub enum Readers {
    /// The reader.
    Process(Box<Reader>),
    /// Nobody: the reader could not be started.
    None,
    /// This very process, without any isolation.
    #[cfg(test)]
    Here,
}

impl Readers {
    /// Asks about a process. None if the answer is not there yet: ask again in the next interval.
    pub fn ask(&mut self, roots: &Roots, pid: u32, what: What) -> Option<Answer> {
        match self {
            Readers::Process(reader) => reader.ask(roots, pid, what),
            Readers::None => Some(Answer::None),
            #[cfg(test)]
            Readers::Here => Some(worker::here(roots, pid, &what)),
        }
    }

    /// Starts an interval, with a new time budget.
    pub fn begin(&mut self) {
        if let Readers::Process(reader) = self {
            reader.begin();
        }
    }

    /// Makes the kernel count the time of its programs, or stop counting.
    pub fn count(&mut self, on: bool) {
        if let Readers::Process(reader) = self {
            reader.count(on);
        }
    }
}
