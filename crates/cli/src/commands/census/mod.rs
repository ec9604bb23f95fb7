//! `tailback census`.

mod out;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;

use super::watch::record::WATCH;
use crate::command::{Failure, Run, Session, below};
use crate::exit;
use crate::{identity, input, output, page, records};
use census::summary::{self, Listed};
use census::{CensusError, Hashing, Options};
use indicatif::ProgressBar;
use jiff::Timestamp;
use model::Census;
use out::Others;
use parquet::Parquet;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CODES: &str = "  0  no host affected\n  1  hosts are affected\n  2  bad usage or input\n  3  \
    a need is missing, such as disk space\n  4  no host has a settled answer";

/// Summarize the records of many hosts.
///
/// Shows for each scenario how many hosts are affected, what they have in common, and which hosts
/// to look at first.
///
/// Takes records and brief records, which run, check and watch print with --brief: files, folders,
/// tar archives, and files with one record per line, gzipped or not.
///
/// In a folder or an archive, each file holds records of one host. The name of the host is the
/// folder of the file, or the file itself. Records of other hosts in such a file are listed, but
/// not counted. A file that you name yourself, and standard input, may hold records of many
/// hosts.
#[derive(clap::Args)]
#[command(after_help = below(CODES, [
    "tailback census answers/",
    "tailback census answers/ --hosts inventory.txt --page census.html",
]))]
pub struct CensusFlags {
    /// Files and folders with records; - reads standard input
    #[arg(value_name = "RECORDS", required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// List of all hosts, one name per line. Hosts without a record count as unreachable. A
    /// second word names the owner or the rack of the host. Then census says that a property, such
    /// as the kernel, distinguishes affected hosts only if differences between owners or racks do
    /// not explain the same verdicts
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Salt with which the hosts hashed their names. All names in --hosts, plain names in records,
    /// and the names of files and folders in a folder or an archive are hashed with it too. Not
    /// hashed: the paths in RECORDS, and names in the file of --since
    #[arg(long, value_name = "FILE")]
    hash_host_name: Option<PathBuf>,
    /// Show what changed since an earlier census, which --json printed to FILE
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Print JSON, with all groups and the names of their hosts
    #[arg(long)]
    json: bool,
    /// Show every list in full
    #[arg(long)]
    why: bool,
    /// Also write an HTML page of the census to FILE; with -, print the page and nothing else
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    others: Others,
}

/// Size limit of an earlier census and of an inventory, in bytes. This is room for millions of
/// hosts.
const MOST: u64 = 256 << 20;

/// How often the progress bar is drawn.
const DRAWN: Duration = Duration::from_millis(200);

impl Run for CensusFlags {
    /// Merges all records into one answer. The exit code is the one of that answer.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let salt = self.hash_host_name.as_deref().map(identity::salt).transpose()?;
        let hash = |name: &str| identity::hashed(salt.as_deref().unwrap_or_default(), name);
        let hashing = salt.is_some().then_some(Hashing(&hash));
        let inventory = self.hosts.as_deref().map(|path| inventory(path, hashing)).transpose()?;
        let before = self.since.as_deref().map(earlier).transpose()?;
        let now = Timestamp::now();
        let parquet = self.others.parquet.as_deref().map(Parquet::at).transpose()?;
        let trials = parquet.as_ref().map(Parquet::trials);
        let fleet = read(&self.records, now, trials, hashing)?;
        let taken = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
        let version = env!("CARGO_PKG_VERSION");
        let census =
            summary::census(&fleet, inventory.as_deref(), before.as_ref(), version, &taken);
        if let Some(path) = &self.page {
            page::write(session, &report::html::census_page(&census), Some(path))?;
        }
        let rows = match &parquet {
            Some(parquet) => parquet.write(session, &fleet, &census),
            None => Ok(()),
        };
        // The census is shown even if its rows could not be written.
        let code = self.show(session, &census)?;
        rows.map(|()| code)
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        if self.prints_page() {
            return self.check_printed();
        }
        let for_page = |path| crate::paths::for_page(session, "--page", path).map(drop);
        self.page.as_deref().map_or(Ok(()), for_page)
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        let files = [&self.others.output, &self.page, &self.others.parquet];
        Some(files.into_iter().flatten().map(PathBuf::as_path).collect())
    }
}

impl CensusFlags {
    /// Whether the page goes to standard output.
    fn prints_page(&self) -> bool {
        page::is_printed(self.page.as_deref())
    }

    /// Refuses another output that would go to standard output too, beside the page.
    fn check_printed(&self) -> Result<(), Failure> {
        let other = match self.json {
            true => "--json",
            false if self.others.prints_format() => "--format",
            false => return Ok(()),
        };
        Err(Failure::usage(format!(
            "--page -: {other} prints to standard output too; name a file for the page"
        )))
    }

    /// Shows the census in the requested form. Returns the exit code.
    fn show(&self, session: &Session, census: &Census) -> Result<u8, Failure> {
        if let Some(format) = &self.others.format {
            let code = out::format(session, format, census, &self.others)?;
            return Ok(code.unwrap_or_else(|| code_of(census)));
        }
        match (self.prints_page(), self.json) {
            // The page is on standard output, and nothing else may follow it.
            (true, _) => {}
            (false, true) => session.out.value(census),
            (false, false) => {
                session.out.print(&report::census(census, output::look_with(self.why)));
            }
        }
        Ok(code_of(census))
    }
}

fn read(
    paths: &[PathBuf],
    now: Timestamp,
    trials: Option<&File>,
    hashing: Option<Hashing>,
) -> Result<census::Fleet, Failure> {
    let scenarios: Vec<&str> =
        scenarios::ALL.iter().map(|scenario| scenario.meta().id).chain([WATCH]).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let now = now.as_second();
    let options =
        Options { scenarios: &scenarios, judge: records::judge, now, threads, trials, hashing };
    // Nothing is drawn if standard error is no terminal.
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(DRAWN);
    let fleet = census::read(paths, options, &mut |so_far| {
        bar.set_message(format!("{} records, {} MB", so_far.records, so_far.bytes / 1_000_000));
    });
    bar.finish_and_clear();
    fleet.map_err(|error| unread(&error))
}

/// The failure of reading. Trials are collected beside the folder of --parquet, on a disk that may
/// be full.
fn unread(error: &CensusError) -> Failure {
    match error {
        CensusError::Trials(source) if page::is_full(source.kind()) => {
            Failure::need(error.to_string())
        }
        _ => Failure::usage(error.to_string()),
    }
}

/// The hosts of an inventory: one name per line, followed by the owner. # begins a comment.
fn inventory(path: &Path, hashing: Option<Hashing>) -> Result<Vec<Listed>, Failure> {
    let refuse =
        |why: &dyn std::fmt::Display| Failure::usage(format!("--hosts {}: {why}", path.display()));
    let text = input::read_text(path, MOST).map_err(|error| refuse(&error))?;
    let (mut all, mut owners) = (Vec::new(), BTreeMap::new());
    for (line, number) in text.lines().zip(1..) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = words.next() else { continue };
        let name = hashing.map_or_else(|| name.to_owned(), |Hashing(hash)| hash(name));
        let owner = words.next().map(str::to_owned);
        if words.next().is_some() {
            return Err(refuse(&format!("line {number}: write only the host and its owner")));
        }
        if let Some(owner) = &owner
            && owners.insert(name.clone(), owner.clone()).is_some_and(|other| other != *owner)
        {
            return Err(refuse(&format!(
                "line {number}: this host has another owner in an earlier line"
            )));
        }
        all.push(Listed { name, owner });
    }
    if all.is_empty() {
        Err(refuse(&"the file names no host; write one name per line"))
    } else {
        Ok(all)
    }
}

fn earlier(path: &Path) -> Result<Census, Failure> {
    let refuse =
        |why: &dyn std::fmt::Display| Failure::usage(format!("--since {}: {why}", path.display()));
    let text = input::read_text(path, MOST).map_err(|error| refuse(&error))?;
    summary::previous(&text).map_err(|error| refuse(&error))
}

fn code_of(census: &Census) -> u8 {
    let affected = census.scenarios.iter().any(|one| one.hosts.affected > 0);
    let settled = census.scenarios.iter().any(|one| one.hosts.clear > 0);
    match (affected, settled) {
        (true, _) => model::State::Affected.exit_code(),
        (false, true) => 0,
        (false, false) => exit::BROKEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::io::ErrorKind;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: CensusFlags,
    }

    #[test]
    fn a_page_on_standard_output_is_printed_alone() {
        let checked = |line: &str| {
            let words = ["census", "answers"].into_iter().chain(line.split_whitespace());
            let flags = Line::try_parse_from(words).unwrap().flags;
            assert!(flags.prints_page(), "{line}");
            flags.check_printed()
        };
        for line in ["--page -", "--page - --why", "--page - --format junit -o junit.xml"] {
            assert_eq!(checked(line), Ok(()), "{line}");
        }
        for (line, other) in [
            ("--page - --json", "--json"),
            ("--page - --format junit", "--format"),
            ("--page - --format junit -o -", "--format"),
        ] {
            let failure = checked(line).unwrap_err();
            assert_eq!(failure.code, exit::USAGE);
            assert!(failure.line.starts_with(&format!("--page -: {other} ")), "{failure:?}");
        }
    }

    #[test]
    fn no_room_for_trials_is_a_missing_need() {
        let code = |kind: ErrorKind| unread(&CensusError::Trials(kind.into())).code;
        assert_eq!(code(ErrorKind::StorageFull), exit::NEED);
        assert_eq!(code(ErrorKind::Other), exit::USAGE);
        let path = PathBuf::from("/x");
        let missing = CensusError::Named { path, source: ErrorKind::NotFound.into() };
        assert_eq!(unread(&missing).code, exit::USAGE);
    }
}
