//! Frames that a guest sends over its second serial port, with a length and a checksum.
//!
//! A frame consists of `TB`, one byte for its kind, the length of the payload, the CRC-32 of the
//! payload (both 32 bits, little-endian), and the payload.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

const MAGIC: [u8; 2] = *b"TB";
const HEADER: usize = 11;

/// The longest payload that is accepted, in bytes. A compressed record of many trials is far
/// smaller.
pub const MOST_PAYLOAD: usize = 32 << 20;

/// The largest size of an unpacked payload, in bytes: the largest record that can be read. A guest
/// cuts its standard output there.
pub const MOST_UNPACKED: u64 = 64 << 20;

/// The only byte that the host sends to a guest, over the same port. The guest then ends its
/// command with SIGINT, and sends the results so far.
pub const END: u8 = b'E';

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// The guest is up: [`crate::Hello`] as JSON.
    Hello = 1,
    /// The guest is alive.
    Heartbeat = 2,
    /// A line that the command wrote to standard error.
    Line = 3,
    /// The standard output of the command, compressed.
    Output = 4,
    /// The record of the command, compressed.
    Record = 5,
    /// The exit code of the command, one byte. This is the last frame.
    Exit = 6,
    /// A sentence about something that the guest's init could not do.
    Warning = 7,
    /// An event of the command's study, as JSON. Only the command at the other end interprets it.
    Event = 8,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<Self> {
        use FrameKind as K;
        [K::Hello, K::Heartbeat, K::Line, K::Output, K::Record, K::Exit, K::Warning, K::Event]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: FrameKind,
    /// Its content.
    pub payload: Vec<u8>,
}

/// Encodes a frame.
pub fn encode(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.push(kind as u8);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Compresses text for a frame.
pub fn pack(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// Unpacks the text of a frame, up to [`MOST_UNPACKED`] bytes.
///
/// # Errors
/// If it is damaged, too long, or not text.
pub fn unpack(payload: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    let read = GzDecoder::new(payload).take(MOST_UNPACKED + 1).read_to_string(&mut text);
    match read {
        Ok(count) if count as u64 <= MOST_UNPACKED => Ok(text),
        Ok(_) => Err(format!("more than {MOST_UNPACKED} bytes")),
        Err(error) => Err(error.to_string()),
    }
}

/// Extracts frames from incoming bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Received bytes. Those before `taken` were already returned as frames.
    pending: Vec<u8>,
    taken: usize,
}

impl Decoder {
    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        // Here and not for each frame, since a flood of small frames has hundreds of thousands of
        // them.
        self.pending.drain(..self.taken);
        self.taken = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete frame. None until more bytes arrive.
    ///
    /// # Errors
    /// If the bytes are not a frame. Then no later bytes can be read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, String> {
        let pending = self.pending.get(self.taken..).unwrap_or_default();
        let start = &pending[..pending.len().min(2)];
        if !MAGIC.starts_with(start) {
            return Err(format!("the guest's data begins with {start:?} instead of a frame"));
        }
        let Some(header) = pending.get(..HEADER) else { return Ok(None) };
        let kind = FrameKind::from_byte(header[2])
            .ok_or_else(|| format!("frame kind {} is unknown", header[2]))?;
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (length, checksum) = (word(3) as usize, word(7));
        if length > MOST_PAYLOAD {
            return Err(format!("a frame of {length} bytes; the limit is {MOST_PAYLOAD}"));
        }
        let Some(payload) = pending.get(HEADER..HEADER + length) else { return Ok(None) };
        let payload = payload.to_vec();
        self.taken += HEADER + length;
        match crc32fast::hash(&payload) == checksum {
            true => Ok(Some(Frame { kind, payload })),
            false => Err(format!("the checksum of a frame ({kind:?}) is wrong")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nonsense_is_refused() {
        for bytes in
            [&b"xx"[..], b"TX", b"TB\x63\0\0\0\0\0\0\0\0", b"TB\x01\xff\xff\xff\xff\0\0\0\0"]
        {
            let mut decoder = Decoder::default();
            decoder.feed(bytes);
            assert!(decoder.next_frame().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_bit_that_fell_over_is_noticed() {
        let mut bytes = encode(FrameKind::Line, b"block 1");
        bytes[HEADER + 2] ^= 4;
        let mut decoder = Decoder::default();
        decoder.feed(&bytes);
        assert!(decoder.next_frame().is_err());
    }

    #[test]
    fn taking_a_frame_moves_nothing_of_what_follows() {
        let mut decoder = Decoder::default();
        decoder.feed(&encode(FrameKind::Heartbeat, b"").repeat(1000));
        let before = (decoder.pending.as_ptr(), decoder.pending.len());
        for _ in 0..1000 {
            assert!(decoder.next_frame().unwrap().is_some());
            assert_eq!((decoder.pending.as_ptr(), decoder.pending.len()), before);
        }
        assert_eq!(decoder.next_frame(), Ok(None));
        decoder.feed(b"T");
        assert_eq!(decoder.pending, b"T");
    }

    #[test]
    fn text_is_packed_and_unpacked() {
        let text = "record ".repeat(1000);
        let packed = pack(text.as_bytes());
        assert!(packed.len() < text.len() / 4);
        assert_eq!(unpack(&packed).unwrap(), text);
        assert!(unpack(&packed[..packed.len() / 2]).is_err());
        assert!(unpack(&pack(&[0xff, 0xfe])).is_err());
    }

    proptest! {
        #[test]
        fn frames_come_whole_however_they_are_cut(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..8),
            cut in 1usize..40,
        ) {
            let bytes: Vec<u8> = payloads.iter().flat_map(|p| encode(FrameKind::Line, p)).collect();
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for chunk in bytes.chunks(cut) {
                decoder.feed(chunk);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    found.push(frame.payload);
                }
            }
            prop_assert_eq!(found, payloads);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            decoder.feed(&bytes);
            while let Ok(Some(_)) = decoder.next_frame() {}
            let _ = unpack(&bytes);
        }
    }
}
