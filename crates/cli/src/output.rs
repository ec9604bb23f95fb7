//! Standard output and error: colours where they are wanted, no panic where nobody reads.

use report::Look;
use std::io::Write;

/// Longest line of text, in columns.
const WIDEST: usize = 100;

/// Writes to standard output; colours are dropped unless it is a terminal that wants them.
pub fn print(text: &str) {
    // A reader that has gone away, as `head` does, needs nothing more.
    let _ = anstream::stdout().write_all(text.as_bytes());
}

/// Writes a line to standard error.
pub fn note(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Writes a line about something wrong to standard error.
pub fn complain(line: &str) {
    note(&format!("tailback: {line}"));
}

/// How reports look here: coloured, since [`print`] drops colours that are not wanted.
pub fn look() -> Look {
    let width = terminal_size::terminal_size().map_or(WIDEST, |(width, _)| width.0.into());
    Look { color: true, width: width.clamp(40, WIDEST) }
}
