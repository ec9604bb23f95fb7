//! The original test programs, with their options, messages and tables.
//!
//! A script that calls one of them works with `tailback compat` in front. Exit codes are the ones
//! of tailback, since the originals only know 0.

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

use crate::command::{Failure, Run, Session};

/// The text below the help of `compat`.
const HELP: &str = "Each program prints its own options with --help. With --opavg, the three \
    programs that print opmax also print opavg, as the later version of the originals \
    does.\n\nExamples:\n  \
    tailback compat run-proc-vs-map --nsamples 3 -- --duration 3\n  \
    tailback compat run-proc-vs-map --nsamples 24";

/// Run the original test programs, with their own options and output
#[derive(clap::Args)]
#[command(after_help = HELP, disable_help_subcommand = true)]
#[command(subcommand_value_name = "NAME", subcommand_help_heading = "Programs")]
pub struct Compat {
    #[command(subcommand)]
    program: Program,
}

#[derive(clap::Subcommand)]
enum Program {
    /// Map and unmap random pages, and print the longest call
    Mapper(Words),
    /// Call stat on /proc/PID/smaps until it is gone
    Busywait(Words),
    /// Read /proc/PID/smaps until it is gone
    Scanpid(Words),
    /// Run one mapper against scanners and busy waiters
    ProcVsMap(Words),
    /// Run proc-vs-map with 0, 1, 10, 100 and 1000 tasks, and print a table
    RunProcVsMap(Words),
    /// Run the fibonacci sequence on fast and slow threads
    Fibtest(Words),
    /// Run fibtest in a control group with a tenth of a CPU
    Runfibtest(Words),
    /// Call native code from Erlang processes, and show how evenly schedulers share them
    Nifwait(Words),
    /// Run nifwait eight times, then half of the schedulers offline, then once more, to see
    /// whether they sleep
    NifwaitCollapse(Words),
    /// Flood a log server, with or without a dam, and show how many messages wait
    MsgqFlood(Words),
    /// Profile a log server with a long mailbox
    MsgqFloodProfile(Words),
}

// The originals parse their own options, so `--help` after a name is the help of that program.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct Words {
    /// Its own options; --help prints them
    #[arg(value_name = "ARGS", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// The function of a program. It gets the program's own command line.
type Runs = fn(&[String], &Session) -> Result<u8, Failure>;

impl Compat {
    /// The name of the program, its function, and its own command line.
    fn called(&self) -> (&'static str, Runs, &[String]) {
        let (name, run, words): (_, Runs, _) = match &self.program {
            Program::Mapper(words) => ("mapper", mapper::run, words),
            Program::Busywait(words) => ("busywait", busywait::run, words),
            Program::Scanpid(words) => ("scanpid", scanpid::run, words),
            Program::ProcVsMap(words) => ("proc-vs-map", proc_vs_map::run, words),
            Program::RunProcVsMap(words) => ("run-proc-vs-map", run_proc_vs_map::run, words),
            Program::Fibtest(words) => ("fibtest", fibtest::run, words),
            Program::Runfibtest(words) => ("runfibtest", runfibtest::run, words),
            Program::Nifwait(words) => ("nifwait", nifwait::run, words),
            Program::NifwaitCollapse(words) => ("nifwait-collapse", nifwait::collapse, words),
            Program::MsgqFlood(words) => ("msgq-flood", msgq_flood::run, words),
            Program::MsgqFloodProfile(words) => ("msgq-flood-profile", msgq_flood::profile, words),
        };
        (name, run, &words.args)
    }
}

impl Run for Compat {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let (_, run, args) = self.called();
        run(args, session)
    }

    fn load(&self) -> Option<String> {
        let (name, _, args) = self.called();
        let asks_for_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
        (!asks_for_help).then(|| format!("compat {name}"))
    }
}
