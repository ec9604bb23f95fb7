//! Latency distributions as HdrHistogram V2, the encoding that every HdrHistogram library reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// Name of the encoding in the record.
const ENCODING: &str = "hdrhistogram-v2-base64";

/// The largest text that is taken for a histogram, in bytes; a real one is a few kilobytes.
const MOST_TEXT: usize = 4 << 20;

/// A distribution of latencies in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// How `data` is encoded; always `hdrhistogram-v2-base64`.
    pub encoding: String,
    /// Unit of the recorded values; always `ns`.
    pub unit: String,
    /// How many values were recorded.
    pub count: u64,
    /// The largest recorded value, in nanoseconds.
    pub max_ns: u64,
    /// The encoded histogram.
    pub data: String,
}

/// Why a histogram could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    /// Another encoding or unit.
    #[error("a histogram is encoded as {0}, not as {ENCODING} in ns")]
    Encoding(String),
    /// Not a histogram.
    #[error("a histogram is damaged: {0}")]
    Damaged(String),
}

impl Latency {
    /// Encodes a histogram of nanoseconds.
    pub fn from_histogram(histogram: &Histogram<u64>) -> Self {
        let mut bytes = Vec::new();
        // Writing to memory fails only beyond the limits of V2, which bounded histograms keep to.
        let written = V2Serializer::new().serialize(histogram, &mut bytes);
        debug_assert!(written.is_ok(), "histogram did not fit V2");
        Latency {
            encoding: ENCODING.to_owned(),
            unit: "ns".to_owned(),
            count: histogram.len(),
            max_ns: histogram.max(),
            data: STANDARD.encode(bytes),
        }
    }

    /// Decodes the histogram.
    ///
    /// # Errors
    /// If the text is another encoding, damaged, or absurdly large.
    pub fn to_histogram(&self) -> Result<Histogram<u64>, LatencyError> {
        if self.encoding != ENCODING || self.unit != "ns" {
            return Err(LatencyError::Encoding(format!("{} in {}", self.encoding, self.unit)));
        }
        let damaged = |error: &dyn std::fmt::Display| LatencyError::Damaged(error.to_string());
        if self.data.len() > MOST_TEXT {
            return Err(damaged(&"it is too large"));
        }
        let bytes = STANDARD.decode(&self.data).map_err(|e| damaged(&e))?;
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| damaged(&e))?;
        if histogram.len() == self.count {
            Ok(histogram)
        } else {
            Err(damaged(&format!("it holds {} values, not {}", histogram.len(), self.count)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 1 << 42, 3).unwrap();
        for value in values {
            histogram.record(*value).unwrap();
        }
        histogram
    }

    #[test]
    fn a_damaged_histogram_is_an_error() {
        let mut latency = Latency::from_histogram(&histogram(&[1, 2, 3]));
        latency.count = 4;
        assert!(latency.to_histogram().is_err());
        latency.data.truncate(10);
        assert!(latency.to_histogram().is_err());
        latency.encoding = "csv".into();
        assert!(matches!(latency.to_histogram(), Err(LatencyError::Encoding(_))));
    }

    proptest! {
        #[test]
        fn a_histogram_survives_the_record(values in prop::collection::vec(1u64..1 << 40, 0..200)) {
            let before = histogram(&values);
            let after = Latency::from_histogram(&before).to_histogram().unwrap();
            prop_assert_eq!(before, after);
        }

        #[test]
        fn no_text_makes_the_reader_panic(data in "[A-Za-z0-9+/=]{0,120}", count in 0u64..9) {
            let latency = Latency {
                encoding: ENCODING.into(), unit: "ns".into(), count, max_ns: 0, data,
            };
            let _ = latency.to_histogram();
        }
    }
}
