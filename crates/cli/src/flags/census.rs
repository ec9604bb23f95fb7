//! The flags of `tailback census`.

use super::common::{json, why};
use clap::{Arg, Command, value_parser};
use report::export::census::CensusFormat;
use std::path::PathBuf;

const ABOUT: &str = "Fold the records of many hosts into one answer: for each scenario how many are affected, \
    what tells them from the others, and which hosts to look at.\n\nTakes records and brief records (run, \
    check and watch print them with --brief): files, folders, archives of tar, files with a record a line, \
    packed with gzip or not.\n\nIn a folder or an archive a file speaks for one host alone: that of its \
    folder, else of its own name. Records of another host do not count, and are named. A file that is named \
    itself, and standard input, may hold the records of many hosts.";

const FORMATS: &str = "Write it in a format of other tools instead. openmetrics: counts and shares, for Prometheus; \
    junit: a test case a group of hosts, for CI; node-problem-detector: a line and an \
    exit code for its plugin monitor, 0 OK, 1 a stall, 2 unknown";

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
                .help("The salt with which the hosts hashed their names: those in --hosts and of files are hashed with it"),
        )
        .arg(file("since").help("Say what changed since this census, which --json printed"))
        .arg(json("Print the census as JSON, with all groups and the names of their hosts"))
        .arg(why().help("Show every list in full"))
        .arg(file("page").help("Write a page of it here, too"))
        .args(others())
        .after_help(EXIT_CODES)
}

/// What other programs read.
fn others() -> [Arg; 3] {
    let formats = CensusFormat::ALL.map(|(name, _)| name).into_iter();
    let format = Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(formats.collect::<Vec<&str>>())
        .conflicts_with_all(["json", "why"])
        .help(FORMATS);
    let output = Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .requires("format")
        .help("Write it here [default: standard output]");
    let parquet = Arg::new("parquet")
        .long("parquet")
        .value_name("FOLDER")
        .value_parser(value_parser!(PathBuf))
        .help("Write every verdict and trial there as Parquet, too, by scenario and kernel; what an earlier census wrote there is replaced");
    [format, output, parquet].map(|arg| arg.help_heading("For other programs"))
}
