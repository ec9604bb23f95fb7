//! The child's ends of the pipes to its parent, and its death with its parent.

use super::failure::failure;
use crate::protocol::{DONE_LINE, Failure, Message};
use os::user::User;
use rustix::process::Signal;
use std::io::Write;

/// An order from the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Begin.
    Go,
    /// End without starting the work.
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

/// Sends the message that the work is done. Allocates no memory.
pub(super) fn send_done() {
    // If the pipe is closed, sending the report detects it.
    let _ = rustix::io::write(rustix::stdio::stdout(), DONE_LINE);
}

/// Waits on standard input for the order to begin.
pub(super) fn wait_for_order() -> Order {
    if read_byte().is_some() { Order::Go } else { Order::Stop }
}

/// The next byte on standard input. None at the end of the input.
///
/// This bypasses the buffer of the standard library. In a mapper, allocating that buffer here
/// would take the lock that is measured next.
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

/// Makes the kernel kill this process when the given parent dies. False if the parent is already
/// dead.
pub(super) fn die_with(parent: Option<u32>) -> bool {
    parent.is_none_or(|parent| os::death::die_with(parent, Signal::KILL).is_ok())
}

/// Becomes the user that the tool named, if it named one. Everything that needs the caller's
/// rights must be done before. False if the parent has died in the meantime.
///
/// # Errors
/// If the kernel refuses.
pub(super) fn step_down(user: Option<User>, parent: Option<u32>) -> Result<bool, Failure> {
    let Some(user) = user else { return Ok(true) };
    user.become_it().map_err(|error| failure(format!("becoming user {}", user.uid()), error))?;
    // Changing the user clears the parent-death signal, so it is set again.
    Ok(die_with(parent))
}
