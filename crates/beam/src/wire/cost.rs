//! The memory that decoded terms take: a small map with nine bytes takes some hundred bytes.
//!
//! These are the sizes of the decoder's vectors, strings and tables, rounded as the allocator of
//! the C library rounds them.

use eetf::{Reference, Term};

/// The term itself, which is part of the block of its container.
const TERM: u64 = size_of::<Term>() as u64;

/// The memory block for this many bytes; nothing is allocated for zero bytes.
pub(super) fn block(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        bytes => bytes.saturating_add(8).next_multiple_of(16).max(32),
    }
}

/// The elements of a list or tuple, without their content.
pub(super) fn elements(count: u64) -> u64 {
    block(count.saturating_mul(TERM))
}

/// The element at the end of an improper list.
pub(super) fn tail() -> u64 {
    block(TERM)
}

/// The table of a map with this many pairs. It includes the table of half the size, which existed
/// until its pairs were moved.
pub(super) fn table(pairs: u64) -> u64 {
    let places = match pairs {
        0 => return 0,
        1..4 => 4,
        4..8 => 8,
        // One slot of eight stays free.
        more => (more.saturating_mul(8) / 7).next_power_of_two(),
    };
    let of = |places: u64| block(places.saturating_mul(2 * TERM + 1) + 32);
    if places > 4 { of(places) + of(places / 2) } else { of(places) }
}

/// The digits of a big integer with this many bytes, and the decoder's copy of them.
pub(super) fn digits(bytes: u64) -> u64 {
    block(bytes.next_multiple_of(8)).saturating_mul(2)
}

/// A reference with this many words.
pub(super) fn reference(words: u64) -> u64 {
    block(size_of::<Reference>() as u64) + block(4 * words)
}
