//! Questions to the reader, and its answers.

use super::command_line::CommandLine;
use super::maps::Maps;
use crate::runtime::{LiveRuntime, Settings};
use crate::workload::Names;
use host::MappedFile;
use model::live::Engine;
use probe::elf::Offset;
use serde::{Deserialize, Serialize};

/// Most offsets or processes in one question.
pub const MOST_PLACES: usize = 64;

/// A question about one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Question {
    /// The process.
    pub pid: u32,
    /// When it started, in clock ticks after boot. A later process with this number is not looked
    /// at.
    pub started: u64,
    /// What is asked.
    pub what: What,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    /// What its command line says about a node.
    CommandLine,
    /// Which code it has mapped.
    Maps,
    /// The functions at these offsets of a mapped file.
    InFile(MappedFile, Vec<u64>),
    /// The function at this address of its program.
    InProgram(u64),
    /// The address of this variable of its program in its memory.
    Variable(String),
    /// Whether Go's linker made its program.
    IsGo,
    /// Which settings its runtime was started with.
    Settings(LiveRuntime),
    /// For each of these processes, whether one of its threads sleeps in this kernel function.
    /// One of them is the process of the question.
    SleepIn(String, Vec<u32>),
    /// The names of this container of its group, and of the container's pod.
    Container(ContainerId),
}

/// A container, according to the path of its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerId {
    /// What runs it, if the path tells.
    pub engine: Option<Engine>,
    /// Its identifier.
    pub id: String,
    /// The identifier of its pod.
    pub pod_uid: Option<String>,
}

/// An answer. The question determines how it is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Answer to [`What::CommandLine`].
    CommandLine(CommandLine),
    /// Answer to [`What::Maps`].
    Maps(Maps),
    /// Answer to [`What::InFile`], in its order, and to [`What::InProgram`].
    Functions(Vec<Option<String>>),
    /// Answer to [`What::IsGo`].
    Is(bool),
    /// Answer to [`What::Variable`].
    Address(u64),
    /// Answer to [`What::Settings`].
    Settings(Settings),
    /// Answer to [`What::SleepIn`], in its order.
    Each(Vec<bool>),
    /// Answer to [`What::Container`].
    Names(Names),
    /// The process or its file does not exist, or may not be read.
    None,
    /// It took too much time or memory.
    GivenUp,
}

/// A message from the process that watches to the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// A question, with its number.
    Ask(u64, Question),
    /// Whether the kernel is to count the time of programs (eBPF).
    Count(bool),
}

/// The places that a question is about.
impl What {
    pub(super) fn places(&self, code: u64) -> Vec<Offset> {
        match self {
            What::InFile(_, offsets) => {
                offsets.iter().take(MOST_PLACES).map(|offset| Offset::InFile(*offset)).collect()
            }
            What::InProgram(address) => {
                address.checked_sub(code).map(Offset::InCode).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
