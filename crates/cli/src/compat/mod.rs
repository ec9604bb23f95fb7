//! The original test programs: their options, their messages, their tables.
//!
//! Whoever has one of them in a script can put `tailback compat` in front. Exit codes are those of
//! tailback, since the originals have none to speak of.

mod busywait;
mod date;
mod mapper;
mod options;
mod proc_vs_map;
mod run_proc_vs_map;
mod scanpid;
mod setting;

use crate::exit::Failure;
use clap::ArgMatches;

/// The programs.
pub const NAMES: &[&str] = &["mapper", "busywait", "scanpid", "proc-vs-map", "run-proc-vs-map"];

/// What stands below the help of `compat`.
pub const HELP: &str = "Programs:\n  \
    mapper            map and unmap random pages, print the longest call\n  \
    busywait          look at /proc/PID/smaps until it is gone\n  \
    scanpid           read /proc/PID/smaps until it is gone\n  \
    proc-vs-map       one mapper against scanners and busy waiters\n  \
    run-proc-vs-map   the table for 0, 1, 10, 100 and 1000 of them\n\n\
    A short and a long run:\n  \
    tailback compat run-proc-vs-map --nsamples 3 -- --duration 3\n  \
    tailback compat run-proc-vs-map --nsamples 24\n\n\
    Each program prints its own options with --help. With --opavg the three that print opmax \
    print opavg beside it, as the later form of the originals does.";

/// Runs one of the programs.
pub fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    let args: Vec<String> =
        matches.get_many::<String>("args").map(|args| args.cloned().collect()).unwrap_or_default();
    match matches.get_one::<String>("name").map(String::as_str) {
        Some("mapper") => mapper::run(&args),
        Some("busywait") => busywait::run(&args),
        Some("scanpid") => scanpid::run(&args),
        Some("proc-vs-map") => proc_vs_map::run(&args),
        Some("run-proc-vs-map") => run_proc_vs_map::run(&args),
        _ => Err(Failure::usage("no such program; see tailback compat --help")),
    }
}
