//! The machine that this process runs on, and how this process uses it.

use host::Roots;
use model::Machine;
use model::machine::{Hold, LoadUser, UserChoice};
use os::user::Origin;

/// All facts about the machine. If it is a guest of tailback, this includes the facts about the
/// guest. `hold` says whether this run has the machine alone; None if this run does not load it.
pub fn here(hold: Option<Hold>) -> Machine {
    let guest = guest::inside();
    // A guest cannot see the lock of the host. It runs only one run at a time.
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
