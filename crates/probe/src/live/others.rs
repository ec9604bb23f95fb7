//! Other `tailback watch` on this machine, by their programs in the kernel.

use libbpf_rs::query::ProgInfoIter;

/// A program that each `watch` loads into the kernel.
const PROGRAM: &str = "watch_switch";

/// Number of `watch` processes whose programs are in the kernel now; 0 if this process may not
/// see the programs of others.
pub fn watchers() -> usize {
    ProgInfoIter::default().filter(|program| program.name == PROGRAM).count()
}
