//! Flags that many commands have.

use clap::{Arg, ArgAction};

/// `--json`.
pub fn json(help: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(help)
}

/// `--why`.
pub fn why() -> Arg {
    Arg::new("why")
        .long("why")
        .action(ArgAction::SetTrue)
        .help("Show every figure, the reasons of the verdict, and what it cannot tell")
}
