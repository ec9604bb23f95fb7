//! Which functions of a module may scan the mailbox, according to its compiled file.
//!
//! A receive that takes every message scans nothing, so it has no instruction that passes over a
//! message. A receive that waits for a reference of its own skips the older messages: the label to
//! which it goes back stands right behind the instruction that skips.
//!
//! The file is the one that the node itself would load. Only names, the sizes of instructions and
//! their operands are read. Sources: <https://www.erlang.org/blog/a-brief-beam-primer> and
//! beam_opcodes of OTP 29.

use crate::calls::Call;
use crate::view::{self, Frame};
use beam::Term;
use beam::term::{self, atom};
use std::collections::BTreeSet;

/// Number of operands of each instruction, from instruction 1 on.
const OPERANDS: [u8; 191] = [
    1, 3, 0, 2, 3, 2, 2, 3, 2, 4, 5, 2, 3, 2, 3, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1, 2, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 1, 2, 1, 2,
    3, 3, 3, 3, 3, 2, 1, 1, 0, 1, 1, 3, 2, 2, 2, 5, 5, 5, 4, 2, 1, 1, 2, 2, 5, 5, 5, 2, 1, 0, 1, 2,
    2, 4, 4, 4, 4, 3, 1, 2, 1, 1, 1, 2, 6, 3, 5, 1, 2, 2, 3, 5, 7, 7, 7, 5, 3, 2, 2, 5, 6, 2, 2, 2,
    2, 1, 3, 4, 0, 8, 6, 2, 6, 5, 4, 5, 4, 5, 4, 3, 3, 3, 3, 3, 0, 1, 1, 7, 1, 5, 5, 2, 3, 3, 4, 0,
    0, 2, 2, 2, 3, 4, 3, 2, 2, 4, 3, 1, 2, 1, 1, 1, 6, 3, 0, 1, 5, 3, 2, 4, 6, 2, 4, 3, 6, 3, 5,
];

/// The longest file that is read, in bytes, and the most receives of each kind that are kept of it.
/// Modules have some dozen.
const MOST_BYTES: usize = 16 << 20;
const MOST: usize = 512;

/// Most atoms of a module. A VM has a million for all of its modules.
const MOST_ATOMS: usize = 1 << 20;

/// Instructions: a label, the head of a function, the one by which a receive passes over a message,
/// and the one by which it skips the messages before a reference (`recv_marker_use`).
const LABEL: u8 = 1;
const FUNC_INFO: u8 = 2;
const LOOP_REC_END: u8 = 24;
const RECV_MARKER_USE: u8 = 176;

/// Asks for a module's compiled file. The node loads nothing for that.
pub fn question(module: &str) -> Call {
    Call::new("code", "get_object_code", vec![atom(module)])
}

/// The functions of the module that may scan the mailbox; None if the file cannot be read, or was
/// not written by a compiler.
pub fn read(answer: &Term) -> Option<BTreeSet<String>> {
    let [module, file, _] = term::as_tuple::<3>(answer).ok()?;
    let file = term::as_bytes(file).ok().filter(|file| file.len() <= MOST_BYTES)?;
    functions(&view::name(term::as_atom(module).ok()?), file)
}

fn functions(module: &str, file: &[u8]) -> Option<BTreeSet<String>> {
    let file = file.strip_prefix(b"FOR1")?.get(8..)?;
    let atoms = chunk(file, b"AtU8").and_then(atoms)?;
    let code = chunk(file, b"Code")?;
    let head = u32::from_be_bytes(*code.first_chunk()?) as usize;
    let mut cursor = Cursor(code.get(4usize.checked_add(head)?..)?);
    let mut now: Option<(&[u8], u32)> = None;
    let mut is_behind_skip = false;
    let mut skipping: BTreeSet<u64> = BTreeSet::new();
    let mut receives: BTreeSet<(&[u8], u32, u64)> = BTreeSet::new();
    while let Some(instruction) = cursor.byte() {
        let count = *OPERANDS.get(usize::from(instruction).checked_sub(1)?)?;
        let mut operands = [0; 8];
        for place in 0..count {
            let value = cursor.operand()?;
            *operands.get_mut(usize::from(place))? = value;
        }
        match (instruction, now) {
            (FUNC_INFO, _) => {
                let name = usize::try_from(operands[1]).ok()?.checked_sub(1);
                now = Some((*atoms.get(name?)?, u32::try_from(operands[2]).ok()?));
            }
            (LABEL, _) if is_behind_skip => {
                skipping.insert(operands[0]);
            }
            (LOOP_REC_END, Some((name, arity))) => {
                receives.insert((name, arity, operands[0]));
            }
            _ => {}
        }
        is_behind_skip = instruction == RECV_MARKER_USE || is_behind_skip && instruction == LABEL;
        if skipping.len().max(receives.len()) > MOST {
            return None;
        }
    }
    // Labels belong to the whole module.
    let scanning = receives.iter().filter(|(_, _, back_to)| !skipping.contains(back_to));
    Some(scanning.map(|(name, arity, _)| written(module, name, *arity)).collect())
}

/// A function in the form of a frame.
fn written(module: &str, name: &[u8], arity: u32) -> String {
    let function = view::name(&String::from_utf8_lossy(name));
    Frame { module: module.to_owned(), function, arity }.to_string()
}

/// A part of the file by its name.
fn chunk<'a>(file: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    let mut rest = file;
    loop {
        let (name, behind) = rest.split_first_chunk::<4>()?;
        let (size, behind) = behind.split_first_chunk::<4>()?;
        let size = u32::from_be_bytes(*size) as usize;
        if name == wanted {
            return behind.get(..size);
        }
        rest = behind.get(size.checked_next_multiple_of(4)?..)?;
    }
}

/// Names of the module's atoms, in their order.
fn atoms(chunk: &[u8]) -> Option<Vec<&[u8]>> {
    let (count, rest) = chunk.split_first_chunk::<4>()?;
    let count = i32::from_be_bytes(*count);
    let mut cursor = Cursor(rest);
    let mut all = Vec::new();
    for _ in 0..count.unsigned_abs() {
        // Since OTP 28, the count is negative and lengths are operands.
        let length = if count < 0 { cursor.operand()? } else { cursor.byte()?.into() };
        let name = cursor.bytes(usize::try_from(length).ok()?)?;
        if all.len() == MOST_ATOMS {
            return None;
        }
        all.push(name);
    }
    Some(all)
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Steps over an operand. Returns its value if it is a plain one that fits, else 0.
    fn operand(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first & 7 != 7 {
            return self.value(first);
        }
        match first >> 4 {
            // In order: a list, a floating-point register, registers to keep, a literal, a
            // register with a type.
            1 => {
                let count = self.plain()?;
                (0..count).try_for_each(|_| self.plain_or_float())?;
            }
            3 => {
                let count = self.plain()?;
                (0..count.checked_mul(2)?).try_for_each(|_| self.plain().map(drop))?;
            }
            2 | 4 => drop(self.plain()?),
            5 => {
                self.plain()?;
                self.plain()?;
            }
            _ => return None,
        }
        Some(0)
    }

    /// An operand inside a list. It may be a literal or typed, but is no list itself.
    fn plain_or_float(&mut self) -> Option<()> {
        let first = self.byte()?;
        match (first & 7 == 7, first >> 4) {
            (false, _) => self.value(first).map(drop),
            (true, 2 | 4) => self.plain().map(drop),
            (true, 5) => {
                self.plain()?;
                self.plain().map(drop)
            }
            _ => None,
        }
    }

    fn plain(&mut self) -> Option<u64> {
        let first = self.byte()?;
        self.value(first)
    }

    /// The number that starts with this first byte.
    fn value(&mut self, first: u8) -> Option<u64> {
        if first & 8 == 0 {
            return Some(u64::from(first >> 4));
        }
        if first & 16 == 0 {
            return Some(u64::from(first >> 5) << 8 | u64::from(self.byte()?));
        }
        let count = match first >> 5 {
            7 => self.long_count()?,
            few => usize::from(few) + 2,
        };
        let bytes = self.bytes(count)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The length of a number that is too long for a length in its first byte. A length that is
    /// itself such a number is refused: a hostile file could nest lengths without end.
    fn long_count(&mut self) -> Option<usize> {
        let first = self.byte()?;
        let fits = first & 24 != 24;
        usize::try_from(fits.then(|| self.value(first))??).ok()?.checked_add(9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn lengths_of_lengths_are_refused() {
        // Each byte says that its length is the number that follows.
        let endless = vec![0xf8; 1 << 22];
        assert_eq!(Cursor(&endless).operand(), None);
        // A number of nine bytes, whose length does not fit into the first byte.
        let nine = [&[0xf8, 0x00][..], &[7; 9]].concat();
        assert_eq!(Cursor(&nine).operand(), Some(0x0707_0707_0707_0707));
    }

    #[test]
    fn functions_that_pass_over_messages_are_told_from_those_that_do_not() {
        let folder = tempfile::tempdir().unwrap();
        // The first three functions wait for any message, for a reference of their own, and for a
        // time. `both` has a receive for a reference of its own and another one.
        let source = "-module(m).\n-export([any/1, own/1, time/0, a/0, b/1, c/1, both/1]).\n\
            any(T) -> receive X -> any([X | T]) end.\n\
            own(P) -> R = make_ref(), P ! {self(), R}, receive {R, X} -> X end.\n\
            time() -> receive after 7 -> ok end.\n\
            a() -> receive {x, _} -> ok end.\n\
            b(X) -> lists:map(fun(Y) -> {Y, 1.5, \"text\", <<Y:8>>} end, X).\n\
            c(T) when T > 99999999999999999999 -> ok;\n\
            c(T) -> receive T -> b([T]) after 7 -> #{T => b(T)} end.\n\
            both(P) -> receive {call, Q} -> R = monitor(process, P), P ! {Q, R},\n\
              receive {R, X} -> X; {'DOWN', R, _, _, _} -> gone end, both(P) end.\n";
        std::fs::write(folder.path().join("m.erl"), source).unwrap();
        let mut erlc = Command::new("erlc");
        let built = erlc.args(["m.erl"]).current_dir(folder.path()).output();
        if !testing::has_or_skip(built.is_ok(), "erlc") {
            return;
        }
        let file = std::fs::read(folder.path().join("m.beam")).unwrap();
        let found: Vec<String> = functions("m", &file).unwrap().into_iter().collect();
        assert_eq!(found, ["m:a/0", "m:both/1", "m:c/1"]);
        assert_eq!(functions("m", &file[..40]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = atoms(&bytes);
            let _ = Cursor(&bytes).operand();
            let code = [&0u32.to_be_bytes()[..], &bytes].concat();
            let size = u32::try_from(code.len()).unwrap().to_be_bytes();
            let file = [b"FOR1\0\0\0\0BEAMAtU8\0\0\0\x08\0\0\0\x01\x01a\0\0Code".as_slice(), &size, &code];
            let _ = functions("m", &file.concat());
        }
    }
}
