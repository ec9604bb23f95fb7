//! Splits a stream of bytes into frames.

use super::MOST_BYTES;

/// Bytes of a frame's length field.
const HEADER: usize = 4;

/// Takes bytes as they arrive and returns complete frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pending: Vec<u8>,
    /// How many bytes of `pending` were returned already.
    given: usize,
}

impl Frames {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        // Returned bytes are removed only here, so that many small frames cost one move.
        self.pending.drain(..self.given);
        self.given = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete frame without its length field, if there is one.
    ///
    /// # Errors
    /// The length of a frame that is too long; nothing that follows can be parsed.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, usize> {
        let Some((header, rest)) = self.pending[self.given..].split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*header)).unwrap_or(usize::MAX);
        if length > MOST_BYTES {
            return Err(length);
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        let frame = frame.to_vec();
        self.given += HEADER + length;
        Ok(Some(frame))
    }
}

/// A frame with its length field, as it is sent.
///
/// # Errors
/// The length of a payload that is too long.
pub(super) fn framed(payload: &[u8]) -> Result<Vec<u8>, usize> {
    match u32::try_from(payload.len()) {
        Ok(length) if payload.len() <= MOST_BYTES => Ok([&length.to_be_bytes(), payload].concat()),
        _ => Err(payload.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(frames: &mut Frames) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| frames.next().unwrap()).collect()
    }

    #[test]
    fn a_length_that_is_too_long_is_an_error() {
        let mut frames = Frames::default();
        frames.push(&u32::MAX.to_be_bytes());
        assert_eq!(frames.next(), Err(u32::MAX as usize));
        assert_eq!(framed(&vec![0; MOST_BYTES + 1]), Err(MOST_BYTES + 1));
    }

    proptest! {
        #[test]
        fn frames_come_whole_however_the_stream_is_torn(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12),
            cuts in prop::collection::vec(1usize..30, 1..40),
            lost in 0usize..6,
        ) {
            let mut stream: Vec<u8> =
                payloads.iter().flat_map(|payload| framed(payload).unwrap()).collect();
            stream.truncate(stream.len().saturating_sub(lost));
            let (mut frames, mut received, mut rest) = (Frames::default(), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                frames.push(now);
                received.extend(all(&mut frames));
                rest = later;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(&received[..], &payloads[..received.len()]);
            if lost == 0 { prop_assert_eq!(received.len(), payloads.len()); }
        }
    }
}
