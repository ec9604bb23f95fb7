//! The side of the children: one hidden subcommand for each generator.

mod control;
pub mod cpu_list;
mod failure;
pub mod fibonacci;
mod line;
pub mod mapper;
pub mod own;
pub mod scanner;
mod slots;
pub mod spinner;
mod worker_pool;

use crate::protocol::Message;
use clap::Subcommand;
pub use control::Order;

/// The generators and their options.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum LoadCommand {
    /// Map and unmap random pages of a region, timing each call
    Mapper(mapper::MapperArgs),
    /// Read a file of /proc/PID from start to end, repeatedly
    Scanner(scanner::ScannerArgs),
    /// Call stat on a file of /proc/PID until it is gone
    Spinner(spinner::SpinnerArgs),
    /// Run the fibonacci sequence on threads, some of which sleep most of the time
    Fibonacci(fibonacci::FibonacciArgs),
    /// Be a generator that a scenario brings itself
    Own(own::OwnArgs),
}

/// Runs a generator to its end; returns the exit code. `own` are those that scenarios bring themselves.
pub fn run(command: &LoadCommand, own: &[own::OwnGenerator]) -> u8 {
    let done = match command {
        LoadCommand::Mapper(args) => mapper::serve(args),
        LoadCommand::Scanner(args) => scanner::serve(args),
        LoadCommand::Spinner(args) => spinner::serve(args),
        LoadCommand::Fibonacci(args) => fibonacci::serve(args),
        LoadCommand::Own(args) => own::serve(args, own),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            // Without a reader the failure is lost.
            let _ = control::send(&Message::Error(failure));
            2
        }
    }
}
