//! Terms as bytes, and the protocol of `schema/port.md`: frames and the messages in them.

mod check;
mod cost;
mod frames;
mod lossless;
mod message;

/// Most memory for an answer of a node, in bytes: the received bytes and the decoded term
/// together.
pub const MOST_MEMORY: u64 = 64 << 20;

/// Number of bytes of the first of several terms.
///
/// # Errors
/// If it is no well-formed term of the external format, or takes more than [`MOST_MEMORY`]; in a
/// few words.
pub fn first(bytes: &[u8]) -> Result<usize, String> {
    check::first(bytes, MOST_MEMORY)
}

/// Decodes a term of the external format that fills all of the bytes.
///
/// # Errors
/// What is wrong with it, in a few words; also if it takes more than [`MOST_MEMORY`].
pub fn decode(bytes: &[u8]) -> Result<eetf::Term, String> {
    check::check(bytes, MOST_MEMORY)?;
    eetf::Term::decode(bytes).map_err(|error| crate::text::clean_line(&error.to_string()))
}

/// Like [`decode`], for bytes without the version byte.
///
/// # Errors
/// What is wrong with it, in a few words; also if it takes more than [`MOST_MEMORY`].
pub fn decode_inner(bytes: &[u8]) -> Result<eetf::Term, String> {
    check::check_inner(bytes, MOST_MEMORY)?;
    // There may be many bytes, so they are not copied to add one in front.
    let whole = std::io::Read::chain(&[131][..], bytes);
    eetf::Term::decode(whole).map_err(|error| crate::text::clean_line(&error.to_string()))
}

/// The memory that bytes without the version byte and their decoded term take together.
///
/// # Errors
/// Those of [`decode_inner`].
pub fn memory_inner(bytes: &[u8]) -> Result<u64, String> {
    check::check_inner(bytes, MOST_MEMORY)
}

/// Encodes a term; the result is empty if the term cannot be encoded.
pub fn encode(term: eetf::Term) -> Vec<u8> {
    let mut bytes = Vec::new();
    if lossless::lossless(term).encode(&mut bytes).is_err() {
        bytes.clear();
    }
    bytes
}

pub(crate) use frames::Frames;
pub(crate) use message::{Incoming, call, cancel};

/// Most bytes of a frame.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Most memory for a message over the pipes, in bytes, including its frame: results of tailback's
/// own application are lists of measurements.
const MOST_OF_MESSAGE: u64 = 192 << 20;
