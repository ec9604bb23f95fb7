//! Frames that a node has sent and that were not taken yet.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most bytes that may wait. Beyond this, the node's pipe is not read, so the node waits too.
const MOST_WAITING: usize = 64 << 20;

/// Memory that a waiting frame takes besides its own bytes. It counts, because a node that sends
/// empty frames could fill the memory otherwise.
const OF_FRAME: usize = 64;

/// Bytes of standard output and error that are kept, from the end.
const MOST_WRITTEN: usize = 64 << 10;

/// Bytes of them that are kept from the beginning.
const MOST_FIRST: usize = 1 << 10;

/// Most last lines that are shown.
const MOST_LINES: usize = 20;

/// How the stream of frames ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The node closed it.
    Closed,
    /// It breaks the protocol; the text says how.
    Broken(String),
}

/// The next event of the mailbox.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A frame, and when it arrived.
    Frame(Instant, Vec<u8>),
    /// No frame came before the deadline.
    Late,
    /// The stream has ended, and all frames were taken.
    End(End),
}

/// Shared by the thread that reads and the threads that take.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    end: Option<End>,
    written: VecDeque<u8>,
    first: Vec<u8>,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame that arrived at the time `at`.
    pub fn deliver(&self, at: Instant, frame: Vec<u8>) {
        let mut state = self.state();
        state.bytes += memory(&frame);
        state.frames.push_back((at, frame));
        self.changed.notify_all();
    }

    /// Whether more data may be read.
    pub fn has_room(&self) -> bool {
        self.state().bytes < MOST_WAITING
    }

    /// Marks the end of the stream.
    pub fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.changed.notify_all();
    }

    /// The next frame; waits for it until `deadline`.
    pub fn receive(&self, deadline: Instant) -> Next {
        let mut state = self.state();
        loop {
            if let Some((at, frame)) = state.frames.pop_front() {
                state.bytes -= memory(&frame);
                return Next::Frame(at, frame);
            }
            if let Some(end) = &state.end {
                return Next::End(end.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Late;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Stores the end of the standard output and error.
    pub fn wrote(&self, bytes: &[u8]) {
        let mut state = self.state();
        let room = MOST_FIRST - state.first.len();
        state.first.extend_from_slice(&bytes[..bytes.len().min(room)]);
        state.written.extend(bytes);
        let surplus = state.written.len().saturating_sub(MOST_WRITTEN);
        state.written.drain(..surplus);
    }

    /// The last lines of this output, cleaned, oldest first.
    pub fn last_lines(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.state().written.iter().copied().collect();
        let lines = cleaned(&bytes);
        lines[lines.len().saturating_sub(MOST_LINES)..].to_vec()
    }

    /// The first line of this output, cleaned: a VM that does not start gives the reason there.
    pub fn first_line(&self) -> Option<String> {
        cleaned(&self.state().first).into_iter().next()
    }
}

/// The memory that a waiting frame takes.
fn memory(frame: &[u8]) -> usize {
    frame.len() + OF_FRAME
}

fn cleaned(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(crate::text::clean_line).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_order_and_before_the_end() {
        let mailbox = Mailbox::default();
        let now = Instant::now();
        assert_eq!(mailbox.receive(now), Next::Late);
        mailbox.deliver(now, vec![1]);
        mailbox.deliver(now, vec![2]);
        mailbox.end(End::Closed);
        mailbox.end(End::Broken("later".into()));
        assert_eq!(mailbox.receive(now), Next::Frame(now, vec![1]));
        assert_eq!(mailbox.receive(now), Next::Frame(now, vec![2]));
        assert_eq!(mailbox.receive(now), Next::End(End::Closed));
    }

    #[test]
    fn there_is_room_for_so_much_and_again_after_taking() {
        let mailbox = Mailbox::default();
        mailbox.deliver(Instant::now(), vec![0; MOST_WAITING - OF_FRAME - 1]);
        assert!(mailbox.has_room());
        // Many empty frames take memory too.
        mailbox.deliver(Instant::now(), Vec::new());
        assert!(!mailbox.has_room());
        mailbox.receive(Instant::now());
        assert!(mailbox.has_room());
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let mailbox = Mailbox::default();
        for number in 0..100_000 {
            mailbox.wrote(format!("line {number}\x07\n").as_bytes());
        }
        let lines = mailbox.last_lines();
        assert_eq!(lines.len(), MOST_LINES);
        assert_eq!(mailbox.first_line().unwrap(), "line 0");
        assert_eq!(lines.last().unwrap(), "line 99999");
        assert!(mailbox.state().written.len() <= MOST_WRITTEN);
    }
}
