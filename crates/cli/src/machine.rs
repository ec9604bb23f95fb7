//! The machine that this process runs on.

use host::Roots;
use model::Machine;

/// All that is known of it, and the guest that it is where tailback made it.
pub fn here() -> Machine {
    Machine { guest: guest::inside(), ..host::machine(&Roots::real()) }
}
