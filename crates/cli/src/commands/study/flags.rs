//! The flags of `tailback study`.

use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

const LONG_ABOUT: &str = "Run a study of several factors that a file describes.\n\nEach combination \
    of levels is an arm of one record, which is kept after every block: started again with the \
    same file, a study that was interrupted resumes after its last whole block. It ends in a table \
    of what each level did. docs/studies.md explains the file.";

/// The command.
pub fn command() -> Command {
    Command::new("study")
        .about("Run a study of several factors that a file describes")
        .long_about(LONG_ABOUT)
        .arg(
            Arg::new("file")
                .value_name("FILE.toml")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The study"),
        )
        .arg(
            Arg::new("record")
                .short('o')
                .long("record")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help(
                    "Keep the record here, and continue the one that is there [default: named after \
                     the study and its content, in the state folder]",
                ),
        )
        // One kernel's part of a study, as a guest runs it: the file is the host's.
        .arg(Arg::new("text").long("text").value_name("TOML").hide(true))
        .arg(Arg::new("in-kernel").long("in-kernel").value_name("K").hide(true))
        .arg(switch("fresh", "Start from scratch, even where a record could be continued"))
        .arg(switch("dry-run", "Show the arms and the time they need, and execute nothing"))
        .arg(switch(
            "trust",
            "Let the file name programs, kernels and a root, and write outside the working folder: a \
             study file is code",
        ))
        .arg(switch("yes", "Do not ask before a study of many arms or of more than an hour"))
        .arg(
            Arg::new("samples")
                .long("samples")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000))
                .help(
                    "Run exactly N blocks, instead of what the file says; more than before continues \
                     the study",
                ),
        )
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
