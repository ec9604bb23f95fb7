//! For the fuzzer: takes any bytes as the answers of a node.

use crate::budget::Budget;
use crate::client::{self, Message};
use crate::frames::{self, Frame, Frames};
use crate::mailboxes::Pass;
use crate::{hello, links, micro, receives, view};
use beam::{Pid, Term, wire};
use std::time::{Duration, Instant};

/// Nothing is waited for: all bytes are there already.
const LATER: Duration = Duration::from_secs(60);

/// Takes the bytes of a connection, and each message as the answer to every question.
pub fn connection(mut bytes: &[u8]) {
    let _ = hello::announced(bytes);
    let mut frames = Frames::new(&Budget::new(2 * frames::MOST));
    while let Ok(frame) = frames.next(&mut bytes, Instant::now() + LATER) {
        let Frame::Terms(terms) = frame else { continue };
        if let Ok(Message::Exited(_, Some(bytes))) = client::read(terms) {
            answer(&bytes);
        }
    }
}

fn answer(bytes: &[u8]) {
    let pid = Pid::new("a@b", 1, 0, 1);
    if let Some(mut pass) = Pass::begin(bytes) {
        while pass.next().is_some() {}
    }
    let Some(answer) = wire::decode_inner(bytes).ok() else { return };
    let _ = view::read(&answer);
    let _ = view::memory(&answer);
    let _ = view::read_label(&answer);
    let _ = view::read_began(&answer);
    let _ = view::mailbox(&pid, &answer);
    let _ = micro::read(&answer);
    let _ = receives::read(&answer);
    let found = links::read(&answer, "a@b");
    let _ = links::queues(&found, &answer);
    slice(&pid, &answer);
}

fn slice(pid: &Pid, answer: &Term) {
    Pass::default().add(std::slice::from_ref(pid), answer);
}
