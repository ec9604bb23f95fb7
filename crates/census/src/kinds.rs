//! Kinds of hosts, each with a number.

use model::Identity;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Most kinds that are distinguished; a real fleet has hundreds.
pub const MOST_KINDS: usize = 100_000;

/// The number for the kinds of all further hosts.
pub const OTHERS: u32 = u32::MAX;

/// The longest JSON text of an identity that is remembered, in bytes.
const LONGEST_KNOWN: usize = 2 << 10;

/// Most bytes of the names and texts of all kinds. A real fleet has a few hundred thousand.
const MOST_BYTES: usize = 64 << 20;

/// The properties that hosts of one kind share, with the OTP of their study.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKind {
    /// The identity of the machine.
    pub identity: Identity,
    /// The OTP release.
    pub otp: Option<String>,
}

impl HostKind {
    /// The approximate size of its names, in bytes.
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

/// All kinds seen so far; shared by the reading threads.
#[derive(Debug, Default)]
pub struct Kinds(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Kinds by the text of a record. Hosts of one kind have the same text, which is parsed only
    /// once.
    by_text: HashMap<Box<str>, u32>,
    by_kind: HashMap<HostKind, u32>,
    /// Bytes of both maps.
    bytes: usize,
}

impl Kinds {
    /// The number of the kind with this text, if the text was seen before.
    pub fn known(&self, text: &str) -> Option<u32> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.by_text.get(text).copied()
    }

    /// The number of a kind. It is remembered for this text.
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

    /// All kinds, indexed by number.
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
