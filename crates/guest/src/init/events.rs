//! Passes the typed events of the command on to the host.
//!
//! The command writes them into a named pipe, one JSON line each. Process 1 passes each line on
//! unchanged. Only the two ends interpret an event, and they are the same program.

use super::port::Port;
use crate::frame::FrameKind;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// The pipe.
pub(super) const PIPE: &str = "/run/events";

/// The longest event that is passed on, in bytes.
const LONGEST: u64 = 256 << 10;

/// Creates the pipe, and passes on its lines until the machine ends.
///
/// # Errors
/// If it cannot be created.
pub(super) fn pass_on(port: Port) -> std::io::Result<()> {
    mknodat(CWD, PIPE, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // Also open for writing: without writers the pipe does not reach its end, and opening does
    // not block.
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
