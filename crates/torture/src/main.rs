//! `torture`: kills and disturbs runs of tailback, and looks for what is left. `make torture`
//! runs it as root.

mod case;
mod commands;
mod family;
mod plan;
mod records;
mod run;
mod setup;
mod state;
mod tally;
mod trace;
mod workers;
mod workspace;

use case::{Calls, Case, Outcome};
use clap::Parser;
use commands::{Command, Here};
use setup::Setup;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use tally::Tally;
use workers::{Answer, Request};

/// Kills tailback and the processes that it starts, at random moments and in their n-th system
/// call. Also fills its disks and makes its calls fail. Then looks for what is left: processes,
/// control groups, mounts, files, settings, unreadable records.
///
/// Each worker has a mount namespace with its own /run/tailback, /tmp, cache and governors. Ends
/// with exit code 1 if something was left or wrong. A printed case can be run again alone: --case
/// 'JSON'.
#[derive(Debug, Parser)]
struct Flags {
    /// The program under test
    #[arg(long, required_unless_present = "worker")]
    binary: Option<PathBuf>,
    /// The folder of the studies
    #[arg(long, default_value = "studies")]
    studies: PathBuf,
    /// The folder of built kernels; without it, no guest is started
    #[arg(long)]
    kernels: Option<PathBuf>,
    /// The guest's kernel, one of the built kernels
    #[arg(long, default_value = "built:plain")]
    kernel: String,
    /// An Erlang node for watch to ask; without it, no node is asked
    #[arg(long, requires = "cookie_file")]
    node: Option<String>,
    /// The file with the node's cookie, outside of /tmp
    #[arg(long)]
    cookie_file: Option<PathBuf>,
    /// Number of kills at random moments
    #[arg(long, default_value_t = 100)]
    moments: u64,
    /// Use only this command: at random moments, in its n-th call, before `tailback restore`
    #[arg(long)]
    only: Option<String>,
    /// Most kills in the n-th system call, for each command and kind of calls
    #[arg(long, default_value_t = 10)]
    calls: u64,
    /// Number of kills of `tailback restore`, after runs of that command or of short-quota
    #[arg(long, default_value_t = 30)]
    restores: u64,
    /// Leave out full disks and failing calls
    #[arg(long)]
    no_saves: bool,
    /// Seed of the moments and of the choice of processes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of cases at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Write all outcomes to this file, one line of JSON each
    #[arg(long)]
    log: Option<PathBuf>,
    /// Run only this case
    #[arg(long)]
    case: Option<String>,
    /// Read requests from standard input
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let done = if flags.worker { workers::work().map(|()| true) } else { torture(&flags) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("torture: {error}");
            ExitCode::from(3)
        }
    }
}

/// Runs all cases. Returns whether nothing was left and nothing was wrong.
fn torture(flags: &Flags) -> io::Result<bool> {
    let setup = Setup {
        binary: flags.binary.clone().unwrap_or_default().canonicalize()?,
        studies: flags.studies.canonicalize()?,
        kernels: flags.kernels.as_ref().map(|folder| folder.canonicalize()).transpose()?,
        kernel: flags.kernel.clone(),
        node: flags.node.clone().zip(flags.cookie_file.clone()),
    };
    let cases = match &flags.case {
        Some(case) => vec![serde_json::from_str(case)?],
        None => all(flags, &setup)?,
    };
    let mut log = flags.log.as_ref().map(File::create).transpose()?;
    let requests: Vec<Request> = cases.into_iter().map(Request::Run).collect();
    let total = requests.len();
    let (mut tally, mut complete) = (Tally::default(), true);
    for (count, answer) in workers::carry_out(&setup, flags.jobs, requests).iter().enumerate() {
        match answer {
            Answer::Ran(outcome) => {
                tally.add(&outcome);
                if let Some(log) = &mut log {
                    writeln!(log, "{}", serde_json::to_string(&outcome)?)?;
                }
                tell(&outcome, flags.case.is_some())?;
            }
            Answer::Counted(..) => {}
            Answer::Failed(why) => {
                complete = false;
                println!("not run: {why}");
            }
        }
        if (count + 1).is_multiple_of(50) {
            println!("{} of {total} cases, {} wrong", count + 1, tally.wrong());
        }
    }
    print!("{tally}");
    println!("seed {}; {}", flags.seed, setup.binary.display());
    Ok(complete && tally.wrong() == 0)
}

fn tell(outcome: &Outcome, always: bool) -> io::Result<()> {
    if outcome.wrong.is_empty() && !always {
        return Ok(());
    }
    let case = serde_json::to_string(&outcome.case)?;
    println!("--case '{case}'\n  killed: {}; {}", outcome.victims.join(", "), outcome.end);
    outcome.wrong.iter().for_each(|line| println!("  {line}"));
    Ok(())
}

/// All cases, with the kinds mixed evenly, so that a part of them is representative.
fn all(flags: &Flags, setup: &Setup) -> io::Result<Vec<Case>> {
    let here = Here::with(flags.kernels.is_some(), flags.node.is_some());
    let mut kinds = vec![plan::moments(flags.seed, flags.moments, here, flags.only.as_deref())];
    if flags.calls > 0 {
        kinds.push(in_calls(flags, setup)?);
    }
    let restored = flags.only.as_deref().unwrap_or(plan::RESTORED);
    let unknown = || io::Error::other(format!("no command {restored}"));
    kinds.push(plan::restores(flags.restores, commands::find(restored).ok_or_else(unknown)?));
    if !flags.no_saves {
        kinds.push(plan::saves());
    }
    Ok(interleaved(kinds))
}

fn in_calls(flags: &Flags, setup: &Setup) -> io::Result<Vec<Case>> {
    let here = Here::with(flags.kernels.is_some(), flags.node.is_some());
    let wanted = |command: &&Command| flags.only.as_ref().is_none_or(|only| only == command.name);
    let short = commands::ALL.iter().filter(|command| command.short && command.runs(here));
    let short = short.filter(wanted);
    let requests = short
        .flat_map(|command| Calls::ALL.map(|calls| Request::Count(command.name.to_owned(), calls)));
    let answers = workers::carry_out(setup, flags.jobs, requests.collect());
    let mut counted = Vec::new();
    for answer in answers.iter() {
        match answer {
            Answer::Counted(command, calls, count) => counted.push((command, calls, count)),
            Answer::Failed(why) => return Err(io::Error::other(why)),
            Answer::Ran(_) => {}
        }
    }
    counted.sort();
    let cases = counted.iter().flat_map(|(command, calls, count)| {
        println!("{command}: {count} calls of {calls:?}");
        plan::calls(command, *calls, *count, flags.calls)
    });
    Ok(cases.collect())
}

/// Mixes the kinds, so that each is spread evenly over the whole list.
fn interleaved(kinds: Vec<Vec<Case>>) -> Vec<Case> {
    let mut placed: Vec<(f64, Case)> = Vec::new();
    for kind in kinds {
        let count = kind.len() as f64;
        let places = (0..).map(|place| f64::from(place) / count);
        placed.extend(places.zip(kind));
    }
    placed.sort_by(|one, other| one.0.total_cmp(&other.0));
    placed.into_iter().map(|(_, case)| case).collect()
}
