//! `tailback run SCENARIO`.

mod done;
mod running;

use crate::briefs::{self, BriefFlags, Briefs};
use crate::command::{Failure, Run, Session, VERDICT, below};
use crate::exit::ExitFor;
use crate::ktap::KtapFlags;
use crate::output;
use crate::progress::Among;
use crate::settings::{MIN_BLOCKS, StudyOptions, draw_seed, parse_seed};
use clap::{Args, Command, FromArgMatches};
pub use done::Done;
use model::{Judged, Machine, Settings, units};
use runner::ProbeWhen;
pub use running::{Begun, Planned, RunContext, Running, begin, begin_planned};
use scenarios::AnyScenario;
use std::path::PathBuf;
use std::time::Duration;

/// `tailback run SCENARIO`, with the parameters that the scenario declares.
pub struct RunScenario {
    /// The scenario.
    pub scenario: &'static dyn AnyScenario,
    /// Its parameters.
    pub settings: Settings,
    /// All other flags.
    pub flags: RunFlags,
}

// No doc comment: each scenario has its own.
#[derive(Args)]
#[command(next_help_heading = "Study")]
#[command(mut_arg("format", |arg| arg.conflicts_with("brief")))]
pub struct RunFlags {
    /// Print only the record, as JSON
    #[arg(long)]
    pub json: bool,
    /// Also show every figure, the reasons for the verdict, and what it cannot tell
    #[arg(long)]
    pub why: bool,
    /// Write the record to FILE [default: a new file in the state folder]
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Run exactly N blocks, whether or not a verdict is settled
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub samples: Option<u32>,
    /// Run at least N blocks, even if a verdict is settled earlier [default: 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(conflicts_with = "samples")]
    pub at_least: Option<u32>,
    /// Start a new study, even if an undecided one with these settings could be continued
    #[arg(long)]
    pub fresh: bool,
    /// Time budget. No new block starts after it, except one or two that would settle the verdict.
    /// A study without a verdict then ends undecided [default: 60s, or more if the blocks for a
    /// verdict take longer]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    pub time: Option<Duration>,
    /// Make trials so long that a random freeze that comes once in TIME would show with a
    /// probability of 95%
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    pub rare: Option<Duration>,
    /// Run the control once more after each trial with the cause. This extra run is not judged:
    /// it keeps after-effects of the trial out of the figures
    #[arg(long)]
    pub wash_out: bool,
    /// Seed of every random choice [default: a new one, which is printed]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    pub seed: Option<u64>,
    /// Use fewer arms or shorter trials, where the scenario has quick settings
    #[arg(long)]
    pub quick: bool,
    /// Run the trials with probes even if no stall was found
    #[arg(long, conflicts_with = "no_probe")]
    pub probe: bool,
    /// Skip the trials with probes. After a stall was found, they show which task held up which
    #[arg(long)]
    pub no_probe: bool,
    /// Skip the arms that try a fix: the study ends at its verdict
    #[arg(long)]
    pub no_fixes: bool,
    /// Exit codes for git bisect run: 0 no stall, 1 a stall, 125 no verdict, no boot or a missing
    /// need, 128 or more to stop the bisection
    #[arg(long, value_name = "WHOM", conflicts_with_all = ["format", "exit_zero"])]
    pub exit_for: Option<ExitFor>,
    #[command(flatten)]
    pub ktap: KtapFlags,
    #[command(flatten)]
    pub brief: BriefFlags,
}

/// Each scenario is a command with its own flags, so this cannot be derived.
impl Args for RunScenario {
    fn augment_args(command: Command) -> Command {
        command
            .about("Run one scenario until its verdict is settled")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_value_name("SCENARIO")
            .subcommand_help_heading("Scenarios")
            .subcommands(scenarios::ALL.iter().map(|scenario| command_of(*scenario)))
            .after_help(below(VERDICT, ["tailback run mmap-lock", "tailback run cpu-quota --why"]))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn command_of(scenario: &dyn AnyScenario) -> Command {
    let meta = scenario.meta();
    let run = format!("tailback run {}", meta.id);
    RunFlags::augment_args(scenario.flags(Command::new(meta.id)))
        // After the flags, because they set an about text too.
        .about(capitalised(meta.title))
        .long_about(format!("{}.\n\n{}", capitalised(meta.title), meta.about))
        .after_help(below(VERDICT, [&run, &format!("{run} --quick --why")]))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

impl FromArgMatches for RunScenario {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let named = matches.subcommand();
        let found = named.and_then(|(id, matches)| Some((scenarios::find(id)?, matches)));
        let missing = clap::error::ErrorKind::MissingSubcommand;
        let (scenario, matches) = found.ok_or_else(|| clap::Error::new(missing))?;
        let settings = scenario.settings(matches)?;
        Ok(RunScenario { scenario, settings, flags: RunFlags::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Run for RunScenario {
    /// The exit code is the one of the verdict.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        self.flags.ktap.print_failure(session, self.ran(session))
    }

    fn refused(&self, session: &Session, failure: Failure) -> Result<u8, Failure> {
        let failure = match self.flags.exit_for {
            // It says nothing about the commit, so the bisection must not skip it.
            Some(ExitFor::Bisect) => Failure::broken(failure.line),
            None => failure,
        };
        self.flags.ktap.print_failure(session, Err(failure))
    }

    fn load(&self) -> Option<String> {
        Some(format!("run {}", self.scenario.meta().id))
    }

    fn jitter(&self) -> Option<Duration> {
        self.flags.brief.jitter
    }
}

impl RunScenario {
    fn ran(&self, session: &Session) -> Result<u8, Failure> {
        let (scenario, flags) = (self.scenario, &self.flags);
        let machine = session.machine();
        let options = self.options();
        let asked = flags.record.as_ref();
        let wanted = Briefs::asked(session, &flags.brief)?;
        let done = study(session, scenario, &options, &machine, asked, Among::None)?;
        let mut given = Ok(());
        if let Some(briefs) = &wanted {
            given = briefs.give(session, std::iter::once(&done.record));
        } else if let Some(undecided) = flags.ktap.wanted() {
            return Ok(done.ktap(session, undecided));
        } else if flags.json {
            session.out.json(&done.record.to_json());
        } else {
            done.show(session, scenario.meta(), output::look_with(flags.why));
        }
        if let Some(line) = flags.rare.and_then(|rare| falls_short(&done.record, rare)) {
            output::complain(&line);
        }
        done.print_path();
        given?;
        briefs::ended(wanted.as_ref(), done.code())
    }

    /// Parses the words after `tailback run`.
    ///
    /// # Errors
    /// If the words are no valid command.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, clap::Error> {
        let command = Self::augment_args(Command::new("run")).no_binary_name(true);
        Self::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    /// The options of its study.
    pub fn options(&self) -> StudyOptions {
        let flags = &self.flags;
        StudyOptions {
            settings: self.settings.clone(),
            samples: flags.samples,
            at_least: flags.at_least.unwrap_or(MIN_BLOCKS),
            rare: flags.rare,
            wash_out: flags.wash_out,
            time: flags.time,
            seed: flags.seed.unwrap_or_else(draw_seed),
            probe: match (flags.no_probe, flags.probe) {
                (true, _) => ProbeWhen::Never,
                (false, true) => ProbeWhen::Always,
                (false, false) => ProbeWhen::Stalled,
            },
            fixes: !flags.no_fixes,
            studies: 1,
            go_on: !flags.fresh && flags.seed.is_none(),
        }
    }
}

/// The warning that a study without a stall shows less than `--rare` asked for. `--rare` does not
/// make trials longer that end with their work. Noisy blocks show nothing.
fn falls_short(record: &Judged, rare: Duration) -> Option<String> {
    let missed = record.judgement.test.as_ref()?.missed.as_ref()?;
    let (asked, every_s) = (rare.as_secs_f64(), missed.every_s);
    (every_s < 0.95 * asked).then(|| {
        format!(
            "--rare {}: these trials show a freeze that comes once in {} s, but no rarer freeze",
            units::format_duration(rare),
            model::estimate::number(every_s)
        )
    })
}

/// Runs one study and keeps its record.
///
/// # Errors
/// The same as [`begin`].
pub fn study(
    session: &Session,
    scenario: &'static dyn AnyScenario,
    options: &StudyOptions,
    machine: &Machine,
    asked: Option<&PathBuf>,
    among: Among,
) -> Result<Done, Failure> {
    let interruption = session.interruption();
    let interrupted = || interruption.noticed();
    let context = RunContext::new(session, machine, &interrupted);
    let mut running = match begin(scenario, options, &context, asked, among)? {
        Begun::NotRun(done) => return Ok(*done),
        Begun::Running(running) => running,
    };
    loop {
        if let Some(end) = running.turn() {
            return Ok(running.end(end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Missed, Test, Unit};

    #[test]
    fn a_bisection_gets_no_code_that_is_always_zero() {
        let parsed = |more: &[&str]| {
            let words = ["mmap-lock", "--exit-for", "bisect"].iter().chain(more);
            RunScenario::parse(words.map(|word| (*word).to_owned())).is_ok()
        };
        assert!(parsed(&[]) && parsed(&["--brief"]));
        assert!(!parsed(&["--brief", "--exit-zero"]));
    }

    #[test]
    fn a_run_that_shows_less_than_was_asked_says_so() {
        let mut record = crate::testing::affected_record();
        let told = |record: &Judged| falls_short(record, Duration::from_secs(5));
        assert_eq!(told(&record), None, "nothing is claimed to be absent");
        let with = |every_s| {
            let missed = Missed {
                shown_above: 20.0,
                unit: Unit::MillisecondsPerSecond,
                freeze_ms: Some(5.0),
                share: 0.3,
                trial_ms: Some(250.0),
                warm_up_ms: None,
                every_s,
                confidence: 0.95,
            };
            Some(Test { missed: Some(missed), ..Test::default() })
        };
        record.judgement.test = with(0.5);
        let line = told(&record).unwrap();
        assert!(
            line.starts_with("--rare 5s: these trials show a freeze that comes once in 0.5 s"),
            "{line}"
        );
        record.judgement.test = with(5.0);
        assert_eq!(told(&record), None);
    }
}
