//! Entry points for the fuzzer: functions that parse any bytes as data of a node or its process.

use crate::node::Hello;
use crate::wire::{Frames, Incoming};
use std::path::Path;

/// Number of bytes that arrive at a time.
const AT_A_TIME: usize = 61;

/// Parses bytes as data of a node: frames, the messages in them, a hello, and the numbers of
/// results.
pub fn node(bytes: &[u8]) {
    // Once as one message, and once as a stream of them.
    message(bytes);
    let mut frames = Frames::default();
    for part in bytes.chunks(AT_A_TIME) {
        frames.push(part);
        loop {
            match frames.next() {
                Ok(Some(frame)) => message(&frame),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

/// Parses the files of a thread below `task`, the folder that lists the threads.
pub fn threads(task: &Path) {
    crate::threads::fuzz(task);
}

/// Parses the line by which an OTP identifies itself, and the fields of `/proc/PID/stat`.
pub fn texts(bytes: &[u8]) {
    crate::otp::fuzz(&String::from_utf8_lossy(bytes));
    let _ = os::stat::Stat::parse(bytes).map(|stat| (stat.parent(), stat.code()));
}

fn message(frame: &[u8]) {
    match Incoming::parse(frame) {
        Ok(Incoming::Hello(term)) => drop(Hello::read(&term)),
        Ok(Incoming::Result(_, term) | Incoming::Event(_, term)) => {
            let _ = crate::term::field(&term, "rows", |rows| {
                crate::term::each(rows, crate::term::as_f64)
            });
        }
        Ok(Incoming::Failed(..) | Incoming::Printed(_)) | Err(_) => {}
    }
}
