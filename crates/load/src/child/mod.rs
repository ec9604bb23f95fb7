//! The side of the children: one hidden subcommand a generator.

mod control;
pub mod cpu_list;
mod crew;
mod failure;
pub mod fibonacci;
mod line;
pub mod mapper;
pub mod scanner;
mod slots;
pub mod spinner;

use crate::protocol::Message;
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
