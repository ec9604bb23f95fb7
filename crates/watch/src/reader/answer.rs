//! Turns what was opened into an answer. Pure, except for reading that file: a test or a fuzzer
//! can give it any bytes.

use super::command_line;
use super::maps::Maps;
use super::question::{Answer, What};
use super::settings::settings;
use crate::workload;
use probe::elf::{self, ReadCacheOps};

/// What a worker opened or read for a question while it had its privileges.
pub enum Material<F> {
    /// The text of a file of /proc.
    Text(Vec<u8>),
    /// The words of the command line and of the environment that a process started with.
    Words(Vec<u8>, Vec<u8>),
    /// A file, and where the code of the program starts in memory, according to the kernel.
    File(F, u64),
    /// For each process, whether it has such a thread.
    Found(Vec<bool>),
    /// What was read at the places where names of a container may be.
    Kept(Vec<(workload::NameSource, Vec<u8>)>),
}

/// Answers a question.
pub fn answer<F: ReadCacheOps>(what: &What, material: Material<F>) -> Answer {
    match (what, material) {
        (What::CommandLine, Material::Text(bytes)) => {
            Answer::CommandLine(command_line::facts(&bytes))
        }
        (What::Settings(runtime), Material::Words(line, environment)) => {
            Answer::Settings(settings(*runtime, &line, &environment))
        }
        (What::Variable(name), Material::File(file, code)) => elf::variable(file, name)
            .and_then(|behind| code.checked_add_signed(behind))
            .map_or(Answer::None, Answer::Address),
        (What::Maps, Material::Text(bytes)) => {
            Answer::Maps(Maps::read(&String::from_utf8_lossy(&bytes)))
        }
        (What::IsGo, Material::Text(start)) => Answer::Is(elf::is_go(&start)),
        (What::InFile(..) | What::InProgram(_), Material::File(file, code)) => {
            Answer::Functions(elf::functions(file, &what.places(code)))
        }
        (What::SleepIn(..), Material::Found(each)) => Answer::Each(each),
        (What::Container(of), Material::Kept(found)) => {
            Answer::Names(workload::names(&found, &of.id, of.pod_uid.as_deref()))
        }
        _ => Answer::None,
    }
}
