//! A bounded cache for results that follow from their key alone, so that it may be a static.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of results that are kept.
const MOST: usize = 10_000;

/// Results by their key.
pub(crate) struct Cache<K, V>(Mutex<BTreeMap<K, V>>);

impl<K: Ord, V: Clone> Cache<K, V> {
    /// An empty cache.
    pub(crate) const fn new() -> Self {
        Cache(Mutex::new(BTreeMap::new()))
    }

    /// The result for this key. It is computed if it is not in the cache. If the cache is full, it
    /// starts anew.
    pub(crate) fn get(&self, key: K, compute: impl FnOnce() -> V) -> V {
        if let Some(found) = self.known().get(&key) {
            return found.clone();
        }
        let found = compute();
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, found.clone());
        found
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_result_and_is_computed_once_while_there_is_room() {
        let cache = Cache::new();
        let mut computed = 0;
        for _ in 0..2 {
            for key in 0..3 {
                let found = cache.get(key, || {
                    computed += 1;
                    key * 2
                });
                assert_eq!(found, key * 2);
            }
        }
        assert_eq!(computed, 3);
        (0..MOST * 2).for_each(|key| assert_eq!(cache.get(key, || key * 2), key * 2));
        assert!(cache.known().len() <= MOST);
    }
}
