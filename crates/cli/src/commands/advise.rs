//! `tailback advise`.

use super::run::study;
use crate::command::{Failure, Run, Session, below};
use crate::exit;
use crate::output;
use crate::progress::Among;
use crate::settings::{MIN_BLOCKS, StudyOptions, draw_seed, parse_seed};
use clap::{Arg, Args, Command, FromArgMatches};
use model::{Judged, State};
use runner::{End, ProbeWhen};
use scenarios::AnyScenario;
use scenarios::busy_wait::{BusyWaitParams, SCENARIO};
use scenarios::params::{ErlFlags, List, Params};
use std::path::PathBuf;
use std::time::Duration;

/// Time budget for advice. It is longer than for other studies, since more arms are compared.
const TIME: Duration = Duration::from_secs(240);

const CODES: &str = "  0    measured\n  2    bad usage\n  3    a need is missing\n  4    no verdict\n  \
    130  interrupted";

/// `tailback advise`, with parameters of `busy-wait`.
pub struct Advise {
    params: BusyWaitParams,
    flags: AdviseFlags,
}

/// Find emulator flags that help an Erlang node under a CPU quota.
///
/// Prints ERL_FLAGS=".." with the measured effect of each set of flags, or that no set helps.
#[derive(Args)]
#[command(after_help = below(CODES, [
    "tailback advise --quota 0.5",
    "tailback advise --quota 2 --cpus 16 --otp debian:trixie",
]))]
struct AdviseFlags {
    /// Print only the record, as JSON
    #[arg(long)]
    json: bool,
    /// Write the record to FILE [default: a new file in the state folder]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Seed of every random choice [default: a new one, which is printed]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    seed: Option<u64>,
    /// Use fewer arms or shorter trials
    #[arg(long)]
    #[allow(dead_code, reason = "the parameters read this flag for their defaults")]
    quick: bool,
}

/// The scenario's parameters have other help texts here, so this cannot be derived.
impl Args for Advise {
    fn augment_args(command: Command) -> Command {
        AdviseFlags::augment_args(AnyScenario::flags(&SCENARIO, command).mut_args(of_advice))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Advise {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let params = BusyWaitParams::from_arg_matches(matches)?;
        Ok(Advise { params, flags: AdviseFlags::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Gives a parameter of `busy-wait` the name and help text for advice. Parameters that are
/// useless here are hidden.
fn of_advice(arg: Arg) -> Arg {
    let arg = arg.help_heading(None::<&str>);
    match arg.get_id().as_str() {
        "quota" => arg
            .value_name("CPUS")
            .required(true)
            .default_value(None::<&str>)
            .help("CPU quota, in CPUs: 0.5"),
        "schedulers" => arg.long("cpus").help(
            "Number of schedulers: the number of CPUs of the host that the node is for [default: \
             the CPUs of this machine, at least 8]",
        ),
        "otp" => arg.value_name("OTP").help(
            "The OTP: debian:SUITE, an erl, or the folder of an installation [default: the erl on \
             the PATH]",
        ),
        "load" => arg.help("What a request does [default: port]"),
        "rate" => arg.help(
            "Requests per second [default: the rate that uses 65% of the quota without busy \
             waiting]",
        ),
        _ => arg.hide(true),
    }
}

impl Run for Advise {
    /// Runs `busy-wait` under the quota and prints the flags that the measurement supports.
    /// Returns 0 if any set of flags helps, or if none is needed.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let options = StudyOptions {
            settings: self.params()?.settings(),
            samples: None,
            at_least: MIN_BLOCKS,
            rare: None,
            wash_out: false,
            time: Some(TIME),
            seed: self.flags.seed.unwrap_or_else(draw_seed),
            probe: ProbeWhen::Never,
            fixes: true,
            studies: 1,
            go_on: false,
        };
        let machine = session.machine();
        let asked = self.flags.record.as_ref();
        let done = study(session, &SCENARIO, &options, &machine, asked, Among::None)?;
        if done.record.trials.is_empty() {
            // Nothing was measured, so there is nothing to advise on.
            return done.code();
        }
        if self.flags.json {
            session.out.json(&done.record.to_json());
        } else {
            let (meta, place) = (Some(SCENARIO.meta), place(&done.record));
            session.out.print(&report::flags(&done.record, meta, &place, output::look()));
        }
        done.print_path();
        match (&done.end, done.record.judgement.state) {
            (End::Complete, State::Affected | State::NotAffected) if done.is_in_place() => Ok(0),
            (End::Complete, State::Inconclusive | State::Untrustworthy) => Ok(exit::BROKEN),
            _ => done.code(),
        }
    }

    fn load(&self) -> Option<String> {
        Some("advise".to_owned())
    }
}

impl Advise {
    /// The parameters of the study: the parameters of the command line, and the emulator flags to
    /// try.
    fn params(&self) -> Result<BusyWaitParams, Failure> {
        let params = self.params.clone();
        let Some(quota) = params.quota.get() else {
            return Err(Failure::usage("--quota: give the quota in CPUs, such as 0.5"));
        };
        let fixes = fixes(quota.get()).map_err(Failure::usage)?;
        Ok(BusyWaitParams { fixes, ..params })
    }
}

/// The sets of flags to try in addition to no busy waiting: very short busy waiting, and as many
/// schedulers as the quota has CPUs, with and without busy waiting.
fn fixes(quota: f64) -> Result<List<ErlFlags>, String> {
    let few = quota.ceil().max(1.0);
    format!(
        "+sbwt very_short +sbwtdcpu very_short +sbwtdio very_short; +S {few}:{few}; \
         +S {few}:{few} +sbwt none +sbwtdcpu none +sbwtdio none"
    )
    .parse()
}

/// The conditions of the measurement, in words.
fn place(record: &Judged) -> String {
    let all = record.plan.arms.iter().rev().filter_map(|arm| BusyWaitParams::of(&arm.settings));
    let mut under_quota = all.filter(|params| params.quota.get().is_some());
    let params = under_quota.next().unwrap_or_default();
    let BusyWaitParams { quota, schedulers, rate, load, .. } = params;
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    let otp = vm.map_or_else(String::new, |vm| format!(", OTP {}", vm.otp));
    format!(
        "a quota of {quota} CPUs, {schedulers} schedulers, {rate} requests a second through a \
         {load}{otp}, {}",
        report::text::host(&record.machine)
    )
}
