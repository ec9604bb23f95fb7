//! The protocol of `schema/port.md`: frames, and the messages in them.

mod check;
mod frames;
mod lossless;
mod message;

pub(crate) use frames::Frames;
pub(crate) use message::{Incoming, call, cancel};

/// The most bytes of a frame.
pub(crate) const MOST_BYTES: usize = 64 << 20;
