//! The child processes: one hidden subcommand for each generator.

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

use crate::protocol::{Failure, Message};
use clap::{Args, Subcommand};
pub use control::Order;
use os::user::User;

/// The generators with their options.
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
    /// Be a generator of one scenario
    Own(own::OwnArgs),
}

/// Be a load generator
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Load {
    /// User to become after the set-up, as UID:GID; stays the caller's user if absent
    #[arg(long, value_name = "UID:GID")]
    run_as: Option<User>,
    #[command(subcommand)]
    command: LoadCommand,
}

/// Runs a generator until it ends and returns the exit code. `own` are the generators of the
/// scenarios.
pub fn run(load: &Load, own: &[own::OwnGenerator]) -> u8 {
    match serve(&load.command, load.run_as, own) {
        Ok(()) => 0,
        Err(failure) => {
            // If the parent no longer reads, the failure message is lost.
            let _ = control::send(&Message::Error(failure));
            2
        }
    }
}

fn serve(
    command: &LoadCommand,
    user: Option<User>,
    own: &[own::OwnGenerator],
) -> Result<(), Failure> {
    if user.is_some() {
        // Set before any thread is started, so all threads inherit it.
        let set = rustix::thread::set_no_new_privs(true);
        set.map_err(|error| failure::failure("no new privileges", error.into()))?;
    }
    match command {
        LoadCommand::Mapper(args) => mapper::serve(args, user),
        LoadCommand::Scanner(args) => scanner::serve(args, user),
        LoadCommand::Spinner(args) => spinner::serve(args, user),
        LoadCommand::Fibonacci(args) => fibonacci::serve(args, user),
        LoadCommand::Own(args) => own::serve(args, user, own),
    }
}
