//! The longest mailboxes of a node, asked for in slices.
//!
//! Each pass fetches one list of all processes. Then it asks for the mailbox lengths, one slice
//! of the list at a time. After each question the node is left alone long enough to keep its CPU
//! cost small.

use crate::calls::Call;
use beam::term::{self, atom};
use beam::{Pid, Term};

/// Processes in one slice.
pub const SLICE: usize = 1_000;

/// Most mailboxes that a pass keeps.
const KEPT: usize = 16;

/// Most processes of a list that are asked about.
const MOST: usize = 1_500_000;

/// Bytes that a process takes in that list, besides the name of its node.
const SHORTEST: usize = 15;

/// A process and the length of its mailbox.
pub type Length = (Pid, u64);

/// A pass through all processes.
#[derive(Debug, Default)]
pub struct Pass {
    /// Numbers of the processes that are still to be asked about. All of them belong to `node`.
    left: Vec<[u32; 3]>,
    node: String,
    found: Vec<Length>,
}

impl Pass {
    /// Asks for all processes.
    pub fn question() -> Call {
        Call::new("erlang", "processes", Vec::new())
    }

    /// The length in bytes of the answer to [`Pass::question`], for this many processes of this
    /// node.
    pub fn bytes(processes: u64, node: &str) -> u64 {
        processes.saturating_mul((SHORTEST + node.len()) as u64)
    }

    /// Starts a pass with that answer; None if it is no list of processes.
    pub fn begin(answer: &[u8]) -> Option<Self> {
        let (node, left) = processes(answer)?;
        Some(Pass { left, node, found: Vec::new() })
    }

    /// The memory of the processes that are still to be asked about, in bytes.
    pub fn memory(&self) -> usize {
        self.left.capacity() * size_of::<[u32; 3]>()
    }

    /// Processes of the next slice.
    pub fn next(&mut self) -> Option<Vec<Pid>> {
        if self.left.is_empty() {
            return None;
        }
        let from = self.left.len().saturating_sub(SLICE);
        let slice = self.left.split_off(from);
        let pid =
            |[id, serial, creation]: [u32; 3]| Pid::new(self.node.as_str(), id, serial, creation);
        Some(slice.into_iter().map(pid).collect())
    }

    /// Adds the answer for a slice, in which the lengths have the order of the slice.
    pub fn add(&mut self, slice: &[Pid], answer: &Term) {
        self.found.extend(lengths(slice, answer));
        self.found.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        self.found.truncate(KEPT);
    }

    /// The longest mailboxes of the pass.
    pub fn into_found(self) -> Vec<Length> {
        self.found
    }
}

/// Asks for the lengths of the mailboxes of these processes.
pub fn slice(pids: &[Pid]) -> Call {
    let all = pids.iter().cloned().map(Term::from).collect();
    Call::each(("erlang", "process_info"), all, &atom("message_queue_len"))
}

/// Reads the answer to [`slice`]. Processes that have ended or have no messages are left out.
fn lengths(slice: &[Pid], answer: &Term) -> Vec<Length> {
    let all = term::as_list(answer).unwrap_or_default();
    let of = |(pid, one): (&Pid, &Term)| {
        let [_, length] = term::as_tuple::<2>(one).ok()?;
        Some((pid.clone(), term::as_u64(length).ok()?)).filter(|(_, length)| *length > 0)
    };
    slice.iter().zip(all.iter()).filter_map(of).collect()
}

/// Reads a list of processes of one node. No term is made for each: there may be a million.
fn processes(answer: &[u8]) -> Option<(String, Vec<[u32; 3]>)> {
    let [108, a, b, c, d, rest @ ..] = answer else { return None };
    let count = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    let count = count.min(MOST);
    if count > rest.len() / SHORTEST {
        return None;
    }
    let mut rest = rest;
    let mut all = Vec::with_capacity(count);
    let mut node: &[u8] = &[];
    for _ in 0..count {
        let (name, numbers, behind) = process(rest)?;
        node = name;
        all.push(numbers);
        rest = behind;
    }
    Some((String::from_utf8(node.to_vec()).ok()?, all))
}

/// The name of the process's node, its numbers, and the bytes after it.
fn process(bytes: &[u8]) -> Option<(&[u8], [u32; 3], &[u8])> {
    let (length, rest) = match bytes {
        [88, 119 | 115, length, rest @ ..] => (usize::from(*length), rest),
        [88, 118 | 100, a, b, rest @ ..] => (usize::from(u16::from_be_bytes([*a, *b])), rest),
        _ => return None,
    };
    let (name, rest) = rest.split_at_checked(length)?;
    let (numbers, rest) = rest.split_first_chunk::<12>()?;
    let number = |at: usize| {
        numbers[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
    };
    Some((name, [number(0), number(4), number(8)], rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use beam::term::{int, list, tuple};
    use beam::wire;
    use proptest::prelude::*;

    fn encoded(term: Term) -> Vec<u8> {
        wire::encode(term)[1..].to_vec()
    }

    fn pid(id: u32) -> Pid {
        Pid::new("web@host", id, 0, 7)
    }

    #[test]
    fn all_processes_are_asked_about_once() {
        let all: Vec<Term> = (0..2_500).map(|id| Term::from(pid(id))).collect();
        let answer = encoded(list(all));
        let mut pass = Pass::begin(&answer).unwrap();
        assert!((2_500 * 12..answer.len()).contains(&pass.memory()), "{}", pass.memory());
        let mut seen = Vec::new();
        while let Some(slice) = pass.next() {
            assert!(slice.len() <= SLICE);
            seen.extend(slice.iter().map(|pid| pid.id));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..2_500).collect::<Vec<_>>());
    }

    #[test]
    fn the_longest_are_kept_and_those_that_ended_left_out() {
        let length = |length| tuple(vec![atom("message_queue_len"), int(length)]);
        let mut pass = Pass::default();
        let all = list(vec![length(5), length(0), atom("undefined")]);
        pass.add(&[pid(1), pid(2), pid(3)], &all);
        pass.add(&[pid(4)], &list(vec![length(90), length(91)]));
        let found: Vec<(u32, u64)> =
            pass.into_found().into_iter().map(|(pid, length)| (pid.id, length)).collect();
        assert_eq!(found, [(4, 90), (1, 5)]);
    }

    proptest! {
        #[test]
        fn any_answer_is_taken(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Pass::begin(&bytes);
            let _ = Pass::begin(&[&[108, 0, 0, 0, 9, 88][..], &bytes].concat());
        }
    }
}
