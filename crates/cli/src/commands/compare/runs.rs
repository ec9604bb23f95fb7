//! Runs two study files in pairs, in random order.

use super::files::{holds_pairs, put_aside};
use super::one_pair::{Pairs, Ran};
use super::sides::TwoStudies;
use crate::commands::run::RunContext;
use crate::commands::study::HowPlanned;
use crate::exit::{self, Failure};
use crate::progress::Shared;
use crate::records::Named;
use crate::session::Session;
use crate::settings::{draw_seed, parse_seed};
use crate::{output, paths};
use analysis::change::{MOST_PAIRS, is_usable, pairs_needed, usual_pairs};
use jiff::Timestamp;
use model::units;
use runner::End;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most pairs that are made to replace unusable ones.
const MADE_AGAIN: u32 = 2;

/// Flags that name existing records. `requires` alone is not enough: clap does not require a flag
/// that would conflict with another one.
const KEPT: [&str; 3] = ["pair", "before", "after"];

/// The flags of runs that the comparison makes itself.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct RunFlags {
    /// Run two study files in pairs, in random order, and compare the pairs
    #[arg(long, value_names = ["BEFORE.toml", "AFTER.toml"], num_args = 2)]
    #[arg(conflicts_with = "across", conflicts_with_all = KEPT)]
    run: Vec<PathBuf>,
    /// Number of pairs [default: two more than worse or better needs, which makes 8 for one
    /// judged figure]
    #[arg(long, value_name = "N", requires = "run", conflicts_with_all = KEPT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_PAIRS as i64))]
    pairs: Option<u32>,
    /// Start no pair that would end after TIME; without --pairs, run as many pairs as fit into
    /// TIME
    #[arg(long = "for", value_name = "TIME", requires = "run", conflicts_with_all = KEPT)]
    #[arg(value_parser = units::parse_duration)]
    time: Option<Duration>,
    /// Blocks of each run [default: the minimum of the file]
    #[arg(long, value_name = "N", requires = "run", conflicts_with_all = KEPT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    samples: Option<u32>,
    /// Keep the records in FOLDER [default: a new folder in the state folder]
    #[arg(long, value_name = "FOLDER", requires = "run", conflicts_with_all = KEPT)]
    records: Option<PathBuf>,
    /// Use the quick settings of both files
    #[arg(long, requires = "run", conflicts_with_all = KEPT)]
    quick: bool,
    /// Trust both files: a study file is code and may name programs
    #[arg(long, requires = "run", conflicts_with_all = KEPT)]
    trust: bool,
    /// Seed of the order in the pairs and of every other random choice [default: a new one, which
    /// is printed]
    #[arg(long, value_name = "S", requires = "run", conflicts_with_all = KEPT)]
    #[arg(value_parser = parse_seed)]
    seed: Option<u64>,
}

/// The pairs of runs so far, and how the work ended.
pub struct Made {
    /// The records from before the change, in the order of the pairs.
    pub before: Vec<Named>,
    /// The records from after the change, in the same order.
    pub after: Vec<Named>,
    /// Whether one of these records is lost or not in its place.
    pub misplaced: bool,
    /// The error that ended the work before all pairs were made.
    pub ended: Result<(), Failure>,
}

impl RunFlags {
    /// Whether the comparison makes its runs itself.
    pub fn is_asked(&self) -> bool {
        !self.run.is_empty()
    }

    /// Makes the pairs, and keeps the record of every run.
    ///
    /// # Errors
    /// If the files cannot be compared, the records cannot be kept, or the work ends before the
    /// first pair is complete.
    pub fn make(&self, session: &Session) -> Result<Made, Failure> {
        let [before, after] = self.run.as_slice() else {
            return Err(Failure::usage("--run: name two study files"));
        };
        let machine = session.machine();
        let how = HowPlanned { quick: self.quick, trust: self.trust, blocks: self.samples };
        let mut studies = TwoStudies::read([before, after], how, &machine, &session.otps)?;
        let folder = folder(session, self.records.as_deref())?;
        let interruption = session.interruption();
        let interrupted = || interruption.noticed();
        let context = RunContext::new(session, &machine, &interrupted);
        studies.calibrate(&context)?;
        let limits = Limits { pairs: self.count(&studies), time: self.time };
        let seed = self.seed.unwrap_or_else(draw_seed);
        announce(&studies, &limits, seed, &folder);
        let bar = Shared::new(Duration::ZERO);
        let (studies, context, folder) = (&studies, &context, folder.as_path());
        let pairs = Pairs { studies, context, seed, folder, bar: &bar };
        let made = make(&pairs, &limits);
        bar.finish();
        match made.ended {
            Err(failure) if made.before.is_empty() => Err(failure),
            _ => Ok(made),
        }
    }

    /// The number of pairs to make.
    fn count(&self, studies: &TwoStudies) -> u32 {
        let confidence = studies.of(0).plan.judging.confidence;
        let needed = pairs_needed(studies.judged(), confidence);
        let count = self.pairs.unwrap_or_else(|| match self.time {
            Some(_) => MOST_PAIRS as u32,
            None => usual_pairs(needed) as u32,
        });
        if (count as usize) < needed {
            output::note(&format!(
                "compare: the answers worse and better need {needed} pairs; with {count} pairs, \
                 differs is the strongest answer"
            ));
        }
        count
    }
}

/// The limits on the number of pairs.
struct Limits {
    pairs: u32,
    time: Option<Duration>,
}

/// The folder for the records. It holds no records of another comparison.
fn folder(session: &Session, asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(folder) = asked else {
        let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let first = format!("compare-{now}-{}/pair-01-before.json", std::process::id());
        return Ok(paths::folder_of(&paths::named_record(session, &first)?));
    };
    if holds_pairs(folder) {
        return Err(Failure::usage(format!(
            "--records {}: it holds the pairs of another comparison; name another folder",
            folder.display()
        )));
    }
    Ok(folder.to_owned())
}

fn announce(studies: &TwoStudies, limits: &Limits, seed: u64, folder: &Path) {
    let pairs = match limits.time {
        Some(time) => {
            format!("pairs for {}, at most {}", units::format_duration(time), limits.pairs)
        }
        None => format!("{} pairs", limits.pairs),
    };
    output::note(&format!(
        "compare {}: {pairs}; {} blocks per run, about {} s per pair; seed {seed}; records: {}",
        studies.of(0).scenario.meta().id,
        studies.blocks(),
        studies.pair_time().as_secs_f64().ceil(),
        folder.display()
    ));
}

/// Makes pairs until all are made, the time is up, or the pairs cannot be used.
fn make(pairs: &Pairs, limits: &Limits) -> Made {
    let mut made = Made { before: Vec::new(), after: Vec::new(), misplaced: false, ended: Ok(()) };
    let (began, blocks) = (Instant::now(), 2 * pairs.studies.blocks());
    let (mut longest, mut again) = (Duration::ZERO, 0);
    for number in 1.. {
        let whole = u32::try_from(made.before.len()).unwrap_or(u32::MAX);
        let late = |time: Duration| whole > 0 && began.elapsed() + longest > time;
        if whole >= limits.pairs || limits.time.is_some_and(late) {
            break;
        }
        let one = Instant::now();
        let told = |done| match limits.time {
            Some(time) => pairs.bar.advance(seconds(began.elapsed()), seconds(time)),
            None => pairs.bar.advance(whole * blocks + done, limits.pairs * blocks),
        };
        told(0);
        let ran = pairs.run(number, &told);
        longest = longest.max(one.elapsed());
        match ran.and_then(|ran| made.add_pair(ran, number, pairs.bar)) {
            Ok(true) => {}
            Ok(false) if again < MADE_AGAIN => {
                again += 1;
                pairs.bar.note("compare: another pair replaces it");
            }
            Ok(false) => {
                let line = format!("{} pairs could not be used; look at their records", again + 1);
                made.ended = Err(Failure::broken(line));
            }
            Err(failure) => made.ended = Err(failure),
        }
        if made.ended.is_err() {
            break;
        }
    }
    made
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

impl Made {
    /// Adds a pair. Returns false if the pair cannot be used; its records are then renamed.
    ///
    /// # Errors
    /// If the user interrupted it, or a need is missing.
    fn add_pair(&mut self, ran: Ran, number: u32, bar: &Shared) -> Result<bool, Failure> {
        let Ran { runs, files } = ran;
        let is_whole = runs.iter().all(|run| matches!(run.end, End::Complete));
        if is_whole && runs.iter().all(|run| is_usable(&run.record)) {
            let before_first = runs[0].record.pair.is_some_and(|pair| pair.first);
            let first = if before_first { "before" } else { "after" };
            bar.note(&format!("compare: pair {number} is complete; {first} ran first"));
            for run in runs.iter().filter(|run| !run.is_in_place()) {
                self.misplaced = true;
                run.print_path();
            }
            let [before, after] = runs.map(|run| Named { name: run.file(), record: run.record });
            self.before.push(before);
            self.after.push(after);
            return Ok(true);
        }
        put_aside(&files);
        let failed = runs.iter().filter_map(|run| run.code().err()).next();
        if runs.iter().any(|run| matches!(run.end, End::Interrupted)) && failed.is_none() {
            let line = format!("interrupted; {} complete pairs are kept", self.before.len());
            return Err(Failure { line, code: exit::INTERRUPTED });
        }
        match failed {
            Some(failure) if failure.code != exit::BROKEN => Err(failure),
            failed => {
                let why = failed.map_or("a run is untrustworthy".to_owned(), |failed| failed.line);
                bar.note(&format!("compare: pair {number} is left out: {why}"));
                Ok(false)
            }
        }
    }
}
