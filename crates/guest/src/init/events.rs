//! The typed events of the command, on their way to the host.
//!
//! The command writes them into a named pipe, a line of JSON each; process 1 passes each line on as
//! it is. What an event means is for the two ends to know, which are the same program.

use super::port::Port;
use crate::frame::FrameKind;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// The pipe.
pub(super) const PIPE: &str = "/run/events";

/// The longest event that is passed on, in bytes.
const LONGEST: u64 = 256 << 10;

/// Makes the pipe, and passes on what comes out of it to the end of the machine.
///
/// # Errors
/// If it cannot be made.
pub(super) fn pass_on(port: Port) -> std::io::Result<()> {
    mknodat(CWD, PIPE, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // Open for writing too, so that it has no end while nobody writes, and nobody waits to open it.
    let pipe = File::options().read(true).write(true).open(PIPE)?;
    std::thread::spawn(move || pass_lines(pipe, &port));
    Ok(())
}

fn pass_lines(pipe: File, port: &Port) {
    let mut reader = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => port.send(FrameKind::Event, line.trim_ascii_end()),
        }
    }
}
