//! Makes Erlang terms.

use eetf::{Atom, BigInteger, Binary, FixInteger, Float, List, Map, Term, Tuple};

/// An atom.
pub fn atom(name: &str) -> Term {
    Term::from(Atom::from(name))
}

/// An integer.
pub fn int(number: i64) -> Term {
    match i32::try_from(number) {
        Ok(small) => Term::from(FixInteger::from(small)),
        Err(_) => Term::from(BigInteger::from(number)),
    }
}

/// A non-negative integer.
pub fn uint(number: u64) -> Term {
    match i64::try_from(number) {
        Ok(number) => int(number),
        Err(_) => Term::from(BigInteger::from(number)),
    }
}

/// A float; None if it is not finite, since Erlang has no such floats.
pub fn float(value: f64) -> Option<Term> {
    value.is_finite().then_some(Term::from(Float { value }))
}

/// A binary with UTF-8 text.
pub fn text(text: &str) -> Term {
    Term::from(Binary::from(text.as_bytes()))
}

/// A proper list.
pub fn list(elements: Vec<Term>) -> Term {
    Term::from(List::from(elements))
}

/// A tuple.
pub fn tuple(elements: Vec<Term>) -> Term {
    Term::from(Tuple::from(elements))
}

/// A map with atoms as keys.
pub fn map<'a>(pairs: impl IntoIterator<Item = (&'a str, Term)>) -> Term {
    let pairs = pairs.into_iter().map(|(key, value)| (atom(key), value));
    Term::from(Map { map: pairs.collect() })
}
