//! A look at a term's bytes before they are decoded.
//!
//! The decoder trusts lengths and recurses, so a few bytes could ask it for gigabytes or for more
//! stack than there is. What passes here has no more elements than bytes, no great depth, and only
//! kinds of terms that the decoder takes.

/// The deepest nesting that is taken.
const MOST_DEPTH: usize = 256;

/// The most terms, nested ones included.
const MOST_TERMS: u64 = 8 << 20;

/// Refuses bytes that are no single well-formed term of the external format.
///
/// # Errors
/// What is wrong, in a few words.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    match first(bytes)? == bytes.len() {
        true => Ok(()),
        false => Err("bytes behind the term".to_owned()),
    }
}

/// How many bytes the first term takes.
///
/// # Errors
/// What is wrong with it, in a few words.
pub(super) fn first(bytes: &[u8]) -> Result<usize, String> {
    let (mut cursor, version) = (Cursor(bytes), 131);
    if cursor.byte()? != version {
        return Err("no version byte 131".to_owned());
    }
    // How many terms are still to come at each level.
    let mut open: Vec<u64> = vec![1];
    let mut terms = 0;
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        terms += 1;
        let inner = cursor.term()?;
        if terms > MOST_TERMS {
            return Err(format!("more than {MOST_TERMS} terms"));
        }
        // Each term takes at least a byte, so more of them than bytes cannot be true.
        if inner > cursor.0.len() as u64 {
            return Err("a length beyond the end".to_owned());
        }
        if inner > 0 {
            open.push(inner);
        }
        if open.len() > MOST_DEPTH {
            return Err(format!("nested deeper than {MOST_DEPTH}"));
        }
    }
    Ok(bytes.len() - cursor.0.len())
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    /// Steps over one term's own bytes; the number of terms that follow inside it.
    fn term(&mut self) -> Result<u64, String> {
        let tag = self.byte()?;
        match tag {
            // Small integer, integer, new float.
            97 => self.skip(1)?,
            98 => self.skip(4)?,
            70 => self.skip(8)?,
            // Atoms, in Latin-1 and UTF-8, with a length of one or two bytes.
            100 | 115 | 118 | 119 => self.atom(tag)?,
            // Nil.
            106 => {}
            107 => self.counted(2)?,
            109 => self.counted(4)?,
            77 => self.bits()?,
            // Big integers: a length, a sign, the digits.
            110 => self.big(1)?,
            111 => self.big(4)?,
            88 => self.named(12)?,
            89 => self.named(8)?,
            120 => self.named(12)?,
            90 => self.reference()?,
            104 => return self.number(1),
            105 => return self.number(4),
            // A list has a tail besides its elements.
            108 => return Ok(self.number(4)? + 1),
            116 => return Ok(self.number(4)? * 2),
            other => return Err(format!("a term with tag {other}, which is not taken")),
        }
        Ok(0)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.number(1).map(|number| number as u8)
    }

    /// An unsigned number of this many bytes, four at most.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take(&mut self, bytes: usize) -> Result<&[u8], String> {
        let end = || "a term that ends too early".to_owned();
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(end)?;
        self.0 = rest;
        Ok(taken)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        self.take(usize::try_from(bytes).unwrap_or(usize::MAX)).map(drop)
    }

    /// A length of this many bytes, and as many bytes behind it.
    fn counted(&mut self, bytes: usize) -> Result<(), String> {
        let length = self.number(bytes)?;
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
        self.skip(length)
    }

    fn big(&mut self, bytes: usize) -> Result<(), String> {
        let length = self.number(bytes)?;
        self.skip(length + 1)
    }

    /// An atom, the node, and this many bytes.
    fn named(&mut self, bytes: u64) -> Result<(), String> {
        let tag = self.byte()?;
        if !matches!(tag, 100 | 115 | 118 | 119) {
            return Err("an identifier whose node is no atom".to_owned());
        }
        self.atom(tag)?;
        self.skip(bytes)
    }

    fn reference(&mut self) -> Result<(), String> {
        let words = self.number(2)?;
        self.named(4 + 4 * words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eetf::Term;
    use proptest::prelude::*;

    #[test]
    fn what_would_exhaust_the_decoder_is_refused() {
        // Lists of four thousand million elements, and of none but a long tail.
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

    #[test]
    fn more_terms_than_anybody_measures_are_refused() {
        let count = u32::try_from(MOST_TERMS).unwrap();
        let mut bytes = vec![131, 108];
        bytes.extend(count.to_be_bytes());
        bytes.extend(std::iter::repeat_n(106, count as usize + 1));
        assert!(check(&bytes).unwrap_err().contains("more than"));
    }

    proptest! {
        #[test]
        fn what_passes_is_decoded_without_a_panic(bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), Just(0u8), Just(1u8), prop::sample::select(vec![
                70u8, 77, 88, 89, 90, 97, 98, 100, 104, 105, 106, 107, 108, 109, 110, 111, 115,
                116, 118, 119, 120])], 0..80)) {
            let bytes: Vec<u8> = [131].into_iter().chain(bytes).collect();
            if check(&bytes).is_ok() {
                // An error is fine, such as an atom that is no UTF-8.
                let _ = Term::decode(&bytes[..]);
            }
        }
    }
}
