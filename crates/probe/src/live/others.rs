//! Other `tailback watch` on this machine, by their programs in the kernel.

use libbpf_rs::query::ProgInfoIter;

/// A program that each `watch` has in the kernel.
const PROGRAM: &str = "watch_switch";

/// How many of them have their programs in the kernel now; none where this process may not see the
/// programs of others.
pub fn watchers() -> usize {
    ProgInfoIter::default().filter(|program| program.name == PROGRAM).count()
}
