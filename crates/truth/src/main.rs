//! `truth`: runs the table of known answers. `make truth` calls it.

use clap::Parser;
use host::Roots;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailback_truth::page::Page;
use tailback_truth::real::Programs;
use tailback_truth::results::Results;
use tailback_truth::session::{Session, now, seed};
use tailback_truth::{Row, TruthError, row, simulate};

/// Runs what is missing of the table of known answers.
///
/// It can be stopped at any time and resumes where it was. Ends with 1 where an answer was wrong,
/// with 3 where a run has no answer.
#[derive(Debug, Parser)]
struct Flags {
    /// Rows by name, with commas between; `*` stands for any characters
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only the part that `make test` runs
    #[arg(long)]
    small: bool,
    /// Another number of runs than in the rows
    #[arg(long)]
    runs: Option<u32>,
    /// Name the rows and what is missing of each, and run nothing
    #[arg(long)]
    list: bool,
    /// Run nothing, and write the page from what is there
    #[arg(long)]
    no_run: bool,
    /// Print the record of one run of a simulated row again, as in sim-no-stall:17
    #[arg(long, value_name = "ROW:RUN")]
    again: Option<String>,
    /// Let results of other builds count
    #[arg(long)]
    any_build: bool,
    /// Write the page here when done
    #[arg(long)]
    write: Option<PathBuf>,
    /// The program under test
    #[arg(long, default_value = "target/x86_64-unknown-linux-gnu/release/tailback")]
    binary: PathBuf,
    /// The folder of the rows
    #[arg(long, default_value = "truth")]
    rows: PathBuf,
    /// The folder of results and records
    #[arg(long, default_value = "target/truth")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    match run(&flags) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("truth: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(flags: &Flags) -> Result<u8, TruthError> {
    let all = row::read(&flags.rows)?;
    if let Some(which) = &flags.again {
        return again(&all, which);
    }
    let mut rows = row::pick(all.clone(), &flags.only)?;
    rows.retain(|row| row.small || !flags.small);
    let mut results = Results::open(&flags.folder)?;
    if flags.list {
        list(&rows, &results);
        return Ok(0);
    }
    let version = version();
    let code = if flags.no_run { 0 } else { session(flags, &rows, &version, &mut results)? };
    if let Some(path) = &flags.write {
        let machine = host::machine(&Roots::real());
        let day = now();
        let day = day.split('T').next().unwrap_or_default();
        let page =
            Page { rows: &all, results: &results, machine: &machine, day, version: &version };
        std::fs::write(path, page.text())
            .map_err(|source| TruthError::File { path: path.clone(), source })?;
    }
    Ok(code)
}

fn session(
    flags: &Flags,
    rows: &[Row],
    version: &str,
    results: &mut Results,
) -> Result<u8, TruthError> {
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Where a handler cannot be had the signal ends it at once, and what it started with it.
        let _ = signal_hook::flag::register(signal, Arc::clone(&stopped));
    }
    let programs = Programs { tailback: absolute(&flags.binary) };
    let session = Session {
        rows,
        runs: flags.runs,
        programs: &programs,
        any_build: flags.any_build,
        version,
        stop: &|| stopped.load(Ordering::Relaxed),
        say: &|line| println!("{line}"),
    };
    let end = session.run(results)?;
    end.failed.iter().for_each(|line| eprintln!("truth: no answer: {line}"));
    end.wrong.iter().for_each(|line| eprintln!("truth: WRONG: {line}"));
    if end.interrupted {
        eprintln!("truth: stopped; the same command resumes");
    }
    Ok(end.code())
}

fn absolute(path: &Path) -> PathBuf {
    // One that is not there is named as it was given when it is first used.
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn list(rows: &[Row], results: &Results) {
    for row in rows {
        let done = results.of(row, None).len();
        println!("{:<34} {:>3} of {:<3} {}", row.id, done, row.runs, row.place());
    }
    let runs: u32 = rows.iter().map(|row| row.runs).sum();
    println!("{} rows, {runs} runs", rows.len());
}

fn again(rows: &[Row], which: &str) -> Result<u8, TruthError> {
    let found = which.rsplit_once(':').and_then(|(id, run)| {
        let row = rows.iter().find(|row| row.id == id)?;
        Some((row, row.simulate.as_ref()?, run.parse::<u32>().ok()?))
    });
    let Some((row, simulation, run)) = found else {
        return Err(TruthError::Row(format!("{which}: no run of a simulated row")));
    };
    let done = simulate::simulate(simulation, seed(row, run)).map_err(TruthError::Row)?;
    eprintln!("truth: {which} answers {}", done.answer);
    print!("{}", done.record.to_json());
    Ok(0)
}

/// What git calls this version, or the version of the package where there is no git.
fn version() -> String {
    let git = Command::new("git").args(["describe", "--always", "--dirty", "--tags"]).output();
    let said = git.ok().filter(|output| output.status.success());
    said.and_then(|output| String::from_utf8(output.stdout).ok())
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())
}
