//! Reads and makes Erlang terms.
//!
//! Readers report what was expected, what was found instead, and where: `wall_us: expected an
//! unsigned integer, found the atom undefined`. [`field`] and [`each`] read maps and lists; they
//! take the reader for the elements.

mod make;

pub use make::{atom, float, int, list, map, text, tuple, uint};

use eetf::Term;
use std::borrow::Cow;
use std::fmt;

/// A term of another kind than expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermError {
    /// The keys and indices that lead to it, outermost first, such as `runs[3].wall_us`.
    pub at: String,
    /// The expected kind of term.
    pub expected: String,
    /// A short description of the term.
    pub found: String,
}

impl fmt::Display for TermError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.at.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}expected {}, found {}", self.at, self.expected, self.found)
    }
}

impl std::error::Error for TermError {}

/// The result of a reader.
pub type Read<T> = Result<T, TermError>;

fn wrong<T>(expected: &str, term: &Term) -> Read<T> {
    Err(TermError { at: String::new(), expected: expected.to_owned(), found: describe(term) })
}

fn within(step: String, mut error: TermError) -> TermError {
    let dot = if error.at.is_empty() || error.at.starts_with('[') { "" } else { "." };
    error.at = format!("{step}{dot}{}", error.at);
    error
}

/// The term's kind, with the value if it is short.
fn describe(term: &Term) -> String {
    let words = match term {
        Term::Atom(atom) => format!("the atom {}", atom.name),
        Term::FixInteger(_) | Term::BigInteger(_) => match as_i64(term) {
            Ok(number) => format!("the integer {number}"),
            Err(_) => "a large integer".to_owned(),
        },
        Term::Float(float) => format!("the float {}", float.value),
        Term::Binary(_) => "a binary".to_owned(),
        Term::BitBinary(_) => "a bit string".to_owned(),
        Term::ByteList(_) | Term::List(_) => "a list".to_owned(),
        Term::ImproperList(_) => "an improper list".to_owned(),
        Term::Tuple(tuple) => format!("a tuple of {}", tuple.elements.len()),
        Term::Map(_) => "a map".to_owned(),
        Term::Pid(_) | Term::Port(_) | Term::Reference(_) => "an identifier".to_owned(),
        Term::ExternalFun(_) | Term::InternalFun(_) => "a fun".to_owned(),
    };
    crate::text::clean_line(&words)
}

/// An atom's name.
///
/// # Errors
/// If it is no atom.
pub fn as_atom(term: &Term) -> Read<&str> {
    match term {
        Term::Atom(atom) => Ok(&atom.name),
        _ => wrong("an atom", term),
    }
}

/// An integer.
///
/// # Errors
/// If it is no integer, or does not fit.
pub fn as_i64(term: &Term) -> Read<i64> {
    match term {
        Term::FixInteger(number) => Ok(i64::from(number.value)),
        Term::BigInteger(number) => {
            // Not `wrong`, which would call this function again.
            i64::try_from(&number.value).or_else(|_| too_large("a 64-bit integer"))
        }
        _ => wrong("an integer", term),
    }
}

fn too_large<T>(expected: &str) -> Read<T> {
    let found = "a larger integer".to_owned();
    Err(TermError { at: String::new(), expected: expected.to_owned(), found })
}

/// A non-negative integer.
///
/// # Errors
/// If it is no such integer, or does not fit.
pub fn as_u64(term: &Term) -> Read<u64> {
    const EXPECTED: &str = "an unsigned 64-bit integer";
    match term {
        Term::FixInteger(number) => u64::try_from(number.value).or_else(|_| wrong(EXPECTED, term)),
        Term::BigInteger(number) => u64::try_from(&number.value).or_else(|_| wrong(EXPECTED, term)),
        _ => wrong(EXPECTED, term),
    }
}

/// A float, or an integer converted to a float.
///
/// # Errors
/// If it is no number, or an integer beyond 64 bits.
pub fn as_f64(term: &Term) -> Read<f64> {
    match term {
        Term::Float(float) => Ok(float.value),
        Term::FixInteger(number) => Ok(f64::from(number.value)),
        Term::BigInteger(_) => as_i64(term).map(|number| number as f64),
        _ => wrong("a number", term),
    }
}

/// The bytes of a binary.
///
/// # Errors
/// If it is no binary.
pub fn as_bytes(term: &Term) -> Read<&[u8]> {
    match term {
        Term::Binary(binary) => Ok(&binary.bytes),
        _ => wrong("a binary", term),
    }
}

/// Text: a binary in UTF-8, a list of code points, or an atom.
///
/// Bytes that are not valid UTF-8 become replacement characters.
///
/// # Errors
/// If it is none of these.
pub fn as_text(term: &Term) -> Read<String> {
    match term {
        Term::Binary(binary) => Ok(String::from_utf8_lossy(&binary.bytes).into_owned()),
        Term::ByteList(list) => Ok(list.bytes.iter().map(|byte| char::from(*byte)).collect()),
        Term::Atom(atom) => Ok(atom.name.clone()),
        Term::List(list) => {
            let points = list.elements.iter().map(|element| {
                as_u64(element).ok().and_then(|c| char::from_u32(u32::try_from(c).ok()?))
            });
            points.collect::<Option<String>>().map_or_else(|| wrong("text", term), Ok)
        }
        _ => wrong("text", term),
    }
}

/// The elements of a proper list.
///
/// # Errors
/// If it is no proper list.
pub fn as_list(term: &Term) -> Read<Cow<'_, [Term]>> {
    match term {
        Term::List(list) => Ok(Cow::Borrowed(&list.elements)),
        // A list of small integers arrives as a string of bytes.
        Term::ByteList(list) => {
            Ok(list.bytes.iter().map(|byte| int(i64::from(*byte))).collect::<Vec<_>>().into())
        }
        _ => wrong("a list", term),
    }
}

/// The elements of a tuple with `N` elements.
///
/// # Errors
/// If it is no tuple, or has more or fewer elements.
pub fn as_tuple<const N: usize>(term: &Term) -> Read<&[Term; N]> {
    let elements = match term {
        Term::Tuple(tuple) => <&[Term; N]>::try_from(tuple.elements.as_slice()).ok(),
        _ => None,
    };
    elements.map_or_else(|| wrong(&format!("a tuple of {N}"), term), Ok)
}

/// Reads each element of a list.
///
/// # Errors
/// If it is no list; or the first error of an element, with its index counted from 0.
pub fn each<T>(term: &Term, read: impl Fn(&Term) -> Read<T>) -> Read<Vec<T>> {
    let read =
        |(place, element)| read(element).map_err(|error| within(format!("[{place}]"), error));
    as_list(term)?.iter().enumerate().map(read).collect()
}

/// The value of a key, given as an atom's name, in a map.
///
/// # Errors
/// If it is no map, or if the key is missing; or the error of `read`, with the key.
pub fn field<'a, T>(term: &'a Term, key: &str, read: impl FnOnce(&'a Term) -> Read<T>) -> Read<T> {
    match find(term, key, read)? {
        Some(value) => Ok(value),
        None => Err(TermError {
            at: key.to_owned(),
            expected: "a value".to_owned(),
            found: "none".to_owned(),
        }),
    }
}

/// Like [`field`], for a key that may be absent.
///
/// # Errors
/// If it is no map; or the error of `read`, with the key.
pub fn find<'a, T>(
    term: &'a Term,
    key: &str,
    read: impl FnOnce(&'a Term) -> Read<T>,
) -> Read<Option<T>> {
    let Term::Map(map) = term else { return wrong("a map", term) };
    let value = map.map.get(&atom(key));
    value.map(read).transpose().map_err(|error| within(key.to_owned(), error))
}

#[cfg(test)]
mod tests;
