//! Text in memory, up to a limit.

use std::io::{ErrorKind, Result, Write};

/// Takes bytes up to a limit. More bytes are an error.
#[derive(Debug)]
pub(crate) struct Limited {
    bytes: Vec<u8>,
    most: usize,
}

impl Limited {
    /// Takes at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Limited { bytes: Vec::new(), most }
    }

    /// The bytes as text; None if they are none.
    pub fn into_text(self) -> Option<String> {
        String::from_utf8(self.bytes).ok()
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.bytes.len()) {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_an_error() {
        let mut limited = Limited::new(5);
        assert!(limited.write_all(b"123").is_ok() && limited.write_all(b"456").is_err());
        assert!(limited.write_all(b"45").is_ok());
        assert_eq!(limited.into_text().as_deref(), Some("12345"));
    }
}
