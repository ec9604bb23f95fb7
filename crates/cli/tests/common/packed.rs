//! Golden records in compressed files: they are large, and nobody reads them.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The golden record with this name, as this version writes it.
pub fn golden(name: &str) -> PathBuf {
    file("golden", name)
}

/// The record with this name, in version 1 of the schema.
pub fn of_version_1(name: &str) -> PathBuf {
    file("v1", name)
}

fn file(folder: &str, name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join(folder).join(format!("{name}.record.json.gz"))
}

/// The content of a compressed file.
pub fn read(path: &Path) -> String {
    let packed = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    text
}

/// Writes a text to a compressed file.
pub fn write(path: &Path, text: &str) {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text.as_bytes()).unwrap();
    std::fs::write(path, packer.finish().unwrap()).unwrap();
}
