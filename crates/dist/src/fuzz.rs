//! For the fuzzer: what a node answers, behind a function that takes any bytes.

use crate::client::Client;
use crate::frames::{Frame, Frames};
use crate::mailboxes::Pass;
use crate::{calls, hello, links, micro, receives, view};
use beam::{Pid, Term, wire};
use std::time::{Duration, Instant};

/// The number of the question that an answer has to be to.
const NUMBER: i32 = 1;

/// No message is waited for: all bytes are there.
const LATER: Duration = Duration::from_secs(60);

/// What comes over a connection, as the answer to each question.
pub fn connection(mut bytes: &[u8]) {
    let _ = hello::announced(bytes);
    let mut frames = Frames::default();
    while let Ok(frame) = frames.next(&mut bytes, Instant::now() + LATER) {
        let Frame::Terms(terms) = frame else { continue };
        if let Ok(Some(bytes)) = Client::answer(terms, NUMBER) {
            answer(&bytes);
        }
    }
}

fn answer(bytes: &[u8]) {
    let pid = Pid::new("a@b", 1, 0, 1);
    if let Some(mut pass) = Pass::begin(bytes) {
        while pass.next().is_some() {}
    }
    let Some(answer) = wire::decode_inner(bytes).ok().and_then(calls::value) else { return };
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
