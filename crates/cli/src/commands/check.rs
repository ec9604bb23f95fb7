//! `tailback check`.

use super::run::{Done, study};
use crate::briefs::{self, Briefs};
use crate::exit::{self, Failure};
use crate::progress::{Among, Round};
use crate::settings::{StudyOptions, otp_of};
use crate::signals::Interruption;
use crate::{output, page, paths};
use clap::ArgMatches;
use host::Roots;
use model::{Judged, Machine, State};
use report::{Look, Shown};
use runner::End;
use scenarios::{AnyScenario, Host};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time for all studies of a check together, where none is given.
const TIME: Duration = Duration::from_secs(120);

/// Runs every scenario that was not left out; the exit code of the worst verdict.
pub fn check(matches: &ArgMatches) -> Result<u8, Failure> {
    let asked = Briefs::asked(matches)?;
    let page = page_file(matches, asked.is_some())?;
    let done = studies(matches)?;
    if done.is_empty() {
        return Err(Failure::usage("--only and --skip leave no scenario; see tailback list"));
    }
    let files: Vec<String> = done.iter().map(Done::file).collect();
    let shown: Vec<Shown> = done.iter().zip(&files).map(|(one, file)| shown(one, file)).collect();
    match &asked {
        Some(briefs) => briefs.give(done.iter().map(|one| &one.record))?,
        None => show(&shown, matches),
    }
    done.iter().for_each(Done::tell_where);
    let drawn = page.and_then(|page| draw(&shown, page));
    match (matches.get_flag("json") || asked.is_some(), drawn) {
        (true, Some(page)) => output::note(&format!("page: {}", page.display())),
        (true, None) => {}
        (false, page) => end(&shown, matches, page),
    }
    Ok(briefs::code(asked.as_ref(), code(&done)))
}

/// Where the page goes; nowhere where there is no place for it. What is named and cannot be written
/// is refused before anything is measured. Who wants brief records has a page only where one is
/// named.
fn page_file(matches: &ArgMatches, brief: bool) -> Result<Option<PathBuf>, Failure> {
    match matches.get_one::<PathBuf>("report") {
        Some(named) => paths::for_page("--report", named).map(Some),
        None if brief => Ok(None),
        None => Ok(paths::page("check")),
    }
}

fn studies(matches: &ArgMatches) -> Result<Vec<Done>, Failure> {
    let machine = crate::machine::here();
    let interruption = Interruption::watch();
    let began = Instant::now();
    let budget = matches.get_one("time").copied().unwrap_or(TIME);
    let chosen = chosen(matches);
    let can_run = runnable(&chosen, &machine, matches.contains_id("otp"));
    let together = u32::try_from(can_run.len()).unwrap_or(u32::MAX);
    let mut done = Vec::new();
    let mut ran = 0;
    for scenario in chosen {
        let runs = can_run.contains(&scenario.meta().id);
        let left = can_run.len() - ran;
        let mut options = StudyOptions::of_check(scenario.meta(), matches, together)?;
        // What a study that settled early leaves over is for those after it.
        let time = budget.saturating_sub(began.elapsed()) / u32::try_from(left.max(1)).unwrap_or(1);
        options.time = Some(time);
        let later = time * u32::try_from(left.saturating_sub(1)).unwrap_or(0);
        let round = Round { place: ran + 1, of: can_run.len(), later };
        let among = if runs { Among::Check(round) } else { Among::None };
        let one = study(scenario, &options, &machine, None, &interruption, among)?;
        ran += usize::from(runs);
        let interrupted = matches!(one.end, End::Interrupted);
        done.push(one);
        if interrupted {
            break;
        }
    }
    Ok(done)
}

/// The scenarios that this machine can run: the time is theirs. Those of Erlang need none on the
/// PATH where an OTP is named.
fn runnable(
    chosen: &[&'static dyn AnyScenario],
    machine: &Machine,
    with_otp: bool,
) -> Vec<&'static str> {
    let roots = Roots::real();
    let host = Host { roots: &roots, machine };
    let can = chosen.iter().filter(|scenario| {
        let has_otp = with_otp && otp_of(scenario.meta()).is_some();
        has_otp || scenario.missing(&host).is_none()
    });
    can.map(|scenario| scenario.meta().id).collect()
}

fn chosen(matches: &ArgMatches) -> Vec<&'static dyn AnyScenario> {
    let named = |flag: &str| -> Vec<&String> {
        matches.get_many::<String>(flag).map(Iterator::collect).unwrap_or_default()
    };
    let (only, skip) = (named("only"), named("skip"));
    let wanted = |id: &str| {
        (only.is_empty() || only.iter().any(|name| *name == id))
            && !skip.iter().any(|name| *name == id)
    };
    scenarios::ALL.iter().copied().filter(|scenario| wanted(scenario.meta().id)).collect()
}

fn shown<'a>(one: &'a Done, file: &'a str) -> Shown<'a> {
    let scenario = scenarios::find(&one.record.scenario);
    Shown::new(&one.record, scenario.map(AnyScenario::meta), file)
}

/// Each record in full where the reasons or the records are asked for.
fn show(all: &[Shown], matches: &ArgMatches) {
    let look = output::look_of(matches);
    if matches.get_flag("json") {
        let records: Vec<&Judged> = all.iter().map(|one| one.record).collect();
        // Records hold text keys and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(&records).unwrap_or_default();
        output::json(&format!("{text}\n"));
    } else if look.why {
        for one in all {
            output::print(&format!("{}\n", report::record(one, look)));
        }
    }
}

/// Writes the page; a check whose page cannot be written has measured all the same.
fn draw(all: &[Shown], path: PathBuf) -> Option<PathBuf> {
    match page::of_check(all, &path) {
        Ok(()) => Some(path),
        Err(failure) => {
            output::complain(&failure.line);
            None
        }
    }
}

/// The answer: the verdicts, what to change, and the page.
fn end(all: &[Shown], matches: &ArgMatches, page: Option<PathBuf>) {
    let look = output::look_of(matches);
    output::print(&report::check(all, look));
    of_old_kernels(all, look);
    if !look.why {
        output::print("\n  Reasons and limits of a verdict: tailback judge --why RECORD\n");
    }
    if let Some(page) = page {
        output::print(&format!("\n  Open in a browser: {}\n", page.display()));
    }
}

/// Says which stalls this kernel is old enough for that no scenario shows by its defaults.
fn of_old_kernels(all: &[Shown], look: Look) {
    let known = all.iter().filter_map(|one| {
        let scenario = scenarios::find(&one.record.scenario)?;
        Some((scenario.of_old_kernels(&one.record.machine), scenario.meta()))
    });
    let known: Vec<_> = known.collect();
    let each = known.iter().flat_map(|(all, meta)| all.iter().map(move |one| (one, *meta)));
    let each: Vec<_> = each.collect();
    if !each.is_empty() {
        output::print(&format!("\n{}", report::text::beside(&each, look)));
    }
}

/// Affected before everything, then what is not known, then no stall; all skipped is a need.
fn code(done: &[Done]) -> u8 {
    let codes: Vec<u8> = done
        .iter()
        .map(|one| {
            one.code().unwrap_or_else(|failure| {
                output::complain(&failure.line);
                failure.code
            })
        })
        .collect();
    let order = [
        exit::INTERRUPTED,
        State::Affected.exit_code(),
        exit::BROKEN,
        State::NotAffected.exit_code(),
        exit::NEED,
    ];
    order.into_iter().find(|code| codes.contains(code)).unwrap_or(exit::USAGE)
}
