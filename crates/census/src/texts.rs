//! Compact storage for many short texts, each with a number.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

/// A name from others as one line without control characters.
pub(crate) fn plain(name: &str) -> Cow<'_, str> {
    // Nearly all names are plain, and this check is cheap.
    match name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(os::terminal::line(name)),
    }
}

/// Texts stored one after the other, at most four gigabytes.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    all: String,
    /// The end of each text.
    ends: Vec<u32>,
}

impl Texts {
    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The size of all texts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all.len()
    }

    /// Adds a text and returns its number.
    pub(crate) fn push(&mut self, text: &str) -> u32 {
        self.all.push_str(text);
        self.ends.push(self.all.len() as u32);
        (self.ends.len() - 1) as u32
    }

    /// The text with this number, or an empty one.
    pub(crate) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let range = self.ends.get(number).map(|end| start.unwrap_or(0) as usize..*end as usize);
        range.and_then(|range| self.all.get(range)).unwrap_or_default()
    }
}

/// Names by number, and numbers by name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: Texts,
    /// A hash table of name numbers plus one, with linear probing; 0 is a free slot.
    slots: Vec<u32>,
    /// Its key is random per process, so that nobody can choose names that collide.
    hasher: RandomState,
}

impl Names {
    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The size of all names, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.bytes()
    }

    /// The name with this number, or an empty one.
    pub(crate) fn get(&self, number: u32) -> &str {
        self.texts.get(number)
    }

    /// The number of a known name.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.place(name).ok()
    }

    /// The number of a name, which is added if it is new.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if 4 * (self.len() + 1) > 3 * self.slots.len() {
            self.grow();
        }
        match self.place(name) {
            Ok(number) => number,
            Err(free) => {
                let number = self.texts.push(name);
                if let Some(slot) = self.slots.get_mut(free) {
                    *slot = number + 1;
                }
                number
            }
        }
    }

    /// The number of a name, or the free slot for it.
    fn place(&self, name: &str) -> Result<u32, usize> {
        let mut slot = self.first(name);
        loop {
            match self.slots.get(slot) {
                None | Some(0) => return Err(slot),
                Some(held) if self.texts.get(held - 1) == name => return Ok(held - 1),
                Some(_) => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// The slot at which the search for a name starts.
    fn first(&self, name: &str) -> usize {
        self.hasher.hash_one(name) as usize & self.slots.len().saturating_sub(1)
    }

    /// Doubles the number of slots, which stays a power of two.
    fn grow(&mut self) {
        self.slots = vec![0; (2 * self.slots.len()).max(16)];
        for number in 0..self.len() as u32 {
            if let Err(free) = self.place(self.texts.get(number)) {
                self.slots[free] = number + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_number() {
        let mut names = Names::default();
        assert_eq!((names.find("a"), names.get(0)), (None, ""));
        for _ in 0..2 {
            for number in 0..10_000 {
                assert_eq!(names.number(&format!("host{number}")), number);
            }
        }
        assert_eq!(names.number(""), 10_000);
        assert_eq!(
            (names.len(), names.find("host77"), names.find("host")),
            (10_001, Some(77), None)
        );
        assert_eq!((names.get(77), names.get(10_000), names.get(10_001)), ("host77", "", ""));
        assert_eq!(names.bytes(), (0..10_000).map(|n| format!("host{n}").len()).sum::<usize>());
    }
}
