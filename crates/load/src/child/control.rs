//! The child's ends of the pipes, and its tie to the life of its parent.

use crate::protocol::{DONE_LINE, Message};
use rustix::process::Signal;
use std::io::Write;

/// What the tool ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Begin.
    Go,
    /// End, without having begun.
    Stop,
}

/// Says a message on standard output.
pub(super) fn say(message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Says that the work is done, without allocating.
pub(super) fn say_done() {
    // Where nobody reads, the report that follows finds out.
    let _ = rustix::io::write(rustix::stdio::stdout(), DONE_LINE);
}

/// Waits on standard input for the order to begin.
pub(super) fn wait_for_order() -> Order {
    if read_byte().is_some() { Order::Go } else { Order::Stop }
}

/// The next byte on standard input; none at its end.
///
/// Read past the library's buffer, which would be allocated here: in a mapper that takes the lock
/// that is about to be measured.
pub(super) fn read_byte() -> Option<u8> {
    let mut byte = [0; 1];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(1) => return Some(byte[0]),
            Err(rustix::io::Errno::INTR) => {}
            _ => return None,
        }
    }
}

/// Has the kernel kill this process when its parent dies, where one is named; returns false where it
/// has died already.
pub(super) fn die_with(parent: Option<u32>) -> bool {
    parent.is_none_or(|parent| os::death::die_with(parent, Signal::KILL).is_ok())
}
