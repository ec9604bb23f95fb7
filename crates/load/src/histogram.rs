//! Latency histograms with the same bounds for all generators, and their text form between
//! processes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// The longest latency that is recorded exactly, in nanoseconds: 73 minutes, longer than every
/// deadline.
pub const HIGHEST_NS: u64 = 1 << 42;

/// Number of significant digits that are kept.
const DIGITS: u8 = 3;

/// The first bytes of an unpacked histogram in format version 2.
const V2_COOKIE: u32 = 0x1c84_9303 | 0x10;

/// Length of the header of an unpacked histogram, in bytes.
const HEADER: usize = 40;

/// An empty histogram of nanoseconds. Its memory is already faulted in, so recording causes no
/// page fault.
pub fn empty() -> Histogram<u64> {
    // The bounds are constants that the format allows.
    #[allow(clippy::expect_used, reason = "constant bounds, checked by a test")]
    let mut histogram =
        Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("bounds of the histogram");
    histogram.reset();
    histogram
}

/// Records one latency. A latency above [`HIGHEST_NS`] counts as [`HIGHEST_NS`].
#[inline]
pub fn record(histogram: &mut Histogram<u64>, latency_ns: u64) {
    histogram.saturating_record(latency_ns.max(1));
}

/// The histogram in HdrHistogram V2 format, as base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Writing to memory cannot fail with the bounds above. `decode` refuses an empty text.
        Err(_) => String::new(),
    }
}

/// Decodes the text of [`encode`].
///
/// # Errors
/// A sentence if the text is damaged.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    if !has_our_bounds(&bytes) {
        return Err(
            "the histogram is cut off, or its bounds are not those of the generators".to_owned()
        );
    }
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| error.to_string())
}

/// Whether an encoded histogram has the bounds of [`empty`] and the length that it states. Both
/// numbers determine how much memory is allocated.
///
/// The V2 header: a cookie, the length of the counts, an offset and the significant digits (32
/// bits each). Then the lowest and the highest value that it can hold and a ratio (64 bits each).
fn has_our_bounds(bytes: &[u8]) -> bool {
    let at =
        |place: usize, expected: &[u8]| bytes.get(place..place + expected.len()) == Some(expected);
    let length = bytes.len().checked_sub(HEADER).and_then(|length| u32::try_from(length).ok());
    length.is_some_and(|length| at(4, &length.to_be_bytes()))
        && at(0, &V2_COOKIE.to_be_bytes())
        && at(12, &u32::from(DIGITS).to_be_bytes())
        && at(16, &1_u64.to_be_bytes())
        && at(24, &HIGHEST_NS.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_survive_the_pipe_and_absurd_ones_saturate() {
        let mut histogram = empty();
        for latency in [0, 1, 999, u64::MAX] {
            record(&mut histogram, latency);
        }
        let back = decode(&encode(&histogram)).unwrap();
        assert_eq!(back.len(), 4);
        assert_eq!(back, histogram);
        assert!(back.max() >= HIGHEST_NS);
        assert!(decode("").is_err());
        assert!(decode("SGlzdG8=").is_err());
    }

    #[test]
    fn bounds_that_would_take_gigabytes_are_refused_before_they_do() {
        let text = encode(&empty());
        for (place, forged) in [(4, 0x7f), (15, 5), (16, 5), (24, 0x7f), (0, 0)] {
            let mut bytes = STANDARD.decode(&text).unwrap();
            bytes[place] = forged;
            let refused = decode(&STANDARD.encode(bytes)).err();
            assert!(refused.is_some_and(|why| why.contains("its bounds are not")), "{place}");
        }
    }
}
