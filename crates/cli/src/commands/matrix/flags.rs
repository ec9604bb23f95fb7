//! Flags of `tailback matrix`.

use crate::commands::vm::flags::machine;
use clap::{Arg, ArgAction, Command};

const HELP: &str = "Versions take turns, a block of trials each, so that what disturbs the host meets \
    all of them. Each kernel has a guest of its own, whose clock stands still while others run. Each version runs 16 blocks at least, and is held against the next; the error rate is \
    split over these pairs. One run of a kernel is one guest: a boundary is a difference between two \
    guests. Parameters of the scenario stand behind --, as in\n  tailback matrix mmap-lock --kernels \
    debian:6.1,debian:sid -- --procfile maps\n\nExit codes are those of the worst verdict; with \
    --expect 0 where all are as expected, 1 where one differs, 4 where one is undecided.";

/// The command.
pub fn command() -> Command {
    let ids: Vec<&str> = scenarios::ALL.iter().map(|scenario| scenario.meta().id).collect();
    let command = Command::new("matrix")
        .about("Run one scenario in several kernels or OTPs, and name where it changes")
        .after_help(HELP)
        .arg(
            Arg::new("scenario")
                .value_name("SCENARIO")
                .required(true)
                .value_parser(ids)
                .help("The scenario"),
        )
        .arg(
            Arg::new("kernels")
                .long("kernels")
                .value_name("K,..")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help(
                    "The kernels, as --kernel of `tailback vm` takes them; debian:6.16..7.3 is every \
                     series between",
                ),
        )
        .arg(
            Arg::new("otps")
                .long("otps")
                .value_name("E,..")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help(
                    "The OTPs, as --otp of `tailback run` takes them; debian:bookworm..sid is every suite \
                     between. They run on this machine",
                ),
        )
        .arg(flag("bisect", "Run as few versions as it takes to find where the effect changes"))
        .arg(
            Arg::new("page")
                .long("page")
                .value_name("FILE")
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("Also draw the ladder and its records as a page"),
        )
        .arg(flag("quick", "Fewer arms: verdicts sooner, with less detail"))
        .arg(flag("expect", "Hold verdicts and boundaries against what vm/kernels.toml and vm/versions.toml expect"))
        .arg(flag("json", "Print the table as JSON").conflicts_with("markdown"))
        .arg(flag("markdown", "Print the table and the boundaries as Markdown"))
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("S")
                .value_parser(clap::value_parser!(u64))
                .help(
                    "Seed of every random choice, in all guests [default: a new one, and printed]",
                ),
        )
        .arg(
            Arg::new("words")
                .value_name("PARAMETERS")
                .num_args(0..)
                .last(true)
                .help("Further arguments of `run SCENARIO`, as in `-- --procfile maps`"),
        );
    machine(command)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
