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

use crate::protocol::{Failure, Message};
use clap::{Args, Subcommand};
pub use control::Order;
use os::user::User;

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

/// Be a load generator
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Load {
    /// The user to become once it is placed, as UID:GID; the caller's if absent
    #[arg(long, value_name = "UID:GID")]
    run_as: Option<User>,
    #[command(subcommand)]
    command: LoadCommand,
}

/// Runs a generator to its end; returns the exit code. `own` are those that scenarios bring
/// themselves.
pub fn run(load: &Load, own: &[own::OwnGenerator]) -> u8 {
    match serve(&load.command, load.run_as, own) {
        Ok(()) => 0,
        Err(failure) => {
            // Without a reader the failure is lost.
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
        // Here, so that the threads that it starts have it too.
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
