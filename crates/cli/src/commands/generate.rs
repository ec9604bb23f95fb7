//! `tailback completions` and `tailback man`: made from the same declarations as the flags.

use crate::exit::Failure;
use crate::{flags, output};
use clap::ArgMatches;
use clap_complete::Shell;
use std::path::PathBuf;

/// Prints the completions of a shell.
pub fn completions(matches: &ArgMatches) -> Result<u8, Failure> {
    let shell = matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("no shell"))?;
    let mut bytes = Vec::new();
    clap_complete::generate(*shell, &mut flags::command(), "tailback", &mut bytes);
    output::print(&String::from_utf8_lossy(&bytes));
    Ok(0)
}

/// Writes a man page a command.
pub fn man(matches: &ArgMatches) -> Result<u8, Failure> {
    let folder = matches.get_one::<PathBuf>("folder").ok_or_else(|| Failure::usage("no folder"))?;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(flags::command(), folder))
        .map_err(|error| Failure::usage(format!("man pages to {}: {error}", folder.display())))?;
    Ok(0)
}
