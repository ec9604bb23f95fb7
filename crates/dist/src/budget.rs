//! One limit on the memory that the answers of all nodes take together.
//!
//! Each node is asked by a thread of its own, and each could send as much as one message may hold.

use model::live::NodeProblem;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory for the answers of several nodes. Clones are the same memory.
#[derive(Debug, Clone)]
pub struct Budget {
    most: usize,
    used: Arc<AtomicUsize>,
}

impl Budget {
    /// This many bytes, none of which is used yet.
    pub fn new(most: usize) -> Self {
        Budget { most, used: Arc::default() }
    }

    /// A share of it, empty at first.
    pub(crate) fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

/// A budget of this many bytes is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full(usize);

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} bytes", self.0)
    }
}

impl std::error::Error for Full {}

impl From<Full> for NodeProblem {
    fn from(full: Full) -> Self {
        NodeProblem::Memory((full.0 >> 20) as u64)
    }
}

/// The part of a budget that one thing uses. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    /// Makes it this large.
    ///
    /// # Errors
    /// If the budget has not so much left; then the share stays as it was.
    pub fn set(&mut self, bytes: usize) -> Result<(), Full> {
        if bytes > self.bytes {
            self.take(bytes - self.bytes)?;
        } else {
            self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Makes it larger by this much.
    ///
    /// # Errors
    /// Those of [`Share::set`].
    pub fn add(&mut self, more: usize) -> Result<(), Full> {
        self.set(self.bytes.saturating_add(more))
    }

    /// Gives all of it back.
    pub fn clear(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }

    fn take(&self, more: usize) -> Result<(), Full> {
        let most = self.budget.most;
        let with = |used: usize| used.checked_add(more).filter(|all| *all <= most);
        let taken = self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with);
        taken.map(drop).map_err(|_| Full(most))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_together_are_no_larger_than_the_budget() {
        let budget = Budget::new(3 << 20);
        let (mut one, mut other) = (budget.share(), budget.clone().share());
        one.set(2 << 20).unwrap();
        other.set(1 << 20).unwrap();
        assert_eq!(NodeProblem::from(other.add(1).unwrap_err()), NodeProblem::Memory(3));
        assert!(other.set(usize::MAX).is_err() && other.add(usize::MAX).is_err());
        one.set(1 << 20).unwrap();
        other.add(1 << 20).unwrap();
        drop(one);
        other.add(1 << 20).unwrap();
        other.clear();
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
