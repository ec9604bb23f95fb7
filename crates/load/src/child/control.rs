//! The child's ends of the pipes, and its end when its parent dies.

use super::failure::failure;
use crate::protocol::{DONE_LINE, Failure, Message};
use os::user::User;
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

/// Writes a message to standard output.
pub(super) fn send(message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Sends that the work is done, without allocating.
pub(super) fn send_done() {
    // Where the pipe is closed, the report that follows finds out.
    let _ = rustix::io::write(rustix::stdio::stdout(), DONE_LINE);
}

/// Waits on standard input for the order to begin.
pub(super) fn wait_for_order() -> Order {
    if read_byte().is_some() { Order::Go } else { Order::Stop }
}

/// The next byte on standard input; none at its end.
///
/// Read past the standard library's buffer: allocating it here would, in a mapper, take the lock
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

/// Has the kernel kill this process when its parent dies, where one is named; returns false where
/// it has died already.
pub(super) fn die_with(parent: Option<u32>) -> bool {
    parent.is_none_or(|parent| os::death::die_with(parent, Signal::KILL).is_ok())
}

/// Becomes the user that the tool named, where it named one; all that needs the caller's rights
/// comes before this. Returns false where the parent has died meanwhile.
///
/// # Errors
/// If the kernel refuses.
pub(super) fn step_down(user: Option<User>, parent: Option<u32>) -> Result<bool, Failure> {
    let Some(user) = user else { return Ok(true) };
    user.become_it().map_err(|error| failure(format!("becoming user {}", user.uid()), error))?;
    // The kernel forgot it as the user changed.
    Ok(die_with(parent))
}
