//! Messages on a connection: a length of four bytes, then that many bytes.

use std::io::{self, Read, Write};
use std::time::Instant;

/// The largest message of a node that is accepted, in bytes: room for the numbers of a million
/// processes. The terms made of a message also count towards [`beam::wire::MOST_MEMORY`].
pub const MOST: usize = 48 << 20;

/// The first byte of each message that is not a tick.
const PASS_THROUGH: u8 = 112;

/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// The bytes received so far. A wait that ends in the middle of a message loses nothing.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// How many of these bytes were given out already.
    given: usize,
    /// The buffer of a read.
    chunk: Vec<u8>,
}

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A sign of life without content.
    Tick,
    /// Terms, one after the other.
    Terms(Vec<u8>),
}

impl Frames {
    /// The next message. Waits until this moment, plus the time of one read of the stream.
    ///
    /// # Errors
    /// If no whole message has come by then, the connection has ended, or a message is too large
    /// or of an unknown kind.
    pub fn next(&mut self, stream: &mut impl Read, until: Instant) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.next_frame()? {
                return Ok(frame);
            }
            if self.read(stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if Instant::now() >= until {
                return self.next_frame()?.ok_or_else(|| io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let Some((length, rest)) = self.bytes[self.given..].split_first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if length > MOST {
            let (length, most) = (length >> 20, MOST >> 20);
            return wrong(format!("a message of {length} MiB; the limit is {most} MiB"));
        }
        if rest.len() < length {
            // Exact, so that the buffer does not grow to twice the needed size.
            self.bytes.reserve_exact(length - rest.len());
            return Ok(None);
        }
        match rest[..length].first() {
            None => {
                self.given += 4;
                Ok(Some(Frame::Tick))
            }
            Some(&PASS_THROUGH) => Ok(Some(Frame::Terms(self.terms(length)))),
            Some(_) => wrong("a message of an unknown kind".to_owned()),
        }
    }

    /// Takes out a message of this length, without its first byte. A long one is not copied.
    fn terms(&mut self, length: usize) -> Vec<u8> {
        let (from, to) = (self.given + 5, self.given + 4 + length);
        if length <= CHUNK {
            self.given = to;
            return self.bytes[from..to].to_vec();
        }
        let behind = self.bytes.split_off(to);
        let mut terms = std::mem::replace(&mut self.bytes, behind);
        self.given = 0;
        terms.drain(..from);
        terms
    }

    /// Reads once, and takes what there is.
    fn read(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        // Bytes that were given out are dropped only here, so that many small messages cost one
        // move.
        self.bytes.drain(..self.given);
        self.given = 0;
        self.chunk.resize(CHUNK, 0);
        let count = loop {
            match stream.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        self.bytes.extend(&self.chunk[..count]);
        Ok(count)
    }
}

/// Writes a message of several terms.
///
/// # Errors
/// If the connection does not take it in time.
pub fn write(stream: &mut impl Write, terms: &[Vec<u8>]) -> io::Result<()> {
    let length = terms.iter().map(Vec::len).sum::<usize>() + 1;
    let length = u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.push(PASS_THROUGH);
    terms.iter().for_each(|term| bytes.extend(term));
    stream.write_all(&bytes)
}

/// Sends a sign of life.
///
/// # Errors
/// If the connection does not take it in time.
pub fn tick(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(&[0; 4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn what_is_written_is_read_and_lengths_are_bounded() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![131, 106], vec![131, 97, 1]]).unwrap();
        tick(&mut bytes).unwrap();
        let mut frames = Frames::default();
        let mut stream = &bytes[..];
        let mut next = || frames.next(&mut stream, later()).unwrap();
        assert_eq!(next(), Frame::Terms(vec![131, 106, 131, 97, 1]));
        assert_eq!(next(), Frame::Tick);
        for wrong in [&[255, 255, 255, 255, 112][..], &[0, 0, 0, 9, 112], &[0, 0, 0, 1, 68], &[0]] {
            assert!(Frames::default().next(&mut &wrong[..], later()).is_err());
        }
        let long = u32::try_from(MOST + 1).unwrap().to_be_bytes();
        let error = Frames::default().next(&mut &long[..], later()).unwrap_err();
        assert_eq!(error.to_string(), "a message of 48 MiB; the limit is 48 MiB");
    }

    #[test]
    fn a_wait_that_ends_in_the_middle_loses_nothing() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![131, 106]]).unwrap();
        let (first, second) = bytes.split_at(6);
        let mut frames = Frames::default();
        assert!(frames.next(&mut &first[..], later()).is_err());
        let next = frames.next(&mut &second[..], later()).unwrap();
        assert_eq!(next, Frame::Terms(vec![131, 106]));
    }

    /// Gives one byte at a time, for ever.
    struct Drip(Vec<u8>);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_millis(1));
            buffer[0] = if self.0.is_empty() { 0 } else { self.0.remove(0) };
            Ok(1)
        }
    }

    #[test]
    fn a_message_that_comes_byte_by_byte_is_waited_for_no_longer() {
        let mut drip = Drip(vec![0, 1, 0, 0, 112]);
        let mut frames = Frames::default();
        let until = Instant::now() + Duration::from_millis(30);
        let error = frames.next(&mut drip, until).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn long_messages_and_what_is_behind_them_are_taken_apart() {
        let long = vec![7; 3 * CHUNK];
        let mut bytes = Vec::new();
        tick(&mut bytes).unwrap();
        write(&mut bytes, std::slice::from_ref(&long)).unwrap();
        write(&mut bytes, &[vec![131, 106]]).unwrap();
        let (mut frames, mut stream) = (Frames::default(), &bytes[..]);
        let mut next = || frames.next(&mut stream, later()).unwrap();
        assert_eq!((next(), next()), (Frame::Tick, Frame::Terms(long)));
        assert_eq!(next(), Frame::Terms(vec![131, 106]));
        assert!(frames.bytes.capacity() <= 2 * CHUNK);
    }
}
