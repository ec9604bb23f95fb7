//! Records for unit tests: the golden records, unpacked.

use flate2::read::GzDecoder;
use model::{Facts, Judged};
use std::io::Read;

/// A record of an affected machine.
pub fn affected_record() -> Judged {
    let packed = include_bytes!("../tests/golden/mmap-lock.record.json.gz");
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    scenarios::judged(Facts::from_json(&text).unwrap())
}
