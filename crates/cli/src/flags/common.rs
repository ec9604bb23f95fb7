//! Flags that many commands have.

use clap::{Arg, ArgAction};

/// `--json`.
pub fn json(help: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(help)
}
