//! The side of the children: one hidden subcommand a generator.

mod control;
pub mod cpu_list;
mod crew;
pub mod fibonacci;
mod line;
pub mod mapper;
pub mod scanner;
mod slots;
pub mod spinner;

use crate::protocol::{Failure, FailureKind, Message};
use clap::Subcommand;
pub use control::Order;

/// The generators and their options.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum LoadCommand {
    /// Map and unmap random pages of a region, timing each call
    Mapper(mapper::MapperArgs),
    /// Read a file of /proc/PID from start to end, again and again
    Scanner(scanner::ScannerArgs),
    /// Look at a file of /proc/PID until it vanishes
    Spinner(spinner::SpinnerArgs),
    /// Run the fibonacci sequence on threads, some of which sleep most of the time
    Fibonacci(fibonacci::FibonacciArgs),
}

/// Runs a generator to its end; returns the exit code.
pub fn run(command: &LoadCommand) -> u8 {
    let done = match command {
        LoadCommand::Mapper(args) => mapper::serve(args),
        LoadCommand::Scanner(args) => scanner::serve(args),
        LoadCommand::Spinner(args) => spinner::serve(args),
        LoadCommand::Fibonacci(args) => fibonacci::serve(args),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            // Without a reader nobody is left to tell.
            let _ = control::say(&Message::Error(failure));
            2
        }
    }
}

/// A failure of the kernel, sorted by its errno.
pub(crate) fn failure(what: impl std::fmt::Display, error: std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Permission,
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::NotFound => FailureKind::Unusable,
        _ => FailureKind::System,
    };
    Failure { kind, what: format!("{what}: {error}") }
}
