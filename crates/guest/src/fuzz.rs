//! Entry points for the fuzzer: the parsers of data from guests and packages, for any bytes.

use crate::Hello;
use crate::console::Console;
use crate::frame::{Decoder, FrameKind, unpack};
use crate::guest::answer;
use crate::kernel::{image, package};
use crate::libraries;
use std::path::Path;

/// Number of bytes that arrive at a time.
const AT_A_TIME: usize = 97;

/// Data from a guest's port.
pub fn port(bytes: &[u8]) {
    let mut decoder = Decoder::default();
    for part in bytes.chunks(AT_A_TIME) {
        decoder.feed(part);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) if frame.kind == FrameKind::Hello => {
                    let _ = serde_json::from_slice::<Hello>(&frame.payload);
                }
                Ok(Some(frame)) => drop(unpack(&frame.payload)),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

/// Output on a guest's console.
pub fn console(bytes: &[u8]) {
    let mut console = Console::default();
    bytes.chunks(AT_A_TIME).for_each(|part| console.feed(part));
    assert!(console.tail(usize::MAX).iter().all(|line| !line.contains('\u{1b}')));
    let _ = (console.panic(), console.booting());
}

/// Answers of QEMU.
pub fn qmp(line: &[u8]) {
    let _ = answer(line);
}

/// A program whose libraries are packed, and the output of the loader about it.
pub fn program(start: &[u8]) {
    let _ = libraries::interpreter(start);
    let _ = String::from_utf8_lossy(start).lines().filter_map(libraries::library).count();
}

/// The start of a file that may be a kernel.
pub fn kernel_image(start: &[u8]) {
    let _ = (image::sort(start), image::unpacked(start.to_vec()));
}

/// The archive in a package, which is unpacked into this folder.
pub fn package(archive: &[u8], folder: &Path) {
    let _ = package::take_members(archive, Path::new("fuzz.deb"), folder, &|| false);
}
