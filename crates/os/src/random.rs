//! Random numbers, even if no file can be opened any more.

use rustix::rand::{GetRandomFlags, getrandom};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;

/// A number that nobody can guess.
///
/// The number comes from a system call that needs no descriptor. A kernel before Linux 3.17 has
/// no such call. Then the number is made of time and process, and only differs from call to call.
pub fn number() -> u64 {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(8) => u64::from_ne_bytes(bytes),
        _ => made_up(),
    }
}

fn made_up() -> u64 {
    let mut hasher = DefaultHasher::new();
    (SystemTime::now(), std::process::id()).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ() {
        assert_ne!(number(), number());
        assert_ne!(made_up(), number());
    }
}
