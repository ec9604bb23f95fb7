//! The commands that show records: a page, a comparison, a history, other formats.

use super::common::{host_name, json, why};
use crate::commands::export::BRIEF;
use clap::{Arg, ArgAction, Command, value_parser};
use report::export::Format;
use std::path::PathBuf;

const COMPARE_CODES: &str = "Exit codes:\n  0  better, differs, or no difference shown\n  1  worse\n  \
    2  bad usage or input\n  4  not comparable";

const COMPARE_ABOUT: &str = "Hold records after a change against records before it: worse, better, \
    differs, or no difference shown. One record a side can say that the two runs differ, not why. \
    Several a side that were made in turns (before, after, before, after, ..) can say worse or \
    better: four a side at least where one figure is judged.";

/// `tailback report`.
pub fn report() -> Command {
    Command::new("report")
        .about("Write an offline page from records")
        .arg(records("The records; each has a section of the page").num_args(1..))
        .arg(output("Write the page here; - for standard output").required(true))
}

/// `tailback compare`.
pub fn compare() -> Command {
    Command::new("compare")
        .about("Hold records after a change against records before it")
        .long_about(COMPARE_ABOUT)
        .override_usage(
            "tailback compare [OPTIONS] <BEFORE> <AFTER>\n       \
             tailback compare [OPTIONS] --before <RECORD>.. --after <RECORD>..",
        )
        .arg(
            records("One record from before the change and one from after it")
                .required(false)
                .required_unless_present("before")
                .conflicts_with_all(["before", "after"])
                .num_args(2)
                .value_names(["BEFORE", "AFTER"]),
        )
        .arg(side("before", "after", "Records from before the change"))
        .arg(side("after", "before", "Records from after it, made in turns with the others"))
        .arg(json("Print the comparison as JSON"))
        .arg(why())
        .arg(output("Write a page of it here, too"))
        .arg(
            Arg::new("across")
                .long("across")
                .value_name("WHAT,..")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help(
                    "What may differ, since it is what is compared: host, kernel, otp, tailback, or \
                     a parameter. One kernel, OTP, file or word may differ without it",
                ),
        )
        .after_help(COMPARE_CODES)
}

fn side(name: &'static str, other: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("RECORD")
        .num_args(1..)
        .requires(other)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

/// `tailback history`.
pub fn history() -> Command {
    Command::new("history")
        .about("Draw one figure over the records of a folder")
        .arg(
            Arg::new("folder")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The folder with the records; those of check are in ~/.local/state/tailback"),
        )
        .arg(
            Arg::new("measure")
                .long("measure")
                .value_name("M")
                .help("The figure, by its name in the record [default: the one that is judged]"),
        )
        .arg(json("Print the history as JSON"))
        .arg(output("Write a page of it here, too"))
}

/// `tailback export`.
pub fn export() -> Command {
    let formats = Format::ALL.map(|(name, _)| name).into_iter().chain([BRIEF]);
    Command::new("export")
        .about("Write records in a format of other tools")
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .required(true)
                .value_parser(formats.collect::<Vec<&str>>())
                .help("csv: every trial; openmetrics: for node_exporter's textfile collector; markdown: for an issue; junit: for CI; node-problem-detector: a line and an exit code for its plugin monitor; brief: for tailback census"),
        )
        .arg(records("The records").num_args(1..))
        .args(host_name().map(|arg| arg.help_heading("Brief records")))
        .arg(output("Write it here [default: standard output]"))
}

fn records(help: &'static str) -> Arg {
    Arg::new("record")
        .value_name("RECORD")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

fn output(help: &'static str) -> Arg {
    Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(help)
}
