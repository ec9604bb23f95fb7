//! Runs several cases at once, each in a process with its own workspace.

use crate::case::{Calls, Case, Outcome};
use crate::run::Runner;
use crate::setup::Setup;
use crate::workspace::Workspace;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A request to a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Count the calls that a command makes.
    Count(String, Calls),
    /// Run a case.
    Run(Case),
}

/// The answer of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The number of calls.
    Counted(String, Calls, u64),
    /// The result of the case.
    Ran(Box<Outcome>),
    /// The request failed, for this reason.
    Failed(String),
}

/// Lets `jobs` workers carry out the requests. The answers come in the order in which they are
/// ready.
pub fn carry_out(setup: &Setup, jobs: usize, requests: Vec<Request>) -> Receiver<Answer> {
    let requests = Arc::new(Mutex::new(VecDeque::from(requests)));
    let (sender, answers) = channel();
    for _ in 0..jobs.max(1) {
        let (requests, sender, setup) = (Arc::clone(&requests), sender.clone(), setup.clone());
        std::thread::spawn(move || {
            let next = || requests.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            if let Err(error) = drive(&setup, next, |answer| sender.send(answer).is_ok()) {
                let _ = sender.send(Answer::Failed(format!("a worker: {error}")));
            }
        });
    }
    answers
}

/// Gives one worker its requests, one at a time.
fn drive(
    setup: &Setup,
    mut next: impl FnMut() -> Option<Request>,
    mut answered: impl FnMut(Answer) -> bool,
) -> io::Result<()> {
    let mut worker = start()?;
    let (input, output) = (worker.stdin.take(), worker.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err(io::Error::other("no pipes"));
    };
    let mut output = BufReader::new(output).lines();
    writeln!(input, "{}", serde_json::to_string(setup)?)?;
    while let Some(request) = next() {
        writeln!(input, "{}", serde_json::to_string(&request)?)?;
        let line = output.next().ok_or_else(|| io::Error::other("it is gone"))??;
        if !answered(serde_json::from_str(&line)?) {
            break;
        }
    }
    drop(input);
    worker.wait().map(drop)
}

fn start() -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--worker").stdin(Stdio::piped()).stdout(Stdio::piped());
    // The thread that starts the worker lives as long as the worker.
    os::death::bind(&mut command, rustix::process::Signal::KILL);
    command.spawn()
}

/// A worker: reads requests from standard input and writes answers to standard output, one line
/// each.
///
/// # Errors
/// If its workspace cannot be made.
pub fn work() -> io::Result<()> {
    let mut lines = io::stdin().lines();
    let first = lines.next().ok_or_else(|| io::Error::other("nothing was asked for"))??;
    let setup: Setup = serde_json::from_str(&first)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // No other user may write to a folder above the cache, so this is not in /tmp.
    let base = tempfile::Builder::new().prefix("tailback-torture-").tempdir_in("/run")?;
    let workspace = Workspace::make(base.path(), &setup.binary, setup.kernels.as_deref())?;
    let mut runner = Runner::new(workspace, &setup);
    for line in lines {
        let answer = match serde_json::from_str(&line?)? {
            Request::Count(command, calls) => {
                runner.count(&command, calls).map(|count| Answer::Counted(command, calls, count))
            }
            Request::Run(case) => runner.run(&case).map(|outcome| Answer::Ran(Box::new(outcome))),
        };
        let answer = answer.unwrap_or_else(|error| Answer::Failed(error.to_string()));
        println!("{}", serde_json::to_string(&answer)?);
    }
    Ok(())
}
