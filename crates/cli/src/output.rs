//! Standard output and error: colours where they are wanted, no panic on a closed stream.

use clap::ArgMatches;
use os::terminal;
use report::Look;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest line of text on a terminal, in columns.
const WIDEST: usize = 100;

/// Longest line of text in a pipe or a file, in columns.
const USUAL: usize = 80;

/// Whether something could not be written to standard output.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Writes to standard output; colours are dropped unless it is a terminal that wants them.
pub fn print(text: &str) {
    let mut out = anstream::stdout();
    told(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Says so where something could not be written to standard output.
fn told(written: std::io::Result<()>) {
    match written {
        Ok(()) => {}
        // A reader that has gone away, as `head` does, needs nothing more.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => {
            complain(&format!("standard output: {error}; free some room or write elsewhere"));
            FAILED.store(true, Ordering::Relaxed);
        }
    }
}

/// Writes JSON to standard output: the same data, whatever a record says to the terminal.
pub fn json(text: &str) {
    print(&terminal::json(text));
}

/// Whether writing to standard output has failed.
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
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

/// How reports look here: coloured, since [`print()`] drops colours that are not wanted.
pub fn look() -> Look {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width = terminal.map_or(USUAL, |(width, _)| width.0.into());
    Look { color: true, width: width.clamp(40, WIDEST), why: false }
}

/// The same for a command that may be asked for its reasons.
pub fn look_of(matches: &ArgMatches) -> Look {
    Look { why: matches!(matches.try_get_one("why"), Ok(Some(true))), ..look() }
}
