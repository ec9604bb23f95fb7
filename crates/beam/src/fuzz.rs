//! For the fuzzer: what is read of a node, behind a function that takes any bytes.

use crate::node::Hello;
use crate::wire::{Frames, Incoming};

/// How many bytes come at a time.
const AT_A_TIME: usize = 61;

/// Reads bytes as those of a node: frames, the messages in them, a hello, and the numbers of results.
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
