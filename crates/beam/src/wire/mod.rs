//! Terms as bytes, and the protocol of `schema/port.md`: frames, and the messages in them.

mod check;
mod cost;
mod frames;
mod lossless;
mod message;

/// The most memory that an answer of a node may take, in bytes: what came, and the term of it.
pub const MOST_MEMORY: u64 = 64 << 20;

/// How many bytes the first of several terms takes.
///
/// # Errors
/// If it is no well-formed term of the external format, or takes more memory than it may; in a few
/// words.
pub fn first(bytes: &[u8]) -> Result<usize, String> {
    check::first(bytes, MOST_MEMORY)
}

/// Reads a term of the external format that takes all of the bytes.
///
/// # Errors
/// What is wrong with it, in a few words; also that it takes more memory than it may.
pub fn decode(bytes: &[u8]) -> Result<eetf::Term, String> {
    check::check(bytes, MOST_MEMORY)?;
    eetf::Term::decode(bytes).map_err(|error| crate::text::clean_line(&error.to_string()))
}

/// As [`decode`], of bytes before which the byte of the version is left out.
///
/// # Errors
/// What is wrong with it, in a few words; also that it takes more memory than it may.
pub fn decode_inner(bytes: &[u8]) -> Result<eetf::Term, String> {
    check::check_inner(bytes, MOST_MEMORY)?;
    // The bytes may be many, so they are not copied for one in front of them.
    let whole = std::io::Read::chain(&[131][..], bytes);
    eetf::Term::decode(whole).map_err(|error| crate::text::clean_line(&error.to_string()))
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

/// The most memory that a message over the pipes may take, in bytes, with its frame: results of our
/// own application are lists of what was measured.
const MOST_OF_MESSAGE: u64 = 192 << 20;
