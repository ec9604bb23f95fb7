//! Converts terms so that the encoder does not change their values.
//!
//! eetf 0.11 writes a list of integers below 256 as a string of bytes, even if integers are
//! negative. It also truncates the length of a byte list to 16 bits. Both would arrive as other
//! values.

use eetf::{BigInteger, ImproperList, List, Map, Term, Tuple};

/// The longest list that may be written as a string of bytes.
const MOST_BYTES: usize = u16::MAX as usize;

/// The same term in a form that the encoder writes without loss.
pub(super) fn lossless(term: Term) -> Term {
    match term {
        Term::FixInteger(number) if number.value < 0 => Term::from(BigInteger::from(number.value)),
        Term::ByteList(list) if list.bytes.len() > MOST_BYTES => Term::from(List::from(list)),
        Term::List(list) => Term::from(List::from(all(list.elements))),
        Term::Tuple(tuple) => Term::from(Tuple::from(all(tuple.elements))),
        Term::ImproperList(list) => {
            Term::from(ImproperList::from((all(list.elements), lossless(*list.last))))
        }
        Term::Map(map) => {
            let pairs = map.map.into_iter().map(|(key, value)| (lossless(key), lossless(value)));
            Term::from(Map { map: pairs.collect() })
        }
        other => other,
    }
}

fn all(terms: Vec<Term>) -> Vec<Term> {
    terms.into_iter().map(lossless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::{self, int, list, map, tuple};
    use eetf::ByteList;

    fn sent(term: Term) -> Term {
        let mut bytes = Vec::new();
        lossless(term).encode(&mut bytes).unwrap();
        Term::decode(&bytes[..]).unwrap()
    }

    #[test]
    fn negative_numbers_in_lists_arrive_as_they_are() {
        let numbers = list(vec![int(-1), int(5)]);
        assert_eq!(term::each(&sent(numbers.clone()), term::as_i64).unwrap(), [-1, 5]);
        let nested = map([("k", tuple(vec![numbers]))]);
        let read = |t: &Term| term::field(t, "k", |t| term::as_tuple::<1>(t).cloned());
        let [inner] = read(&sent(nested)).unwrap();
        assert_eq!(term::each(&inner, term::as_i64).unwrap(), [-1, 5]);
    }

    #[test]
    fn long_byte_lists_keep_their_length() {
        let long = Term::from(ByteList::from(vec![9; 70_000]));
        assert_eq!(term::as_list(&sent(long)).unwrap().len(), 70_000);
    }
}
