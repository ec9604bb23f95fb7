//! Kinds of hosts, each known by a number.

use model::Identity;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Kinds that are told apart, at most; a real fleet has hundreds.
pub const MOST_KINDS: usize = 100_000;

/// The kind of all hosts beyond that.
pub const OTHERS: u32 = u32::MAX;

/// The longest JSON of an identity whose kind is remembered by its very text, in bytes.
const LONGEST_KNOWN: usize = 2 << 10;

/// Bytes of the names of all kinds and of their texts, at most; a real fleet has some hundred
/// thousand.
const MOST_BYTES: usize = 64 << 20;

/// What a host shares with others of its kind, with the OTP that its study ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKind {
    /// What its machine is.
    pub identity: Identity,
    /// The OTP.
    pub otp: Option<String>,
}

impl HostKind {
    /// About how many bytes its names take.
    fn bytes(&self) -> usize {
        let identity = &self.identity;
        let always = [&identity.kernel, &identity.arch];
        let maybe = [
            &identity.series,
            &identity.preemption,
            &identity.cpu_model,
            &identity.product,
            &identity.cgroup,
            &identity.distribution,
            &self.otp,
        ];
        let all = always.into_iter().chain(maybe.into_iter().flatten()).chain(&identity.otps);
        size_of::<Self>() + all.map(|name| name.len() + size_of::<String>()).sum::<usize>()
    }
}

/// All kinds that were seen; shared by the threads that read.
#[derive(Debug, Default)]
pub struct Kinds(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By the text of a record: hosts of a kind have the same text, which need not be parsed again.
    by_text: HashMap<Box<str>, u32>,
    by_kind: HashMap<HostKind, u32>,
    /// Bytes of both.
    bytes: usize,
}

impl Kinds {
    /// The kind that stands for this text, where it was seen before.
    pub fn known(&self, text: &str) -> Option<u32> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.by_text.get(text).copied()
    }

    /// The number of a kind, which this text stands for too.
    pub fn number(&self, text: &str, kind: HostKind) -> u32 {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = known.by_kind.len();
        let number = match known.by_kind.get(&kind) {
            Some(number) => *number,
            None if next >= MOST_KINDS || known.bytes >= MOST_BYTES => return OTHERS,
            None => {
                let number = u32::try_from(next).unwrap_or(OTHERS);
                known.bytes += kind.bytes();
                known.by_kind.insert(kind, number);
                number
            }
        };
        let has_room = known.by_text.len() < 2 * MOST_KINDS && known.bytes < MOST_BYTES;
        if text.len() <= LONGEST_KNOWN && has_room {
            known.bytes += text.len();
            known.by_text.insert(text.into(), number);
        }
        number
    }

    /// All kinds, each at the place of its number.
    pub fn all(&self) -> Vec<HostKind> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = vec![HostKind::default(); known.by_kind.len()];
        for (kind, number) in &known.by_kind {
            if let Some(place) = all.get_mut(*number as usize) {
                place.clone_from(kind);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_kind_have_one_number() {
        let kinds = Kinds::default();
        let kind = |kernel: &str| {
            let identity = Identity { kernel: kernel.to_owned(), ..Identity::default() };
            HostKind { identity, otp: None }
        };
        assert_eq!(kinds.known("a"), None);
        assert_eq!(kinds.number("a", kind("6.1")), 0);
        assert_eq!(kinds.number("b", kind("5.10")), 1);
        assert_eq!(kinds.number("c", kind("6.1")), 0);
        assert_eq!(
            (kinds.known("a"), kinds.known("b"), kinds.known("c")),
            (Some(0), Some(1), Some(0))
        );
        assert_eq!(kinds.all(), [kind("6.1"), kind("5.10")]);
    }

    #[test]
    fn kinds_of_endless_names_end() {
        let kinds = Kinds::default();
        let kind = |number: usize| {
            let otps = (0..64).map(|place| format!("{number} {place} {}", "x".repeat(240)));
            HostKind {
                identity: Identity { otps: otps.collect(), ..Identity::default() },
                otp: None,
            }
        };
        let told = (0..8000).filter(|number| kinds.number("text", kind(*number)) != OTHERS).count();
        assert!((3000..5000).contains(&told), "{told}");
        assert!(told < MOST_KINDS && kinds.0.read().unwrap().bytes < MOST_BYTES + (1 << 16));
    }
}
