//! Checks a term's bytes before they are decoded.
//!
//! The decoder trusts lengths and recurses, so a few bytes could make it use gigabytes or
//! overflow the stack. Bytes that pass this check have no more elements than bytes, a bounded
//! depth and a bounded memory use, and contain only kinds of terms that the decoder accepts.

use super::cost;

/// Deepest nesting that is accepted.
const MOST_DEPTH: usize = 256;

/// The byte before a term.
const VERSION: u8 = 131;

/// Refuses bytes that are not a single well-formed term of the external format. Also refuses them
/// if they and the decoded term together take more than `most` bytes of memory.
///
/// # Errors
/// What is wrong, in a few words.
pub(super) fn check(bytes: &[u8], most: u64) -> Result<(), String> {
    whole(first(bytes, most)?, bytes)
}

/// Like [`check`], for a term without the version byte. Returns the memory that the bytes and the
/// decoded term take together.
///
/// # Errors
/// What is wrong, in a few words.
pub(super) fn check_inner(bytes: &[u8], most: u64) -> Result<u64, String> {
    let (length, memory) = term(bytes, most)?;
    whole(length, bytes)?;
    Ok(memory)
}

fn whole(length: usize, bytes: &[u8]) -> Result<(), String> {
    match length == bytes.len() {
        true => Ok(()),
        false => Err("bytes after the term".to_owned()),
    }
}

/// Number of bytes of the first term.
///
/// # Errors
/// What is wrong with the term, in a few words.
pub(super) fn first(bytes: &[u8], most: u64) -> Result<usize, String> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => Ok(1 + term(rest, most)?.0),
        _ => Err("no version byte 131".to_owned()),
    }
}

/// The number of bytes of the first term, and the memory that all bytes and that term take.
fn term(bytes: &[u8], most: u64) -> Result<(usize, u64), String> {
    let mut cursor = Cursor { rest: bytes, cost: bytes.len() as u64 };
    // Number of terms that are still to come at each level.
    let mut open: Vec<u64> = vec![1];
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let inner = cursor.term()?;
        if cursor.cost > most {
            return Err(format!("a term that takes more than {} MiB of memory", most >> 20));
        }
        // Each term takes at least one byte, so there cannot be more terms than bytes.
        if inner > cursor.rest.len() as u64 {
            return Err("a length beyond the end of the data".to_owned());
        }
        if inner > 0 {
            open.push(inner);
        }
        if open.len() > MOST_DEPTH {
            return Err(format!("a term nested deeper than {MOST_DEPTH}"));
        }
    }
    Ok((bytes.len() - cursor.rest.len(), cursor.cost))
}

struct Cursor<'a> {
    rest: &'a [u8],
    /// Memory for the bytes and for the terms that were skipped.
    cost: u64,
}

impl Cursor<'_> {
    /// Skips one term's own bytes; returns the number of terms inside it, which follow.
    fn term(&mut self) -> Result<u64, String> {
        let tag = self.byte()?;
        match tag {
            // Small integer, integer, new float.
            97 => self.skip(1)?,
            98 => self.skip(4)?,
            70 => self.skip(8)?,
            // Atoms, in Latin-1 and UTF-8, with a length field of one or two bytes.
            100 | 115 | 118 | 119 => self.atom(tag)?,
            // Nil.
            106 => {}
            107 => self.counted(2)?,
            109 => self.counted(4)?,
            77 => self.bits()?,
            // Big integers: a length, a sign and the digits.
            110 => self.big(1)?,
            111 => self.big(4)?,
            88 => self.named(12)?,
            89 => self.named(8)?,
            120 => self.named(12)?,
            90 => self.reference()?,
            104 => return self.elements(1),
            105 => return self.elements(4),
            108 => {
                self.add(cost::tail());
                // A list has a tail in addition to its elements.
                return Ok(self.elements(4)? + 1);
            }
            116 => {
                let pairs = self.number(4)?;
                self.add(cost::table(pairs));
                return Ok(pairs * 2);
            }
            other => return Err(format!("a term with tag {other}, which is not accepted")),
        }
        Ok(0)
    }

    fn add(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }

    fn elements(&mut self, bytes: usize) -> Result<u64, String> {
        let count = self.number(bytes)?;
        self.add(cost::elements(count));
        Ok(count)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.number(1).map(|number| number as u8)
    }

    /// An unsigned number with this many bytes, at most four.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take(&mut self, bytes: usize) -> Result<&[u8], String> {
        let end = || "a term that ends too early".to_owned();
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(end)?;
        self.rest = rest;
        Ok(taken)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        self.take(usize::try_from(bytes).unwrap_or(usize::MAX)).map(drop)
    }

    /// Skips a length field of this many bytes, and as many bytes as the field says.
    fn counted(&mut self, bytes: usize) -> Result<(), String> {
        let length = self.number(bytes)?;
        self.add(cost::block(length));
        self.skip(length)
    }

    fn atom(&mut self, tag: u8) -> Result<(), String> {
        self.counted(if matches!(tag, 115 | 119) { 1 } else { 2 })
    }

    fn bits(&mut self) -> Result<(), String> {
        let length = self.number(4)?;
        if !(1..=8).contains(&self.byte()?) {
            return Err("a bit string whose last byte has no bits".to_owned());
        }
        self.add(cost::block(length));
        self.skip(length)
    }

    fn big(&mut self, bytes: usize) -> Result<(), String> {
        let length = self.number(bytes)?;
        self.add(cost::digits(length));
        self.skip(length + 1)
    }

    /// Skips an atom that names the node, and this many bytes.
    fn named(&mut self, bytes: u64) -> Result<(), String> {
        let tag = self.byte()?;
        if !matches!(tag, 100 | 115 | 118 | 119) {
            return Err("an identifier whose node is not an atom".to_owned());
        }
        self.atom(tag)?;
        self.skip(bytes)
    }

    fn reference(&mut self) -> Result<(), String> {
        let words = self.number(2)?;
        self.add(cost::reference(words));
        self.named(4 + 4 * words)
    }
}

#[cfg(test)]
mod tests {
    use eetf::Term;
    use proptest::prelude::*;

    const MOST: u64 = 64 << 20;

    fn check(bytes: &[u8]) -> Result<(), String> {
        super::check(bytes, MOST)
    }

    /// The memory that the decoded term has allocated, from the sizes of its vectors and tables.
    fn allocated(term: &Term) -> u64 {
        let all = |terms: &Vec<Term>| {
            let own = terms.capacity() * size_of::<Term>();
            own as u64 + terms.iter().map(allocated).sum::<u64>()
        };
        let of = |bytes: usize| bytes as u64;
        match term {
            Term::Atom(atom) => of(atom.name.capacity()),
            Term::FixInteger(_) | Term::Float(_) => 0,
            Term::BigInteger(number) => of(number.value.iter_u64_digits().len() * 8),
            Term::Pid(pid) => of(pid.node.name.capacity()),
            Term::Port(port) => of(port.node.name.capacity()),
            Term::Reference(one) => {
                of(size_of_val(&**one) + one.node.name.capacity() + one.id.capacity() * 4)
            }
            Term::ExternalFun(_) | Term::InternalFun(_) => unreachable!("they are not taken"),
            Term::Binary(binary) => of(binary.bytes.capacity()),
            Term::BitBinary(binary) => of(binary.bytes.capacity()),
            Term::ByteList(list) => of(list.bytes.capacity()),
            Term::List(list) => all(&list.elements),
            Term::ImproperList(list) => {
                all(&list.elements) + of(size_of::<Term>()) + allocated(&list.last)
            }
            Term::Tuple(tuple) => all(&tuple.elements),
            Term::Map(map) => {
                // One slot of eight stays free, and each slot has an extra byte.
                let places = map.map.capacity() * 8 / 7;
                let pairs = map.map.iter().map(|(key, value)| allocated(key) + allocated(value));
                of(places * (2 * size_of::<Term>() + 1)) + pairs.sum::<u64>()
            }
        }
    }

    #[test]
    fn what_would_exhaust_the_decoder_is_refused() {
        // A list of four thousand million elements, and an empty list with a long tail.
        assert!(check(&[131, 108, 255, 255, 255, 255, 97, 1]).is_err());
        assert!(check(&[131, 105, 255, 255, 255, 255]).is_err());
        assert!(check(&[131, 116, 255, 255, 255, 255]).is_err());
        assert!(check(&[131, 109, 255, 255, 255, 255, 0]).is_err());
        let deep: Vec<u8> =
            [131].into_iter().chain([104, 1].repeat(100_000)).chain([106]).collect();
        assert!(check(&deep).unwrap_err().contains("nested deeper"));
        let compressed = [131, 80, 0, 0, 0, 1, 120, 156];
        assert!(check(&compressed).unwrap_err().contains("tag 80"));
        for tag in [68, 82, 112, 113, 117, 99, 0, 255] {
            assert!(check(&[131, tag, 0, 0, 0, 0]).is_err());
        }
        assert!(check(&[131, 77, 0, 0, 0, 1, 0, 1]).unwrap_err().contains("no bits"));
        assert!(
            check(&[]).is_err() && check(&[130, 106]).is_err() && check(&[131, 106, 0]).is_err()
        );
    }

    /// A list with `count` copies of these bytes.
    fn many(one: &[u8], count: u32) -> Vec<u8> {
        [&[131, 108][..], &count.to_be_bytes(), &one.repeat(count as usize), &[106]].concat()
    }

    #[test]
    fn what_would_take_much_memory_is_refused_before_it_does() {
        // A map with one pair and an empty one, a tuple with one element and an empty one, nil, a
        // list with one element, an atom, a big integer, a process, a reference, an empty binary
        // and an empty string.
        let kinds: [&[u8]; 12] = [
            &[116, 0, 0, 0, 1, 97, 1, 97, 1],
            &[116, 0, 0, 0, 0],
            &[104, 1, 97, 1],
            &[104, 0],
            &[106],
            &[108, 0, 0, 0, 1, 106, 106],
            &[119, 1, 97],
            &[110, 1, 0, 1],
            &[88, 119, 1, 97, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
            &[90, 0, 1, 119, 1, 97, 0, 0, 0, 1, 0, 0, 0, 1],
            &[109, 0, 0, 0, 0],
            &[107, 0, 0],
        ];
        for one in kinds {
            let bytes = many(one, 1_000);
            let takes = allocated(&Term::decode(&bytes[..]).unwrap()) + bytes.len() as u64;
            let fit = u32::try_from(MOST * 1_000 / takes).unwrap();
            let refused = check(&many(one, fit + 1_000)).unwrap_err();
            assert!(refused.contains("more than 64 MiB of memory"), "{one:?}: {refused}");
            check(&many(one, fit / 3)).unwrap();
        }
        // Terms that are large by themselves: a binary, a bit string, a big integer, a map with
        // many pairs.
        for head in
            [&[131, 109, 3, 0, 0, 0][..], &[131, 77, 3, 0, 0, 0, 8], &[131, 111, 3, 0, 0, 0, 0]]
        {
            let bytes = [head, &vec![1; 48 << 20]].concat();
            assert!(check(&bytes).unwrap_err().contains("MiB of memory"), "{head:?}");
        }
        let pairs: Vec<u8> =
            (0..200_000u32).flat_map(|n| [&[98][..], &n.to_be_bytes(), &[106]].concat()).collect();
        let bytes = [&[131, 116][..], &200_000u32.to_be_bytes(), &pairs].concat();
        check(&bytes).unwrap();
        assert!(allocated(&Term::decode(&bytes[..]).unwrap()) < MOST);
        assert!(super::check(&bytes, MOST / 2).is_err());
    }

    #[test]
    fn lists_of_a_million_numbers_are_taken() {
        let bytes = many(&[97, 1], 1_000_000);
        check(&bytes).unwrap();
        let memory = super::check_inner(&bytes[1..], MOST).unwrap();
        let takes = allocated(&Term::decode(&bytes[..]).unwrap()) + bytes[1..].len() as u64;
        assert!((takes..MOST).contains(&memory), "{memory} of {takes}");
    }

    proptest! {
        #[test]
        fn what_passes_is_decoded_without_a_panic(bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), Just(0u8), Just(1u8), prop::sample::select(vec![
                70u8, 77, 88, 89, 90, 97, 98, 100, 104, 105, 106, 107, 108, 109, 110, 111, 115,
                116, 118, 119, 120])], 0..80)) {
            let bytes: Vec<u8> = [131].into_iter().chain(bytes).collect();
            if check(&bytes).is_ok() {
                // An error is fine, for example for an atom that is not valid UTF-8.
                if let Ok(term) = Term::decode(&bytes[..]) {
                    let takes = allocated(&term) + bytes.len() as u64;
                    prop_assert!(super::check(&bytes, takes - 2).is_err(), "{:?}", term);
                }
            }
        }
    }
}
