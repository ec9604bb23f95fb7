//! `tailback census`.

mod out;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;

use super::watch::record::WATCH;
use crate::exit::{self, Failure};
use crate::{identity, input, output, page};
use census::{Hashing, Options, summary};
use clap::ArgMatches;
use indicatif::ProgressBar;
use jiff::Timestamp;
use model::Census;
use parquet::Parquet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest earlier census and the largest inventory that are read, in bytes: of millions of
/// hosts.
const MOST: u64 = 256 << 20;

/// How often the progress is drawn.
const DRAWN: Duration = Duration::from_millis(200);

/// Folds records into one answer; the exit code of what it says.
pub fn census(matches: &ArgMatches) -> Result<u8, Failure> {
    let file = |name: &str| matches.get_one::<PathBuf>(name);
    let salt = file("hash-host-name").map(|path| identity::salt(path)).transpose()?;
    let hash = |name: &str| identity::hashed(salt.as_deref().unwrap_or_default(), name);
    let hashing = salt.is_some().then_some(Hashing(&hash));
    let inventory = file("hosts").map(|path| inventory(path, hashing)).transpose()?;
    let before = file("since").map(|path| earlier(path)).transpose()?;
    let page = file("page").map(|path| crate::paths::for_page("--page", path)).transpose()?;
    let paths: Vec<PathBuf> = matches.get_many("record").into_iter().flatten().cloned().collect();
    let now = Timestamp::now();
    let parquet = Parquet::asked(matches)?;
    let trials = parquet.as_ref().map(Parquet::trials);
    let fleet = read(&paths, now, trials, hashing)?;
    let taken = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    let version = env!("CARGO_PKG_VERSION");
    let census = summary::census(&fleet, inventory.as_deref(), before.as_ref(), version, &taken);
    if let Some(path) = &page {
        page::write(&report::html::census_page(&census), Some(path))?;
    }
    if let Some(parquet) = &parquet {
        parquet.write(&fleet, &census)?;
    }
    if let Some(format) = matches.get_one::<String>("format") {
        let code = out::format(format, &census, matches)?;
        return Ok(code.unwrap_or_else(|| self::code(&census)));
    }
    if matches.get_flag("json") {
        // Text keys and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(&census).unwrap_or_default();
        output::json(&format!("{text}\n"));
    } else {
        output::print(&report::census(&census, output::look_of(matches)));
    }
    Ok(code(&census))
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
    let options = Options { scenarios: &scenarios, now, threads, trials, hashing };
    // Nothing is drawn where standard error is no terminal.
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(DRAWN);
    let fleet = census::read(paths, options, &mut |so_far| {
        bar.set_message(format!("{} records, {} MB", so_far.records, so_far.bytes / 1_000_000));
    });
    bar.finish_and_clear();
    fleet.map_err(|error| Failure::usage(error.to_string()))
}

/// The hosts of an inventory: a name a line, # begins a comment.
fn inventory(path: &Path, hashing: Option<Hashing>) -> Result<Vec<String>, Failure> {
    let refuse =
        |why: &dyn std::fmt::Display| Failure::usage(format!("--hosts {}: {why}", path.display()));
    let text = input::read_text(path, MOST).map_err(|error| refuse(&error))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let names = lines.filter(|line| !line.is_empty());
    let names: Vec<String> = match hashing {
        Some(Hashing(hash)) => names.map(hash).collect(),
        None => names.map(str::to_owned).collect(),
    };
    if names.is_empty() { Err(refuse(&"no host in it; write a name a line")) } else { Ok(names) }
}

fn earlier(path: &Path) -> Result<Census, Failure> {
    let refuse =
        |why: &dyn std::fmt::Display| Failure::usage(format!("--since {}: {why}", path.display()));
    let text = input::read_text(path, MOST).map_err(|error| refuse(&error))?;
    summary::previous(&text).map_err(|error| refuse(&error))
}

fn code(census: &Census) -> u8 {
    let affected = census.scenarios.iter().any(|one| one.hosts.affected > 0);
    let settled = census.scenarios.iter().any(|one| one.hosts.clear > 0);
    match (affected, settled) {
        (true, _) => model::State::Affected.exit_code(),
        (false, true) => 0,
        (false, false) => exit::BROKEN,
    }
}
