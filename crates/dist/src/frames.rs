//! Messages on a connection: a length of four bytes, and as many bytes.

use std::io::{self, Read, Write};

/// The largest message of a node that is taken, in bytes: the numbers of a million processes and
/// more.
pub const MOST: usize = 64 << 20;

/// What stands before each message that is no tick.
const PASS_THROUGH: u8 = 112;

/// Read at a time.
const CHUNK: u64 = 64 << 10;

/// What has come so far; a wait that ends in the middle of a message loses nothing.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
}

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// Nothing but a sign of life.
    Tick,
    /// Terms, one behind the other.
    Terms(Vec<u8>),
}

impl Frames {
    /// The next message; waits as long as a read of the stream does.
    ///
    /// # Errors
    /// If nothing comes in time, the connection has ended, or a message is larger than what is
    /// taken.
    pub fn next(&mut self, stream: &mut impl Read) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            let before = self.bytes.len();
            let read = stream.by_ref().take(CHUNK);
            read_some(read, &mut self.bytes)?;
            if self.bytes.len() == before {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<Frame>> {
        let Some((length, rest)) = self.bytes.split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        let wrong = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if length > MOST {
            return wrong("a message that is too long");
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = match rest[..length].split_first() {
            None => Frame::Tick,
            Some((&PASS_THROUGH, terms)) => Frame::Terms(terms.to_vec()),
            Some(_) => return wrong("a message of an unknown kind"),
        };
        self.bytes.drain(..4 + length);
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        Ok(Some(frame))
    }
}

/// One read, and no more: it takes what there is.
fn read_some(mut stream: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK as usize];
    let count = loop {
        match stream.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => break done?,
        }
    };
    bytes.extend(&chunk[..count]);
    Ok(())
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

/// Gives a sign of life.
///
/// # Errors
/// If the connection does not take it in time.
pub fn tick(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(&[0; 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_lengths_are_bounded() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![131, 106], vec![131, 97, 1]]).unwrap();
        tick(&mut bytes).unwrap();
        let mut frames = Frames::default();
        let mut stream = &bytes[..];
        assert_eq!(frames.next(&mut stream).unwrap(), Frame::Terms(vec![131, 106, 131, 97, 1]));
        assert_eq!(frames.next(&mut stream).unwrap(), Frame::Tick);
        for wrong in [&[255, 255, 255, 255, 112][..], &[0, 0, 0, 9, 112], &[0, 0, 0, 1, 68], &[0]] {
            assert!(Frames::default().next(&mut &wrong[..]).is_err());
        }
    }

    #[test]
    fn a_wait_that_ends_in_the_middle_loses_nothing() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[vec![131, 106]]).unwrap();
        let (first, second) = bytes.split_at(6);
        let mut frames = Frames::default();
        assert!(frames.next(&mut &first[..]).is_err());
        assert_eq!(frames.next(&mut &second[..]).unwrap(), Frame::Terms(vec![131, 106]));
    }
}
