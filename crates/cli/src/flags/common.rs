//! Flags that many commands have.

use clap::{Arg, ArgAction, Command, value_parser};
use model::units;
use std::path::PathBuf;

/// `--json`.
pub fn json(help: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(help)
}

/// `--brief`, and the name under which a fleet counts this machine.
pub fn brief(command: Command) -> Command {
    let brief = Arg::new("brief")
        .long("brief")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["json", "why"])
        .help("Print a brief record alone for tailback census: a line of JSON a study, without trials");
    let into = Arg::new("into")
        .long("into")
        .value_name("FOLDER")
        .value_parser(value_parser!(PathBuf))
        .help("Write the brief records into a new file of this folder instead");
    let jitter = Arg::new("jitter")
        .long("jitter")
        .value_name("TIME")
        .value_parser(|text: &str| units::parse_duration(text))
        .help("Wait a random time of up to this first, so that a fleet does not begin at once");
    let exit_zero = Arg::new("exit-zero")
        .long("exit-zero")
        .action(ArgAction::SetTrue)
        .help("End with 0 whatever the verdict, where brief records were made of it");
    let of_brief = |arg: Arg| arg.requires("brief");
    let more = [into, jitter, exit_zero];
    command.arg(brief).args(host_name().into_iter().chain(more).map(of_brief))
}

/// How the machine is named.
pub fn host_name() -> [Arg; 2] {
    let name = Arg::new("host-name")
        .long("host-name")
        .value_name("NAME")
        .help("The name under which a census counts this machine [default: its host name]");
    let salt = Arg::new("hash-host-name")
        .long("hash-host-name")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Give a hash of the name instead, salted with the text in this file");
    [name, salt]
}

/// `--why`.
pub fn why() -> Arg {
    Arg::new("why")
        .long("why")
        .action(ArgAction::SetTrue)
        .help("Show every figure, the reasons of the verdict, and what it cannot tell")
}
