//! Latency distributions as HdrHistogram V2, the encoding that every HdrHistogram library can
//! read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// Name of the encoding in the record.
const ENCODING: &str = "hdrhistogram-v2-base64";

/// The largest text that is accepted as a histogram, in bytes; a real one has a few kilobytes.
const MOST_TEXT: usize = 4 << 20;

/// The first bytes of an unpacked V2 histogram.
const V2_COOKIE: u32 = 0x1c84_9303 | 0x10;

/// Length of the header of an unpacked V2 histogram, in bytes.
const HEADER: usize = 40;

/// The largest number of significant digits. Three digits take half a megabyte at most, five
/// digits take a hundred times as much.
const MOST_DIGITS: u32 = 3;

/// The highest value that a histogram may hold: no latency takes 36 years.
const MOST_VALUE: u64 = 1 << 60;

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
        // Writing to memory fails only beyond the limits of V2, and bounded histograms stay
        // within them.
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
    /// If the text has another encoding, is damaged, or is absurdly large.
    pub fn to_histogram(&self) -> Result<Histogram<u64>, LatencyError> {
        if self.encoding != ENCODING || self.unit != "ns" {
            return Err(LatencyError::Encoding(format!("{} in {}", self.encoding, self.unit)));
        }
        let damaged = |error: &dyn std::fmt::Display| LatencyError::Damaged(error.to_string());
        if self.data.len() > MOST_TEXT {
            return Err(damaged(&"it is too large"));
        }
        let bytes = STANDARD.decode(&self.data).map_err(|e| damaged(&e))?;
        bounded(&bytes).map_err(|why| LatencyError::Damaged(why.to_owned()))?;
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| damaged(&e))?;
        if histogram.len() == self.count {
            Ok(histogram)
        } else {
            Err(damaged(&format!("it holds {} values, not {}", histogram.len(), self.count)))
        }
    }
}

/// Checks the size that an encoded histogram claims, before any memory is allocated for it.
///
/// The V2 header has a cookie, the length of the counts, an offset and the significant digits (32
/// bits each). Then follow the lowest and the highest value that it can hold and a ratio (64 bits
/// each). The packed form, which has another cookie, is refused, because its unpacked size is not
/// known in advance.
fn bounded(bytes: &[u8]) -> Result<(), &'static str> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let header = (|| Some((word(0)?, word(4)?, word(12)?, long(16)?, long(24)?)))();
    let (cookie, length, digits, low, high) = header.ok_or("it ends in its header")?;
    if cookie != V2_COOKIE {
        return Err("it is not of HdrHistogram V2, unpacked");
    }
    if bytes.len().checked_sub(HEADER) != usize::try_from(length).ok() {
        return Err("its length is not that of its counts");
    }
    if digits > MOST_DIGITS || low == 0 || high < low.saturating_mul(2) || high > MOST_VALUE {
        return Err("its digits or its limits are absurd");
    }
    Ok(())
}

/// A share of the operations, and the latency that these operations reached or exceeded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exceeded {
    /// Share of the operations, between 0 and 1.
    pub share: f64,
    /// Latency that this share reached or exceeded, in nanoseconds.
    pub at_least_ns: u64,
}

/// Shares at which the curve is read in each power of ten, densest where tails bend.
const STEPS: [f64; 4] = [1.0, 0.5, 0.25, 0.15];

/// The tail of several distributions taken together. It goes from half of the operations down to
/// a single operation, in even steps of a logarithmic axis.
///
/// # Errors
/// If one of the distributions could not be read. Without distributions the curve is empty.
pub fn tail<'a>(
    latencies: impl Iterator<Item = &'a Latency>,
) -> Result<(u64, Vec<Exceeded>), LatencyError> {
    let mut pool: Option<Histogram<u64>> = None;
    for latency in latencies {
        let histogram = latency.to_histogram()?;
        match &mut pool {
            None => pool = Some(histogram),
            Some(pool) => {
                // Histograms with other limits make the pool grow.
                pool.auto(true);
                pool.add(&histogram).map_err(|error| LatencyError::Damaged(error.to_string()))?;
            }
        }
    }
    let Some(pool) = pool.filter(|pool| !pool.is_empty()) else { return Ok((0, Vec::new())) };
    Ok((pool.len(), curve(&pool)))
}

fn curve(histogram: &Histogram<u64>) -> Vec<Exceeded> {
    let least = 1.0 / histogram.len() as f64;
    let decades = (0..20).map(|power| 10f64.powi(-power));
    let shares = decades.flat_map(|decade| STEPS.map(|step| step * decade));
    let mut shares: Vec<f64> = shares.filter(|share| *share > least && *share <= 0.5).collect();
    shares.push(least.min(0.5));
    let read = |share: f64| Exceeded {
        share,
        at_least_ns: histogram.value_at_quantile(1.0 - share).min(histogram.max()),
    };
    let mut curve: Vec<Exceeded> = shares.into_iter().map(read).collect();
    if let Some(last) = curve.last_mut() {
        last.at_least_ns = histogram.max();
    }
    curve
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
    fn what_a_histogram_says_of_its_size_is_checked_before_it_is_believed() {
        let latency = Latency::from_histogram(&histogram(&[1, 2, 3]));
        let bytes = STANDARD.decode(&latency.data).unwrap();
        let forged = |at: usize, with: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[at..at + with.len()].copy_from_slice(with);
            let latency = Latency { data: STANDARD.encode(bytes), ..latency.clone() };
            latency.to_histogram().unwrap_err().to_string()
        };
        assert!(forged(4, &u32::MAX.to_be_bytes()).contains("length"));
        assert!(forged(0, &0x1c84_9314u32.to_be_bytes()).contains("unpacked"));
        assert!(forged(12, &5u32.to_be_bytes()).contains("absurd"));
        assert!(forged(24, &u64::MAX.to_be_bytes()).contains("absurd"));
        assert!(forged(16, &0u64.to_be_bytes()).contains("absurd"));
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

    #[test]
    fn the_tail_of_several_ends_at_the_largest_of_all() {
        let all: Vec<Latency> = [&[1_000; 90][..], &[2_000_000; 10]]
            .map(|v| Latency::from_histogram(&histogram(v)))
            .into();
        let (count, curve) = tail(all.iter()).unwrap();
        assert_eq!(count, 100);
        let first = curve[0];
        assert!(first.share == 0.5 && (999..1_010).contains(&first.at_least_ns), "{first:?}");
        let last = curve[curve.len() - 1];
        assert_eq!(last.share, 0.01);
        assert!((2_000_000..2_002_000).contains(&last.at_least_ns), "{last:?}");
        assert_eq!(tail([].into_iter()).unwrap(), (0, Vec::new()));
        let damaged = Latency { count: 7, ..all[0].clone() };
        assert!(tail([&damaged].into_iter()).is_err());
    }

    proptest! {
        #[test]
        fn a_tail_falls_in_share_and_rises_in_latency(values in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let (_, curve) = tail([&Latency::from_histogram(&histogram(&values))].into_iter()).unwrap();
            prop_assert!(!curve.is_empty());
            prop_assert!(curve.windows(2).all(|w| w[0].share > w[1].share));
            prop_assert!(curve.windows(2).all(|w| w[0].at_least_ns <= w[1].at_least_ns));
        }

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
