//! Latency histograms in the shape that all generators use, and as text between processes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// The longest latency that is recorded as it is, in nanoseconds: 73 minutes, beyond every deadline.
pub const HIGHEST_NS: u64 = 1 << 42;

/// Significant digits that are kept.
const DIGITS: u8 = 3;

/// An empty histogram of nanoseconds whose memory is already there, so that recording never
/// faults a page in.
pub fn empty() -> Histogram<u64> {
    // The bounds are constants within the limits of the format.
    #[allow(clippy::expect_used, reason = "constant bounds, checked by a test")]
    let mut histogram =
        Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("bounds of the histogram");
    histogram.reset();
    histogram
}

/// Records one latency; what lies beyond the range counts as its end.
#[inline]
pub fn record(histogram: &mut Histogram<u64>, latency_ns: u64) {
    histogram.saturating_record(latency_ns.max(1));
}

/// The histogram as HdrHistogram V2 in base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Writing to memory cannot fail within the bounds above; an empty text is refused by
        // `decode`.
        Err(_) => String::new(),
    }
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// A sentence, if the text is damaged.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| error.to_string())
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
}
