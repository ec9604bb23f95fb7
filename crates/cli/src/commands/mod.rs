//! The commands, one file each.

mod advise;
mod check;
mod compare;
mod erlang_app;
mod explain;
mod export;
mod generate;
mod history;
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

/// Runs the command that was asked for; the exit code.
pub fn dispatch(matches: &ArgMatches) -> Result<u8, Failure> {
    crate::sandbox::enter(matches);
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
        _ => Err(Failure::usage("no such command; see tailback --help")),
    }
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
    Ok(load::run(&command, &scenarios::generators()))
}
