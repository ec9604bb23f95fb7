//! Reads files that the command line names.

use std::io::Read;
use std::path::Path;

/// The text of a file, or of standard input for `-`; at most `most` bytes.
///
/// # Errors
/// If it cannot be read, is not text, or is longer.
pub fn read_text(path: &Path, most: u64) -> std::io::Result<String> {
    match path.to_str() {
        Some("-") => read(std::io::stdin(), most),
        _ => read(std::fs::File::open(path)?, most),
    }
}

/// The text of a regular file that the user did not name, such as a file of a folder; at most
/// `most` bytes. Another user may put a pipe in its place, so this waits for no writer.
///
/// # Errors
/// If it is not a regular file, cannot be read, is not text, or is longer.
pub fn read_regular(path: &Path, most: u64) -> std::io::Result<String> {
    read(os::file::open_regular(path)?, most)
}

fn read(source: impl Read, most: u64) -> std::io::Result<String> {
    let mut text = String::new();
    if source.take(most + 1).read_to_string(&mut text)? as u64 > most {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}
