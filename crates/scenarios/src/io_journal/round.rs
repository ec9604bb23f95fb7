//! What the writer tells the stage about its rounds, in records of a fixed size.

use super::span::Span;

/// Size of a record, in bytes.
pub(super) const SIZE: usize = 16;

/// What the writer tells the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// Its fsync has begun, at this time of the monotonic clock.
    Began { at_ns: u64 },
    /// Its fsync has returned.
    Ended(Span),
    /// A call failed with this error number. It makes no more rounds.
    Failed { error: i32 },
}

impl Round {
    /// The record: two numbers. The first one is zero for an error, the second one for an fsync
    /// that has not returned.
    pub(super) fn to_bytes(self) -> [u8; SIZE] {
        let [first, second] = match self {
            Round::Began { at_ns } => [at_ns, 0],
            Round::Ended(Span { began_ns, ended_ns }) => [began_ns, ended_ns],
            Round::Failed { error } => [0, u64::from(error.cast_unsigned())],
        };
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&second.to_le_bytes());
        bytes
    }

    /// Reads a record.
    pub(super) fn from_bytes(bytes: [u8; SIZE]) -> Self {
        let both = u128::from_le_bytes(bytes);
        // Each half fits into a `u64`.
        let first = (both & u128::from(u64::MAX)) as u64;
        let second = (both >> 64) as u64;
        match (first, second) {
            (0, error) => Round::Failed { error: i32::try_from(error).unwrap_or(0) },
            (at_ns, 0) => Round::Began { at_ns },
            (began_ns, ended_ns) => Round::Ended(Span { began_ns, ended_ns }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for round in [
            Round::Began { at_ns: 7 },
            Round::Ended(Span { began_ns: 7, ended_ns: u64::MAX }),
            Round::Failed { error: 28 },
        ] {
            assert_eq!(Round::from_bytes(round.to_bytes()), round);
        }
    }
}
