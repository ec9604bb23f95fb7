//! Sentences about live systems.

use super::Lines;

/// Each with its variant.
pub fn lines() -> Lines {
    Vec::new()
}
