//! Terms as bytes, and the protocol of `schema/port.md`: frames, and the messages in them.

mod check;
mod frames;
mod lossless;
mod message;

/// How many bytes the first of several terms takes.
///
/// # Errors
/// If it is no well-formed term of the external format, in a few words.
pub fn first(bytes: &[u8]) -> Result<usize, String> {
    check::first(bytes)
}

/// Reads a term of the external format that takes all of the bytes.
///
/// # Errors
/// What is wrong with it, in a few words.
pub fn decode(bytes: &[u8]) -> Result<eetf::Term, String> {
    check::check(bytes)?;
    eetf::Term::decode(bytes).map_err(|error| crate::text::clean_line(&error.to_string()))
}

/// As [`decode`], of bytes before which the byte of the version is left out.
///
/// # Errors
/// What is wrong with it, in a few words.
pub fn decode_inner(bytes: &[u8]) -> Result<eetf::Term, String> {
    let mut whole = vec![131];
    whole.extend(bytes);
    decode(&whole)
}

/// Writes a term; what cannot be written becomes nothing.
pub fn encode(term: eetf::Term) -> Vec<u8> {
    let mut bytes = Vec::new();
    if lossless::lossless(term).encode(&mut bytes).is_err() {
        bytes.clear();
    }
    bytes
}

pub(crate) use frames::Frames;
pub(crate) use message::{Incoming, call, cancel};

/// The most bytes of a frame.
pub(crate) const MOST_BYTES: usize = 64 << 20;
