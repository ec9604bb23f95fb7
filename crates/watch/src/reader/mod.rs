//! The reader: a process of its own that alone opens what users of this machine wrote.
//!
//! The memory maps, command lines, programs and libraries of processes may hold anything, and to
//! read them may take for ever: a file may lie on a file system that its owner serves, or hides
//! what it maps behind a lock. So `watch` asks for them here. The reader starts a worker for each
//! question. The worker opens what it needs, gives up every privilege, its user and all other
//! files, and only then looks at a byte. A worker that takes too long or too much memory is ended,
//! and the answer is none.

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
pub use command_line::NodeTold;
pub use maps::{Maps, Told, file_name};
pub use question::{Answer, ContainerId, MOST_PLACES, What};
pub use server::serve;

use host::Roots;

/// Who answers questions about the files of users.
#[derive(Debug)]
pub enum Readers {
    /// The reader.
    Process(Box<Reader>),
    /// Nobody: it could not be started.
    None,
    /// This very process, without any wall.
    #[cfg(test)]
    Here,
}

impl Readers {
    /// Asks about a process; none where the answer is not there yet: ask again in the next
    /// interval.
    pub fn ask(&mut self, roots: &Roots, pid: u32, what: What) -> Option<Answer> {
        match self {
            Readers::Process(reader) => reader.ask(roots, pid, what),
            Readers::None => Some(Answer::None),
            #[cfg(test)]
            Readers::Here => Some(worker::here(roots, pid, &what)),
        }
    }

    /// An interval begins: there is time again.
    pub fn begin(&mut self) {
        if let Readers::Process(reader) = self {
            reader.begin();
        }
    }

    /// Has the kernel count the time of programs, or no longer.
    pub fn count(&mut self, on: bool) {
        if let Readers::Process(reader) = self {
            reader.count(on);
        }
    }
}
