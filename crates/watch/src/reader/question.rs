//! What the reader is asked, and what it answers.

use super::command_line::CommandLine;
use super::maps::Maps;
use crate::runtime::{LiveRuntime, Settings};
use crate::workload::Names;
use host::MappedFile;
use model::live::Engine;
use probe::elf::Place;
use serde::{Deserialize, Serialize};

/// Offsets or processes in one question, at most.
pub const MOST_PLACES: usize = 64;

/// A question about one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Question {
    /// The process.
    pub pid: u32,
    /// When it began, in clock ticks after boot; another process of that number is not looked at.
    pub started: u64,
    /// What is asked.
    pub what: What,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    /// What its command line says of a node.
    CommandLine,
    /// Which code it has mapped.
    Maps,
    /// The functions at these offsets of a mapped file.
    InFile(MappedFile, Vec<u64>),
    /// The function at this address of its program.
    InProgram(u64),
    /// Where this variable of its program lies in its memory.
    Variable(String),
    /// Whether Go's linker made its program.
    IsGo,
    /// Which settings its runtime was started with.
    Settings(LiveRuntime),
    /// For each of these processes: whether one of its threads sleeps in this function of the
    /// kernel. The question is about one of them.
    SleepIn(String, Vec<u32>),
    /// What this container of its group and that container's pod are called.
    Container(ContainerId),
}

/// A container, as the path of its group has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerId {
    /// What runs it, where the path says so.
    pub engine: Option<Engine>,
    /// Its identifier.
    pub id: String,
    /// That of its pod.
    pub pod_uid: Option<String>,
}

/// An answer; how it is to be read follows from the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Of [`What::CommandLine`].
    CommandLine(CommandLine),
    /// Of [`What::Maps`].
    Maps(Maps),
    /// Of [`What::InFile`], in its order, and of [`What::InProgram`].
    Functions(Vec<Option<String>>),
    /// Of [`What::IsGo`].
    Is(bool),
    /// Of [`What::Variable`].
    Address(u64),
    /// Of [`What::Settings`].
    Settings(Settings),
    /// Of [`What::SleepIn`], in its order.
    Each(Vec<bool>),
    /// Of [`What::Container`].
    Names(Names),
    /// The process or its file is not there, or may not be read.
    None,
    /// It took too much time or memory.
    GivenUp,
}

/// What goes from the process that watches to the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// A question, by its number.
    Ask(u64, Question),
    /// Whether the kernel is to count the time of programs (eBPF).
    Count(bool),
}

/// The places that a question is about.
impl What {
    pub(super) fn places(&self, code: u64) -> Vec<Place> {
        match self {
            What::InFile(_, offsets) => {
                offsets.iter().take(MOST_PLACES).map(|offset| Place::InFile(*offset)).collect()
            }
            What::InProgram(address) => {
                address.checked_sub(code).map(Place::InCode).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
