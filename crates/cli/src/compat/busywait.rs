//! `compat busywait`: both forms, `busywait PID` and `busywait --busyduration MS --pid PID`.

use super::options::{Next, Options};
use crate::exit::Failure;
use crate::session::Session;
use load::child::scanner::proc_path;
use load::child::spinner::spin_until_gone;
use std::time::Duration;

const USAGE: &str = "Usage: busywait [PID]
\t--busyduration
\t\tDuration of busy period in milliseconds (default disabled=0).
\t--pid
\t\tPID of Process to spin on, based on /proc/PID/smaps.
\t\tDefault is to spin indefinitely.
";

/// Polls the file until it is gone.
pub fn run(args: &[String], _: &Session) -> Result<u8, Failure> {
    let mut options = Options::new(args, USAGE);
    let mut pid = std::process::id();
    let mut busy = 0;
    loop {
        match options.next() {
            Next::End => break,
            Next::Help => return Ok(0),
            Next::Word("--busyduration") => busy = options.number("--busyduration", 3_600_000)?,
            Next::Word("--pid") => pid = pid_of(options.number("--pid", u32::MAX.into())?),
            Next::Word(word) => match word.parse() {
                Ok(number) => pid = number,
                Err(_) => return Err(options.mistake(&format!("Unrecognized argument: {word}"))),
            },
        }
    }
    let path = proc_path(pid, "smaps");
    spin_until_gone(&path, Duration::from_millis(busy), || {})
        .map(|()| 0)
        .map_err(|error| Failure::broken(format!("busywait: {}: {error}", path.display())))
}

fn pid_of(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
