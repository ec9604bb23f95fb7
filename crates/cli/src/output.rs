//! Standard output and error: colours where they are wanted, no panic on a closed stream.

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
    /// Whether something could not be written.
    failed: Cell<bool>,
}

impl Output {
    /// Writes to standard output; colours are dropped unless it is a terminal that wants them.
    pub fn print(&self, text: &str) {
        let mut out = anstream::stdout();
        self.check(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Writes JSON: the same data, whatever a record says to the terminal.
    pub fn json(&self, text: &str) {
        self.print(&terminal::json(text));
    }

    /// Writes a value as JSON. What commands show has text keys and finite numbers only, so it
    /// always serialises.
    pub fn value(&self, value: &impl Serialize) {
        self.json(&format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default()));
    }

    /// Whether writing has failed.
    pub fn failed(&self) -> bool {
        self.failed.get()
    }

    /// Says so where something could not be written.
    fn check(&self, written: std::io::Result<()>) {
        match written {
            Ok(()) => {}
            // A reader that has gone away, as `head` does, needs nothing more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => {
                complain(&format!("standard output: {error}; free some room or write elsewhere"));
                self.failed.set(true);
            }
        }
    }
}

/// Writes a help to standard output; it does not matter if that is closed.
pub fn help(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}

/// Writes to standard error. It may name a file, or what a file says, so it does not steer a
/// terminal.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", terminal::lines(text));
}

/// Writes one line about something wrong to standard error, whatever it quotes.
pub fn complain(line: &str) {
    note(&format!("tailback: {}", terminal::line(line)));
}

/// How reports look here: coloured, since [`Output::print`] drops colours that are not wanted.
pub fn look() -> Look {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width = terminal.map_or(USUAL, |(width, _)| width.0.into());
    Look { color: true, width: width.clamp(40, WIDEST), why: false }
}

/// The same, with the reasons where they are asked for.
pub fn look_with(why: bool) -> Look {
    Look { why, ..look() }
}
