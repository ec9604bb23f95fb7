//! `tailback check`.

mod turns;

use super::run::{Begun, Done, RunContext, begin};
use crate::briefs::{self, BriefFlags, Briefs};
use crate::command::{Failure, Run, Session, VERDICT, below};
use crate::exit;
use crate::ktap::{self, KtapFlags};
use crate::progress::{Among, Shared};
use crate::settings::{MIN_BLOCKS, StudyOptions, draw_seed, otp_of, parse_seed};
use crate::{output, page, paths};
use host::Roots;
use model::{Judged, Machine, Meta, State, units};
use report::export::ktap::{Test, Undecided};
use report::{Look, Shown};
use runner::ProbeWhen;
use scenarios::erlang::Otps;
use scenarios::{AnyScenario, Host};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use turns::Turns;

/// How one exit code stands for all verdicts. The manual has the same words.
const OF_ALL: &str = "The code is 130 if the check was interrupted; else 1 if any scenario is \
    affected; else 4 if one is inconclusive or untrustworthy; else 3 if a record could not be \
    saved in its file; else 0 if one is not-affected. Skipped scenarios do not count: read the \
    table. If all are skipped, the code is 3.";

/// Run every scenario that can run here, and show the verdicts.
///
/// Several scenarios take turns for two minutes (--time) and use their quick settings. If only one
/// scenario runs, it uses its full settings.
#[derive(clap::Args)]
#[command(mut_arg("format", |arg| arg.conflicts_with("brief")))]
#[command(after_help = below(&format!("{VERDICT}\n\n{OF_ALL}"), [
    "tailback check",
    "tailback check --only mmap-lock,cpu-quota --why",
]))]
pub struct Check {
    /// Print only the records, as a JSON array
    #[arg(long)]
    pub json: bool,
    /// Also show every figure, the reasons for the verdicts, and what they cannot tell
    #[arg(long)]
    pub why: bool,
    /// Seed of every random choice [default: a new one, which is printed]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    seed: Option<u64>,
    /// Use fewer arms or shorter trials, where the scenario has quick settings
    #[arg(long)]
    quick: bool,
    /// Skip the trials with probes. After a stall was found, they show which task held up which
    #[arg(long)]
    no_probe: bool,
    /// Run only these scenarios
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',', value_parser = scenario_names())]
    only: Vec<String>,
    /// Skip these scenarios
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',', value_parser = scenario_names())]
    skip: Vec<String>,
    /// OTP for the scenarios that run Erlang: debian:SUITE, an erl, or the folder of an
    /// installation [default: the erl on the PATH]
    #[arg(long, alias = "erl", value_name = "OTP")]
    otp: Option<String>,
    /// Time budget for all studies together
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = units::parse_duration)]
    time: Duration,
    /// Write the page to FILE [default: beside the records, in the state folder]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub ktap: KtapFlags,
    #[command(flatten)]
    brief: BriefFlags,
}

/// Longer than any check lasts.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

impl Check {
    /// The options of a study. If several studies share the time, each uses its quick settings.
    ///
    /// # Errors
    /// If `--otp` names no OTP.
    fn options(&self, meta: &'static Meta, studies: u32) -> Result<StudyOptions, Failure> {
        let mut settings = meta.defaults(studies > 1 || self.quick);
        if let (Some(otp), Some(parameter)) = (&self.otp, otp_of(meta)) {
            let value = (meta.parameters.read)(parameter.name, otp).map_err(Failure::usage)?;
            settings.0.insert(parameter.name.to_owned(), value);
        }
        Ok(StudyOptions {
            settings,
            samples: None,
            at_least: MIN_BLOCKS,
            rare: None,
            wash_out: false,
            // The time budget applies to all studies together, not to each.
            time: Some(Duration::MAX),
            seed: self.seed.unwrap_or_else(draw_seed),
            probe: if self.no_probe { ProbeWhen::Never } else { ProbeWhen::Stalled },
            fixes: true,
            studies: studies.max(1),
            go_on: self.seed.is_none(),
        })
    }
}

/// The names of all scenarios.
pub fn scenario_names() -> Vec<&'static str> {
    scenarios::ALL.iter().map(|scenario| scenario.meta().id).collect()
}

impl Run for Check {
    /// The exit code stands for all verdicts.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        self.ktap.print_failure(session, self.ran(session))
    }

    fn refused(&self, session: &Session, failure: Failure) -> Result<u8, Failure> {
        self.ktap.print_failure(session, Err(failure))
    }

    fn load(&self) -> Option<String> {
        Some("check".to_owned())
    }

    fn jitter(&self) -> Option<Duration> {
        self.brief.jitter
    }
}

impl Check {
    fn ran(&self, session: &Session) -> Result<u8, Failure> {
        let asked = Briefs::asked(session, &self.brief)?;
        // The files of a guest are lost with it. So it makes no page, and no text names a file.
        let keeps_files = guest::inside().is_none();
        let page = page_file(session, self, keeps_files && asked.is_none())?;
        let done = studies(session, self)?;
        if done.is_empty() {
            return Err(Failure::usage("--only and --skip leave no scenario; see tailback list"));
        }
        let file = |one: &Done| if keeps_files { one.file() } else { String::new() };
        let files: Vec<String> = done.iter().map(file).collect();
        let shown: Vec<Shown> =
            done.iter().zip(&files).map(|(one, file)| one.shown(file)).collect();
        if let Some(undecided) = self.ktap.wanted() {
            if let Some(page) = page.and_then(|page| draw(session, &shown, page)) {
                output::note(&format!("page: {}", page.display()));
            }
            return Ok(tests(session, &done, &files, undecided, self.code(&done)));
        }
        let mut given = Ok(());
        match &asked {
            Some(briefs) => given = briefs.give(session, done.iter().map(|one| &one.record)),
            None => show(session, &shown, self),
        }
        done.iter().for_each(Done::print_path);
        given?;
        let drawn = page.and_then(|page| draw(session, &shown, page));
        match (self.json || asked.is_some(), drawn) {
            (true, Some(page)) => output::note(&format!("page: {}", page.display())),
            (true, None) => {}
            (false, page) => end(session, &shown, self, keeps_files, page.as_deref()),
        }
        Ok(briefs::code(asked.as_ref(), self.code(&done)))
    }

    fn code(&self, done: &[Done]) -> u8 {
        code(done, chosen(self).len())
    }
}

/// The file for the page; None if there is no place for it. A named file that cannot be written
/// is refused before anything is measured. Unless `by_default`, a page is written only if it is
/// named.
fn page_file(
    session: &Session,
    flags: &Check,
    by_default: bool,
) -> Result<Option<PathBuf>, Failure> {
    match &flags.report {
        Some(named) => paths::for_page(session, "--report", named).map(Some),
        None if by_default => Ok(paths::page(session, "check")),
        None => Ok(None),
    }
}

fn studies(session: &Session, flags: &Check) -> Result<Vec<Done>, Failure> {
    let began = Instant::now();
    let machine = session.machine();
    let interruption = session.interruption();
    let interrupted = || interruption.noticed();
    let context = RunContext::new(session, &machine, &interrupted);
    let chosen = chosen(flags);
    let can_run = runnable(&chosen, &machine, &session.otps, flags.otp.is_some());
    let together = u32::try_from(can_run.len()).unwrap_or(u32::MAX);
    let shared = Shared::new(flags.time);
    let (mut running, mut not_run) = (Vec::new(), Vec::new());
    for (place, scenario) in chosen.iter().enumerate() {
        let options = flags.options(scenario.meta(), together)?;
        let among = Among::Check(shared.clone());
        match begin(*scenario, &options, &context, None, among)? {
            Begun::Running(one) => running.push(*one),
            Begun::NotRun(done) => not_run.push((place, *done)),
        }
        if interrupted() {
            break;
        }
    }
    if running.len() > 1 {
        let (studies, time) = (running.len(), flags.time.as_secs());
        output::note(&format!("{studies} scenarios take turns, for about {time} s"));
    }
    // To fetch, compile and calibrate may take longer than the trials, so the time begins here.
    let mut turns = Turns::new(running, began, end_of(flags.time));
    while !interrupted() && turns.run_block() {}
    let mut done = turns.end(interrupted());
    shared.finish();
    // Studies that did not run go back to their place in the list.
    for (place, one) in not_run {
        done.insert(place.min(done.len()), one);
    }
    Ok(done)
}

/// The end of a time that begins now. A time that overflows the clock is no limit.
fn end_of(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now + A_YEAR)
}

/// The scenarios that can run on this machine: they share the time. With `--otp`, Erlang
/// scenarios need no OTP on the PATH.
fn runnable(
    chosen: &[&'static dyn AnyScenario],
    machine: &Machine,
    otps: &Otps,
    with_otp: bool,
) -> Vec<&'static str> {
    let roots = Roots::real().with_mounts_read();
    let host = Host { roots: &roots, machine, otps };
    let can = chosen.iter().filter(|scenario| {
        let has_otp = with_otp && otp_of(scenario.meta()).is_some();
        has_otp || scenario.missing(&host).is_none()
    });
    can.map(|scenario| scenario.meta().id).collect()
}

/// The scenarios that the flags leave, whether they can run or not.
pub fn chosen(flags: &Check) -> Vec<&'static dyn AnyScenario> {
    let (only, skip) = (&flags.only, &flags.skip);
    let wanted = |id: &str| {
        (only.is_empty() || only.iter().any(|name| *name == id))
            && !skip.iter().any(|name| *name == id)
    };
    scenarios::ALL.iter().copied().filter(|scenario| wanted(scenario.meta().id)).collect()
}

/// Prints the verdicts for a test runner and returns its exit code for the code of the check.
fn tests(session: &Session, done: &[Done], files: &[String], undecided: Undecided, code: u8) -> u8 {
    let tests: Vec<Test> = done.iter().zip(files).map(|(one, file)| one.test(file)).collect();
    let code = ktap::print(session, &tests, undecided, code);
    done.iter().for_each(Done::print_path);
    code
}

/// Prints the records with `--json`, or each record in full with `--why`.
fn show(session: &Session, all: &[Shown], flags: &Check) {
    let look = output::look_with(flags.why);
    if flags.json {
        let records: Vec<&Judged> = all.iter().map(|one| one.record).collect();
        session.out.json(&json_array(&records));
    } else if look.why {
        for one in all {
            session.out.print(&format!("{}\n", report::record(one, look)));
        }
    }
}

/// The records as an indented JSON array. It is made of the texts of their files, since the code
/// that serialises a record is large and the program would otherwise hold a second copy of it.
fn json_array(records: &[&Judged]) -> String {
    if records.is_empty() {
        return "[]\n".to_owned();
    }
    // A string holds a line feed as an escape, so each line feed in the text ends a line.
    let texts = records.iter().map(|record| record.to_json().trim_end().replace('\n', "\n  "));
    let texts: Vec<String> = texts.collect();
    format!("[\n  {}\n]\n", texts.join(",\n  "))
}

/// Writes the page. A failure is only reported, since the measurements are valid without a page.
fn draw(session: &Session, all: &[Shown], path: PathBuf) -> Option<PathBuf> {
    match page::of_check(session, all, &path) {
        Ok(()) => Some(path),
        Err(failure) => {
            output::complain(&failure.line);
            None
        }
    }
}

/// Prints the answer: the verdicts, what to change, and the page.
fn end(session: &Session, all: &[Shown], flags: &Check, keeps_files: bool, page: Option<&Path>) {
    let look = output::look_with(flags.why);
    session.out.print(&report::check(all, look));
    of_old_kernels(session, all, look);
    session.out.print(&further(look.why, keeps_files, page));
}

/// Where to find more: the command that reads a record, and the page.
fn further(why: bool, keeps_files: bool, page: Option<&Path>) -> String {
    let mut text = String::new();
    if keeps_files && !why {
        text.push_str("\n  Reasons and limits of a verdict: tailback judge --why RECORD\n");
    }
    if let Some(page) = page {
        text.push_str(&format!("\n  Open in a browser: {}\n", page.display()));
    }
    text
}

/// Prints the known stalls of old kernels that affect this kernel, but that no scenario shows
/// with its default settings.
fn of_old_kernels(session: &Session, all: &[Shown], look: Look) {
    let known = all.iter().filter_map(|one| {
        let scenario = scenarios::find(&one.record.scenario)?;
        Some((scenario.of_old_kernels(&one.record.machine), scenario.meta()))
    });
    let known: Vec<_> = known.collect();
    let each = known.iter().flat_map(|(all, meta)| all.iter().map(move |one| (one, *meta)));
    let each: Vec<_> = each.collect();
    if !each.is_empty() {
        session.out.print(&format!("\n{}", report::text::beside(&each, look)));
    }
}

/// The exit code of the check. One of the chosen scenarios is missing only if the check was
/// interrupted before it began.
fn code(done: &[Done], chosen: usize) -> u8 {
    if done.len() < chosen {
        return exit::INTERRUPTED;
    }
    let codes: Vec<u8> = done.iter().map(code_of).collect();
    code_of_all(&codes, done.iter().all(Done::is_in_place))
}

/// The exit code of one study. A verdict counts wherever its record is. A study that lost a need
/// during its trials has no verdict, so it does not count as skipped.
fn code_of(one: &Done) -> u8 {
    let code = one.code().unwrap_or_else(|failure| {
        output::complain(&failure.line);
        failure.code
    });
    let state = one.record.judgement.state;
    let is_of_its_end = state == State::Skipped || code == exit::INTERRUPTED;
    if is_of_its_end { code } else { state.exit_code() }
}

/// The exit code for these codes of studies: affected first, then unknown, then no stall. A record
/// that could not be saved in its file counts more than no stall. A skipped study counts less.
fn code_of_all(codes: &[u8], all_in_place: bool) -> u8 {
    let no_stall = State::NotAffected.exit_code();
    let order =
        [exit::INTERRUPTED, State::Affected.exit_code(), exit::BROKEN, no_stall, exit::NEED];
    let code = order.into_iter().find(|code| codes.contains(code)).unwrap_or(exit::USAGE);
    if code == no_stall && !all_in_place { exit::NEED } else { code }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Affected, Inconclusive, NotAffected, Skipped, Untrustworthy};
    use model::problem::Need;
    use runner::End;

    fn record(state: State) -> Judged {
        let mut record = crate::testing::affected_record();
        record.judgement.state = state;
        record
    }

    fn complete(state: State) -> Done {
        Done::nowhere(record(state), End::Complete)
    }

    #[test]
    fn the_exit_code_is_of_the_worst_verdict_and_skipped_scenarios_do_not_count() {
        let of = |states: [State; 2]| code(&states.map(complete), 2);
        assert_eq!(of([NotAffected, Affected]), 1);
        assert_eq!(of([Untrustworthy, Affected]), 1);
        assert_eq!(of([NotAffected, Inconclusive]), exit::BROKEN);
        assert_eq!(of([Skipped, NotAffected]), 0);
        assert_eq!(of([Skipped, Skipped]), exit::NEED);
    }

    #[test]
    fn a_lost_record_hides_no_stall_and_is_not_hidden_by_a_good_verdict() {
        let of = |lost, other| code(&[Done::lost(record(lost), End::Complete), complete(other)], 2);
        assert_eq!(of(Affected, NotAffected), 1);
        assert_eq!(of(Inconclusive, NotAffected), exit::BROKEN);
        assert_eq!(of(NotAffected, NotAffected), exit::NEED);
        assert_eq!(of(NotAffected, Affected), 1);
    }

    #[test]
    fn a_study_that_lost_a_need_in_its_trials_is_not_taken_for_a_skipped_one() {
        let of = |state| {
            let one = Done::nowhere(record(state), End::Missing(Need::Erl));
            code(&[one, complete(NotAffected)], 2)
        };
        assert_eq!(of(Untrustworthy), exit::BROKEN);
        assert_eq!(of(Skipped), 0);
        let interrupted = Done::nowhere(record(Inconclusive), End::Interrupted);
        assert_eq!(code(&[complete(Affected), interrupted], 2), exit::INTERRUPTED);
        // It was interrupted before the second scenario began.
        assert_eq!(code(&[complete(Skipped)], 2), exit::INTERRUPTED);
    }

    #[test]
    fn a_check_in_a_guest_names_no_file_to_read_or_open() {
        assert_eq!(further(false, false, None), "");
        assert!(further(false, true, None).contains("judge --why RECORD"));
        let page = further(true, true, Some(Path::new("/tmp/page.html")));
        assert_eq!(page, "\n  Open in a browser: /tmp/page.html\n");
    }

    #[test]
    fn the_array_of_records_is_the_one_that_serde_json_writes() {
        let mut first = record(Affected);
        first.facts.tool.argv.push("two\nlines".to_owned());
        let second = record(Skipped);
        let both = [&first, &second];
        for records in [&both[..0], &both[..1], &both[..]] {
            let expected = serde_json::to_string_pretty(records).unwrap() + "\n";
            assert_eq!(json_array(records), expected, "{} records", records.len());
        }
    }

    #[test]
    fn the_manual_has_the_same_words_about_the_exit_code() {
        let manual = include_str!("../../../../docs/manual.md");
        let words: Vec<&str> = manual.split_whitespace().collect();
        assert!(words.join(" ").contains(OF_ALL), "{OF_ALL}");
    }
}
