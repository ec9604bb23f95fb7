//! Messages on a connection: a length of four bytes, then that many bytes.

use crate::budget::{Budget, Full, Share};
use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

/// The largest message of a node that is accepted, in bytes: room for the numbers of a million
/// processes. The terms made of a message also count towards [`beam::wire::MOST_MEMORY`].
pub const MOST: usize = 48 << 20;

/// The first byte of each message that is not a tick.
const PASS_THROUGH: u8 = 112;

/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// The bytes received so far. A wait that ends in the middle of a message loses nothing.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    /// How many of these bytes were given out already.
    given: usize,
    /// How many bytes of the first message have not come yet, as far as its length has come.
    missing: usize,
    /// The buffer of a read.
    chunk: Vec<u8>,
    /// The memory of these bytes, of the message that was given out last and of its terms.
    share: Share,
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
    /// No bytes yet; those that come count towards this budget.
    pub fn new(budget: &Budget) -> Self {
        let (bytes, chunk) = (Vec::new(), Vec::new());
        Frames { bytes, given: 0, missing: 0, chunk, share: budget.share() }
    }

    /// The next message. Waits until this moment, plus the time of one read of the stream. The
    /// previous message no longer counts towards the budget.
    ///
    /// # Errors
    /// If no whole message has come by then, the connection has ended, the budget is used up, or a
    /// message is too large or of an unknown kind.
    pub fn next(&mut self, stream: &mut impl Read, until: Instant) -> io::Result<Frame> {
        self.share.set(self.bytes.capacity()).map_err(too_much)?;
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

    /// Counts this many bytes towards the budget for the message that was given out last and for
    /// its terms, until the next message is waited for.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn hold(&mut self, bytes: usize) -> Result<(), Full> {
        self.share.set(self.bytes.capacity().saturating_add(bytes))
    }

    fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        self.missing = 0;
        let Some((length, rest)) = self.bytes[self.given..].split_first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        let wrong = |why: String| Err(io::Error::new(ErrorKind::InvalidData, why));
        if length > MOST {
            let (length, most) = (length >> 20, MOST >> 20);
            return wrong(format!("a message of {length} MiB; the limit is {most} MiB"));
        }
        if rest.len() < length {
            self.missing = length - rest.len();
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

    /// Takes out a message of this length, without its first byte. A long one is not copied, and
    /// still counts towards the budget.
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
        self.make_room(count)?;
        self.bytes.extend(&self.chunk[..count]);
        Ok(count)
    }

    /// Makes room for bytes that have come. The buffer doubles at most, so that a node that only
    /// announces a long message gets no memory. Nor does it grow beyond that message.
    fn make_room(&mut self, count: usize) -> io::Result<()> {
        let length = self.bytes.len();
        if self.bytes.capacity() - length >= count {
            return Ok(());
        }
        let more = length.min(self.missing).max(count);
        self.share.set(length + more).map_err(too_much)?;
        self.bytes.reserve_exact(more);
        Ok(())
    }
}

/// The error for a budget that is used up.
fn too_much(full: Full) -> io::Error {
    io::Error::new(ErrorKind::OutOfMemory, full)
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

    fn empty() -> Frames {
        Frames::new(&Budget::new(2 * MOST))
    }

    #[test]
    fn what_is_written_is_read_and_lengths_are_bounded() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![131, 106], vec![131, 97, 1]]).unwrap();
        tick(&mut bytes).unwrap();
        let mut frames = empty();
        let mut stream = &bytes[..];
        let mut next = || frames.next(&mut stream, later()).unwrap();
        assert_eq!(next(), Frame::Terms(vec![131, 106, 131, 97, 1]));
        assert_eq!(next(), Frame::Tick);
        for wrong in [&[255, 255, 255, 255, 112][..], &[0, 0, 0, 9, 112], &[0, 0, 0, 1, 68], &[0]] {
            assert!(empty().next(&mut &wrong[..], later()).is_err());
        }
        let long = u32::try_from(MOST + 1).unwrap().to_be_bytes();
        let error = empty().next(&mut &long[..], later()).unwrap_err();
        assert_eq!(error.to_string(), "a message of 48 MiB; the limit is 48 MiB");
    }

    #[test]
    fn a_wait_that_ends_in_the_middle_loses_nothing() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![131, 106]]).unwrap();
        let (first, second) = bytes.split_at(6);
        let mut frames = empty();
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
        let mut frames = empty();
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
        let (mut frames, mut stream) = (empty(), &bytes[..]);
        let mut next = || frames.next(&mut stream, later()).unwrap();
        assert_eq!((next(), next()), (Frame::Tick, Frame::Terms(long)));
        assert_eq!(next(), Frame::Terms(vec![131, 106]));
        assert!(frames.bytes.capacity() <= 2 * CHUNK);
    }

    #[test]
    fn a_length_alone_takes_no_memory() {
        let head = u32::try_from(MOST).unwrap().to_be_bytes();
        let bytes = [&head[..], &[112; 100]].concat();
        let mut frames = empty();
        assert!(frames.next(&mut &bytes[..], later()).is_err(), "the stream has ended");
        assert_eq!(frames.bytes.len(), bytes.len());
        assert!(frames.bytes.capacity() <= CHUNK, "{}", frames.bytes.capacity());
    }

    #[test]
    fn the_buffer_of_a_long_message_grows_to_its_length_and_no_further() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![7; 40 * CHUNK]]).unwrap();
        let mut frames = empty();
        assert!(frames.next(&mut &bytes[..9 * CHUNK], later()).is_err());
        assert!(frames.bytes.capacity() <= 18 * CHUNK, "{}", frames.bytes.capacity());
        assert!(frames.next(&mut &bytes[9 * CHUNK..40 * CHUNK], later()).is_err());
        assert!(frames.bytes.capacity() <= bytes.len() + CHUNK, "{}", frames.bytes.capacity());
        let next = frames.next(&mut &bytes[40 * CHUNK..], later()).unwrap();
        assert_eq!(next, Frame::Terms(vec![7; 40 * CHUNK]));
    }

    #[test]
    fn all_nodes_together_have_one_budget() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![7; 10 * CHUNK]]).unwrap();
        let budget = Budget::new(1 << 20);
        let mut both = [Frames::new(&budget), Frames::new(&budget)];
        let [one, other] = &mut both;
        assert!(one.next(&mut &bytes[..], later()).is_ok());
        // The message was given out, and may still be used.
        let error = other.next(&mut &bytes[..], later()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(one.next(&mut &b""[..], later()).is_err(), "the stream has ended");
        one.hold(1 << 19).unwrap();
        assert!(one.hold(1 << 20).is_err());
        let mut third = Frames::new(&budget);
        drop(both);
        assert!(third.next(&mut &bytes[..], later()).is_ok());
    }
}
