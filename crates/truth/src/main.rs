//! `truth`: runs the table of known answers. `make truth` calls it.

use clap::Parser;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailback_truth::history::{Build, History, Machine};
use tailback_truth::page::Page;
use tailback_truth::real::Programs;
use tailback_truth::records::Records;
use tailback_truth::seal::sealed;
use tailback_truth::session::{TruthRun, seed, today};
use tailback_truth::standing::Standing;
use tailback_truth::{Row, TruthError, judge, row, simulate, table};

/// Makes the missing runs of the table of known answers.
///
/// It can be stopped at any time and resumes at the same place. The exit code is 1 if an answer
/// was wrong, and 3 if a run has no answer.
#[derive(Debug, Parser)]
struct Flags {
    /// Run only these rows: names separated by commas; `*` stands for any characters
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Run only the small part that `make test` runs
    #[arg(long)]
    small: bool,
    /// Number of runs per row, instead of the number in the row
    #[arg(long)]
    runs: Option<u32>,
    /// List the rows and how many of their runs are done, and run nothing
    #[arg(long)]
    list: bool,
    /// Print the judge of each scenario: a digest of the sources that decide its answers
    #[arg(long)]
    judges: bool,
    /// Run nothing; only write the page and the table from the history
    #[arg(long)]
    no_run: bool,
    /// Repeat one run of a simulated row and print its record, such as sim-no-stall:17
    #[arg(long, value_name = "ROW:RUN")]
    again: Option<String>,
    /// Write the page to this file at the end
    #[arg(long)]
    write: Option<PathBuf>,
    /// Write the table of all rows to this file at the end
    #[arg(long)]
    table: Option<PathBuf>,
    /// Program under test
    #[arg(long, default_value = "target/x86_64-unknown-linux-gnu/release/tailback")]
    binary: PathBuf,
    /// Folder with the rows
    #[arg(long, default_value = "truth")]
    rows: PathBuf,
    /// File with the history of all answers
    #[arg(long, default_value = "truth/history.jsonl")]
    history: PathBuf,
    /// Folder for the records
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
    if flags.judges {
        print!("{}", judge::list());
        return Ok(0);
    }
    let all = row::read(&flags.rows)?;
    if let Some(which) = &flags.again {
        return again(&all, which);
    }
    let mut rows = row::pick(all.clone(), &flags.only)?;
    rows.retain(|row| row.small || !flags.small);
    let mut history = History::read(&flags.history)?;
    if history.is_torn() {
        let path = flags.history.display();
        eprintln!("truth: {path}: its last line was torn when it was written, and does not count");
    }
    if flags.list {
        list(&rows, &history);
        return Ok(0);
    }
    let code = if flags.no_run { 0 } else { session(flags, &rows, &mut history)? };
    let standings: Vec<Standing> = all.iter().map(|row| Standing::of(row, &history)).collect();
    if let Some(path) = &flags.table {
        write(path, &sealed(&table::text(&standings)))?;
    }
    if let Some(path) = &flags.write {
        let page = Page { rows: &standings, day: &today(), build: &of_sources(flags) };
        write(path, &sealed(&page.text()))?;
    }
    Ok(code)
}

/// Replaces a file as a whole, so that an interruption leaves the old one.
fn write(path: &Path, text: &str) -> Result<(), TruthError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let place = || {
        let mut builder = tempfile::Builder::new();
        // The usual permissions of a new file; the user's umask applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
        let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    place().map_err(|source| TruthError::File { path: path.to_owned(), source })
}

fn session(flags: &Flags, rows: &[Row], history: &mut History) -> Result<u8, TruthError> {
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Without a handler, the signal ends this process and its children at once.
        let _ = signal_hook::flag::register(signal, Arc::clone(&stopped));
    }
    let programs = Programs { tailback: absolute(&flags.binary) };
    let session = TruthRun {
        rows,
        runs: flags.runs,
        programs: &programs,
        build: &build(flags),
        machine: &Machine::here(),
        records: &Records::open(&flags.folder)?,
        stop: &|| stopped.load(Ordering::Relaxed),
        say: &|line| println!("{line}"),
    };
    let end = session.run(history)?;
    end.failed.iter().for_each(|line| eprintln!("truth: no answer: {line}"));
    end.wrong.iter().for_each(|line| eprintln!("truth: WRONG: {line}"));
    if end.interrupted {
        eprintln!("truth: stopped; the same command resumes");
    }
    Ok(end.code())
}

fn absolute(path: &Path) -> PathBuf {
    // A missing program is reported with the given path when it is first used.
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn list(rows: &[Row], history: &History) {
    for row in rows {
        let done = Standing::of(row, history).tally.runs;
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

/// The sources of the program under test, as it reports them itself: it may be older than the
/// sources in git. Without a program, only simulated rows are answered, by this program.
fn build(flags: &Flags) -> Build {
    of_binary(&flags.binary).unwrap_or_else(|| of_sources(flags))
}

/// None if the program is not there, or was built outside git.
fn of_binary(binary: &Path) -> Option<Build> {
    let output = Command::new(binary).args(["version", "--json"]).output().ok()?;
    let version: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let commit = version["commit"].as_str()?.get(..8)?.to_owned();
    // Sources count as changed unless the program says that they are not.
    let changed = version["modified"].as_bool().unwrap_or(true);
    Some(Build { commit: Some(commit), changed })
}

/// The state of the sources in git.
fn of_sources(flags: &Flags) -> Build {
    // The files that this program writes change during the run, and decide no answer.
    let written = [Some(&flags.history), flags.write.as_ref(), flags.table.as_ref()];
    let written = written.into_iter().flatten().map(|path| format!(":(exclude){}", path.display()));
    let written: Vec<String> = written.collect();
    let mut status = vec!["status", "--porcelain", "--", "."];
    status.extend(written.iter().map(String::as_str));
    Build {
        commit: git(&["rev-parse", "--short=8", "HEAD"]).filter(|commit| !commit.is_empty()),
        // Sources count as changed unless git confirms that they are not.
        changed: git(&status).is_none_or(|text| !text.is_empty()),
    }
}

/// The output of git. None without git or outside a git work tree.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = output.status.success().then_some(output.stdout)?;
    Some(String::from_utf8_lossy(&text).trim().to_owned())
}
