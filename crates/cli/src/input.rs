//! Reads files that the command line names.

use std::io::Read;
use std::path::Path;

/// The text of a file, or of standard input for `-`; at most `most` bytes.
///
/// # Errors
/// If it cannot be read, is not text, or is longer.
pub fn read_text(path: &Path, most: u64) -> std::io::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path)?),
    };
    if source.take(most + 1).read_to_string(&mut text)? as u64 > most {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}
