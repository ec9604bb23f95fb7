//! Asks the user before a large study.

use super::time::{Needed, summary};
use super::wanted::Wanted;
use crate::exit::Failure;
use crate::output;
use std::io::{BufRead, IsTerminal};
use std::time::Duration;

/// A study with more arms than this needs consent.
const MANY_ARMS: usize = 200;

/// A study that takes longer than this needs consent.
const LONG: Duration = Duration::from_secs(3600);

/// Asks on a terminal whether to run a large study. Without a terminal, the study needs `--yes`.
///
/// # Errors
/// If the answer is no, or standard input is no terminal.
pub fn ask(wanted: &Wanted, blocks: u32, yes: bool) -> Result<(), Failure> {
    let arms = wanted.layout.arms.arms.len();
    if yes || arms <= MANY_ARMS && Needed::after(wanted, blocks).most <= LONG {
        return Ok(());
    }
    let what = format!("study {}: {}", wanted.design.name, summary(wanted, blocks));
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(format!("{what}; give --yes to run it, or use fewer levels")));
    }
    output::note(&format!("{what}. Run it? [y/N]"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => Err(Failure::usage(format!("study {}: not run", wanted.design.name))),
    }
}
