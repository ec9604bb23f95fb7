//! Unpacks gzip data within limits: the content may be a thousand times as large as the file.

use flate2::read::MultiGzDecoder;
use model::record::MOST_TEXT;
use std::io::{Error, ErrorKind, Read, Result};

/// Bytes that any stream may unpack to, however short it is: one record.
const ALWAYS: u64 = MOST_TEXT as u64;

/// Unpacked bytes that are allowed per compressed byte beyond that. Records of a fleet are
/// compressed to a fifteenth.
const LARGEST_RATIO: u64 = 100;

/// The largest unpacked size of one stream, in bytes.
const MOST: u64 = 64 << 30;

/// A source that counts the bytes that were read from it.
struct Counted<R> {
    source: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let more = self.source.read(bytes)?;
        self.read += more as u64;
        Ok(more)
    }
}

/// The content of a compressed stream; too much content is an error.
pub(super) struct Unpacked<R> {
    packed: MultiGzDecoder<Counted<R>>,
    given: u64,
}

impl<R: Read> Unpacked<R> {
    pub(super) fn new(source: R) -> Self {
        Unpacked { packed: MultiGzDecoder::new(Counted { source, read: 0 }), given: 0 }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let packed = self.packed.get_ref().read;
        if self.given > ALWAYS.saturating_add(packed.saturating_mul(LARGEST_RATIO)).min(MOST) {
            return Err(Error::from(ErrorKind::FileTooLarge));
        }
        let more = self.packed.read(bytes)?;
        self.given += more as u64;
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn unpacked(bytes: usize) -> Result<u64> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let mebibyte = vec![b'x'; 1 << 20];
        (0..bytes >> 20).for_each(|_| packer.write_all(&mebibyte).unwrap());
        let packed = packer.finish().unwrap();
        std::io::copy(&mut Unpacked::new(packed.as_slice()), &mut std::io::sink())
    }

    #[test]
    fn what_grows_without_measure_ends() {
        assert_eq!(unpacked(MOST_TEXT).unwrap(), MOST_TEXT as u64);
        assert_eq!(unpacked(3 * MOST_TEXT).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
