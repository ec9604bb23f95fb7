//! The commands, one file each.

mod advise;
pub mod census;
mod check;
mod compare;
mod erlang_app;
mod explain;
pub mod export;
mod generate;
mod history;
mod identify;
mod judge;
mod list;
pub mod matrix;
mod probe;
mod report;
mod run;
pub mod sim;
pub mod study;
pub mod vm;
pub mod watch;

use crate::compat;
use crate::exit::Failure;
use clap::{ArgMatches, FromArgMatches};
use std::os::unix::fs::MetadataExt;

/// Runs the command that was asked for; the exit code.
pub fn dispatch(matches: &ArgMatches) -> Result<u8, Failure> {
    if is_in_guest() {
        // Nobody else is there, and its kernel may know no users.
        os::user::stay_caller();
    }
    crate::sandbox::enter(matches);
    crate::briefs::wait(matches);
    if let Some(command) = load_of(matches) {
        crate::guard::begin(&command)?;
    }
    match matches.subcommand() {
        Some(("list", matches)) => Ok(list::list(matches.get_flag("json"))),
        Some(("check", matches)) => check::check(matches),
        Some(("advise", matches)) => advise::advise(matches),
        Some(("run", matches)) => run::run(matches),
        Some(("study", matches)) => study::study(matches),
        Some(("judge", matches)) => judge::judge(matches),
        Some(("erlang-app", matches)) => erlang_app::erlang_app(matches),
        Some(("report", matches)) => report::report(matches),
        Some(("compare", matches)) => compare::compare(matches),
        Some(("history", matches)) => history::history(matches),
        Some(("census", matches)) => census::census(matches),
        Some(("identify", matches)) => identify::identify(matches),
        Some(("export", matches)) => export::export(matches),
        Some(("explain", matches)) => explain::explain(matches),
        Some(("restore", matches)) => {
            Ok(crate::guard::restore(matches.get_one(crate::guard::WAIT).copied()))
        }
        Some(("probe", matches)) => probe::probe(matches),
        Some(("compat", matches)) => compat::run(matches),
        Some(("sim", matches)) => sim::sim(matches),
        Some(("watch", matches)) => watch::watch(matches),
        Some(("matrix", matches)) => matrix::matrix(matches),
        Some(("vm", matches)) => vm::vm(matches),
        Some(("completions", matches)) => generate::completions(matches),
        Some(("man", matches)) => generate::man(matches),
        Some(("load", matches)) => load_generator(matches),
        Some(("reader", _)) => watch::reader(),
        _ => Err(Failure::usage("no such command; see tailback --help")),
    }
}

/// Whether this is a guest that tailback made: what the environment says counts only where process
/// 1 is this very program.
fn is_in_guest() -> bool {
    let program = |path: &str| std::fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let first = program("/proc/1/exe");
    guest::inside().is_some() && first.is_some() && first == program("/proc/self/exe")
}

/// The command where it loads or changes this machine, for who wants to do so at the same time.
fn load_of(matches: &ArgMatches) -> Option<String> {
    let (name, inner) = matches.subcommand()?;
    match name {
        "check" | "advise" | "vm" | "matrix" => Some(name.to_owned()),
        "study" if inner.get_flag("dry-run") => None,
        "study" => Some(name.to_owned()),
        "run" => Some(format!("run {}", inner.subcommand_name()?)),
        "compat" => {
            let (program, args) = inner.subcommand()?;
            let mut args = args.get_many::<String>("args").into_iter().flatten();
            let asks_for_help = args.any(|arg| arg == "--help" || arg == "-h");
            (!asks_for_help).then(|| format!("compat {program}"))
        }
        _ => None,
    }
}

fn load_generator(matches: &ArgMatches) -> Result<u8, Failure> {
    let command = load::LoadCommand::from_arg_matches(matches)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let args = load::LoadArgs::from_arg_matches(matches)
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(load::run(&command, args, &scenarios::generators()))
}
