//! The machine that this process runs on, and how this process uses it.

use host::Roots;
use model::Machine;
use model::machine::{Hold, LoadUser, UserChoice};
use os::user::Origin;

/// All that is known of it, and the guest that it is where tailback made it. `hold` says whether
/// this run has it alone; none where it does not load it.
pub fn here(hold: Option<Hold>) -> Machine {
    let guest = guest::inside();
    // The host's lock is not seen from a guest, which has one run at a time.
    let hold = hold.filter(|_| guest.is_none());
    Machine { guest, hold, load_user: Some(load_user()), ..host::machine(&Roots::real()) }
}

fn load_user() -> LoadUser {
    let caller = || LoadUser {
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        chosen: UserChoice::Caller,
    };
    os::user::unprivileged().map_or_else(caller, |account| LoadUser {
        uid: account.user.uid(),
        gid: account.user.gid(),
        chosen: match account.origin {
            Origin::Sudo => UserChoice::Sudo,
            Origin::System => UserChoice::System,
        },
    })
}
