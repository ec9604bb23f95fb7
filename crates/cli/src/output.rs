//! Standard output and standard error: colours only if wanted, and no panic on a closed stream.

use os::terminal;
use report::Look;
use serde::Serialize;
use std::cell::Cell;
use std::io::{ErrorKind, Write};

/// Longest line of text on a terminal, in columns.
const WIDEST: usize = 100;

/// Longest line of text in a pipe or a file, in columns.
const USUAL: usize = 80;

/// Standard output.
#[derive(Debug, Default)]
pub struct Output {
    /// Whether a write has failed.
    failed: Cell<bool>,
    /// Whether the reader of a pipe has gone.
    closed: Cell<bool>,
}

impl Output {
    /// Writes to standard output. Colours are dropped unless it is a terminal that shows them.
    pub fn print(&self, text: &str) {
        let mut out = anstream::stdout();
        self.check(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Writes JSON. Characters that steer a terminal stay in the data as escapes.
    pub fn json(&self, text: &str) {
        self.print(&terminal::json(text));
    }

    /// Writes a value as JSON. The values of commands have only text keys and finite numbers, so
    /// they always serialise.
    pub fn value(&self, value: &impl Serialize) {
        self.json(&format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default()));
    }

    /// Whether writing has failed.
    pub fn failed(&self) -> bool {
        self.failed.get()
    }

    /// Whether more output is of use: its reader is there, and no write has failed. A command that
    /// prints until it is interrupted ends without it.
    pub fn is_of_use(&self) -> bool {
        !self.closed.get() && !self.failed()
    }

    /// Reports a write to standard output that failed.
    pub fn check(&self, written: std::io::Result<()>) {
        match written {
            Ok(()) => {}
            // A reader that has gone, such as `head`, needs nothing more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.closed.set(true),
            Err(error) => {
                // A command may print several times.
                if !self.failed.replace(true) {
                    complain(&format!(
                        "standard output: {error}; free some disk space or write elsewhere"
                    ));
                }
            }
        }
    }
}

/// Writes a help text to standard output. A closed stream does not matter.
pub fn help(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}

/// Writes to standard error. The text may quote names and contents of files, so characters that
/// steer a terminal are removed.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", terminal::lines(text));
}

/// Writes one line about a problem to standard error. The line may quote any text.
pub fn complain(line: &str) {
    note(&format!("tailback: {}", terminal::line(line)));
}

/// The look of reports: with colours, since [`Output::print`] drops unwanted ones.
pub fn look() -> Look {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width = terminal.map_or(USUAL, |(width, _)| width.0.into());
    Look { color: true, width: width.clamp(40, WIDEST), why: false }
}

/// The same, and with the reasons if `why` is set.
pub fn look_with(why: bool) -> Look {
    Look { why, ..look() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_gone_ends_the_output_and_is_no_failure() {
        let out = Output::default();
        out.check(Ok(()));
        assert!(out.is_of_use() && !out.failed());
        out.check(Err(ErrorKind::BrokenPipe.into()));
        assert!(!out.is_of_use() && !out.failed());
        let full = Output::default();
        full.check(Err(ErrorKind::StorageFull.into()));
        assert!(!full.is_of_use() && full.failed());
    }
}
