//! The original test programs: their options, their messages, their tables.
//!
//! A script that calls one of them works with `tailback compat` in front. Exit codes are those of
//! tailback, since the originals only know 0.

mod busywait;
mod date;
mod exec_erlang;
mod fibtest;
mod mapper;
mod msgq_flood;
mod nifwait;
mod options;
mod proc_vs_map;
mod run_proc_vs_map;
mod runfibtest;
mod scanpid;
mod setting;

use crate::exit::Failure;
use clap::ArgMatches;

/// The programs, and what each does.
pub const PROGRAMS: &[(&str, &str)] = &[
    ("mapper", "Map and unmap random pages, print the longest call"),
    ("busywait", "Call stat on /proc/PID/smaps until it is gone"),
    ("scanpid", "Read /proc/PID/smaps until it is gone"),
    ("proc-vs-map", "One mapper against scanners and busy waiters"),
    ("run-proc-vs-map", "The table for 0, 1, 10, 100 and 1000 of them"),
    ("fibtest", "Run the fibonacci sequence on fast and slow threads"),
    ("runfibtest", "Run fibtest in a group with a tenth of a CPU"),
    ("nifwait", "Erlang processes that call native code, and how evenly schedulers share them"),
    ("nifwait-collapse", "Eight runs, half of the schedulers offline, one more: do they sleep?"),
    ("msgq-flood", "A log server that is flooded, with or without a dam, and how much waits"),
    ("msgq-flood-profile", "The profile of a log server with a long mailbox"),
];

/// The text below the help of `compat`.
pub const HELP: &str = "A short and a long run:\n  \
    tailback compat run-proc-vs-map --nsamples 3 -- --duration 3\n  \
    tailback compat run-proc-vs-map --nsamples 24\n\n\
    Each program prints its own options with --help. With --opavg the three that print opmax \
    print opavg beside it, as the later form of the originals does.";

/// Runs one of the programs.
pub fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    let (name, matches) = matches.subcommand().unwrap_or(("", matches));
    let args: Vec<String> = matches
        .try_get_many::<String>("args")
        .ok()
        .flatten()
        .map(|args| args.cloned().collect())
        .unwrap_or_default();
    match name {
        "mapper" => mapper::run(&args),
        "busywait" => busywait::run(&args),
        "scanpid" => scanpid::run(&args),
        "proc-vs-map" => proc_vs_map::run(&args),
        "run-proc-vs-map" => run_proc_vs_map::run(&args),
        "fibtest" => fibtest::run(&args),
        "runfibtest" => runfibtest::run(&args),
        "nifwait" => nifwait::run(&args),
        "nifwait-collapse" => nifwait::collapse(&args),
        "msgq-flood" => msgq_flood::run(&args),
        "msgq-flood-profile" => msgq_flood::profile(&args),
        _ => Err(Failure::usage("no such program; see tailback compat --help")),
    }
}
