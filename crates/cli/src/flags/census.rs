//! The flags of `tailback census`.

use super::common::{json, why};
use clap::{Arg, Command, value_parser};
use std::path::PathBuf;

const ABOUT: &str = "Fold the records of many hosts into one answer: for each scenario how many are affected, \
    what tells them from the others, and which hosts to look at.\n\nTakes records and brief records (run, \
    check and watch print them with --brief): files, folders, archives of tar, files with a record a line, \
    packed with gzip or not. A record that does not name its host is taken for one of the folder that it \
    is in, or of its file's name.";

const EXIT_CODES: &str = "Exit codes:\n  0  no host affected\n  1  hosts are affected\n  2  bad usage or input\
    \n  4  no host has a settled answer";

/// The command.
pub fn command() -> Command {
    let file = |name: &'static str| {
        Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf))
    };
    Command::new("census")
        .about("Fold the records of many hosts into one answer")
        .long_about(ABOUT)
        .arg(
            Arg::new("record")
                .value_name("RECORDS")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("Files and folders with records; - for standard input"),
        )
        .arg(file("hosts").help("All hosts that there should be, a name a line: those without a record are unreachable"))
        .arg(
            file("hash-host-name")
                .requires("hosts")
                .help("The names in --hosts are hashed with the salt in this file, as the hosts hashed theirs"),
        )
        .arg(file("since").help("Say what changed since this census, which --json printed"))
        .arg(json("Print the census as JSON, with all groups and the names of their hosts"))
        .arg(why().help("Show every list in full"))
        .arg(file("page").help("Write a page of it here, too"))
        .after_help(EXIT_CODES)
}
