//! Whether the other end of a connection may get a proof of the cookie.
//!
//! The proof is a digest of the cookie and of a number that the other end chooses. A process that
//! has the port but not the cookie could pass a node's number on to us, and our digest on to the
//! node. The node would then accept its connection. So the owner of a port of this machine is
//! checked before anything is sent.

use crate::cookie::Cookie;
use crate::sockets::{self, Socket};
use model::live::NodeProblem;
use os::time;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

/// The first pause before the table is read again, and the longest pause.
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The user whom some kernels report as the owner of a connection that was not accepted yet.
const ROOT: u32 = 0;

/// How often a connection is looked for that is not in the table. Others come and go while the
/// table is read, and one that stays may be missed.
const LOOKS: u32 = 3;

/// Whether an address belongs to this machine, judged by the route that a packet to it would
/// take. No packet is sent.
pub fn is_here(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    let any: IpAddr = match ip {
        IpAddr::V4(_) => [0; 4].into(),
        IpAddr::V6(_) => [0; 16].into(),
    };
    let from = || {
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect((ip, 9)).ok()?;
        Some(socket.local_addr().ok()?.ip().to_canonical())
    };
    ip.is_loopback() || ip.is_unspecified() || from() == Some(ip)
}

/// Refuses a connection if its other end belongs to a user who must not get the cookie. For an
/// address of another machine, no owner can be seen.
///
/// # Errors
/// If the other end belongs to such a user, was not accepted in time, or has no owner that can be
/// found out.
pub fn verify(
    stream: &TcpStream,
    is_here: bool,
    cookie: &Cookie,
    until: Instant,
) -> Result<(), NodeProblem> {
    let failed = |error: std::io::Error| NodeProblem::Connect(error.to_string());
    let own = stream.local_addr().map_err(failed)?;
    let peer = stream.peer_addr().map_err(failed)?;
    let mut other_end = OtherEnd { stream, own, peer };
    judge(&mut other_end, is_here, cookie, until)
}

/// What is known of the other end of a connection.
trait Seen {
    fn socket(&mut self) -> Result<Option<Socket>, NodeProblem>;
    fn is_closed(&mut self) -> bool;
}

struct OtherEnd<'a> {
    stream: &'a TcpStream,
    own: SocketAddr,
    peer: SocketAddr,
}

impl Seen for OtherEnd<'_> {
    fn socket(&mut self) -> Result<Option<Socket>, NodeProblem> {
        let found = sockets::find(Path::new(sockets::NET), self.peer, self.own);
        found.map_err(|error| NodeProblem::UnknownOwner(error.to_string()))
    }

    fn is_closed(&mut self) -> bool {
        let peeked = self
            .stream
            .set_nonblocking(true)
            .and_then(|()| self.stream.peek(&mut [0]))
            .map_err(|error| error.kind());
        let _ = self.stream.set_nonblocking(false);
        !matches!(peeked, Ok(1..) | Err(ErrorKind::WouldBlock | ErrorKind::Interrupted))
    }
}

fn judge(
    other_end: &mut impl Seen,
    is_here: bool,
    cookie: &Cookie,
    until: Instant,
) -> Result<(), NodeProblem> {
    let began = Instant::now();
    let (mut before, mut missed, mut pause) = (None, 0, PAUSE);
    let check = |uid: u32| match cookie.is_for(uid) {
        true => Ok(()),
        false => Err(NodeProblem::ForeignPort { port_user: uid, cookie_user: cookie.owner() }),
    };
    loop {
        match other_end.socket()? {
            Some(Socket { is_open: false, .. }) => return Err(closed()),
            Some(Socket { uid, .. }) if uid != ROOT && !cookie.is_for(uid) => return check(uid),
            // Until a connection is accepted, root may be reported in place of its owner. User and
            // inode are not read at one moment, so only a second look that shows the same user
            // and inode counts.
            Some(socket) if socket.inode > 0 && before == Some(socket) => return check(socket.uid),
            Some(socket) if socket.inode > 0 => before = Some(socket),
            Some(_) if Instant::now() >= until => return Err(silent(began)),
            Some(_) => wait(&mut pause),
            None if other_end.is_closed() => return Err(closed()),
            None if missed + 1 >= LOOKS => return if is_here { Err(hidden()) } else { Ok(()) },
            None => {
                missed += 1;
                wait(&mut pause);
            }
        }
    }
}

fn wait(pause: &mut Duration) {
    std::thread::sleep(*pause);
    *pause = (*pause * 2).min(LONGEST_PAUSE);
}

fn closed() -> NodeProblem {
    NodeProblem::Refused("it closes the connection at once; it may accept only TLS".to_owned())
}

fn hidden() -> NodeProblem {
    let why = "no visible process has the other end of the connection; it may be in a container";
    NodeProblem::UnknownOwner(why.to_owned())
}

fn silent(since: Instant) -> NodeProblem {
    NodeProblem::Silent(time::whole_ms(since.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What is seen, one look after the other. The last entry repeats.
    struct Looks(Vec<Option<Socket>>, bool);

    impl Seen for Looks {
        fn socket(&mut self) -> Result<Option<Socket>, NodeProblem> {
            let next = self.0[0];
            if self.0.len() > 1 {
                self.0.remove(0);
            }
            Ok(next)
        }

        fn is_closed(&mut self) -> bool {
            self.1
        }
    }

    const EVE: u32 = 65_533;

    fn seen(uid: u32, inode: u64) -> Option<Socket> {
        Some(Socket { is_open: true, uid, inode })
    }

    fn judged(looks: &[Option<Socket>], is_here: bool) -> Result<(), NodeProblem> {
        judged_within(Duration::from_mins(1), looks, is_here)
    }

    fn judged_within(
        time: Duration,
        looks: &[Option<Socket>],
        is_here: bool,
    ) -> Result<(), NodeProblem> {
        let until = Instant::now() + time;
        judge(&mut Looks(looks.to_vec(), false), is_here, &Cookie::of("GEHEIM", 1_000), until)
    }

    #[test]
    fn the_owner_of_the_cookie_gets_a_proof_once_it_has_accepted() {
        for early in [&[seen(1_000, 0), seen(0, 0)][..], &[seen(0, 0), seen(0, 7)], &[]] {
            let looks = [early, &[seen(1_000, 7)]].concat();
            assert_eq!(judged(&looks, true), Ok(()), "{looks:?}");
        }
        let until = Instant::now() + Duration::from_mins(1);
        let mut of_root = Looks(vec![seen(0, 0), seen(0, 7)], false);
        assert_eq!(judge(&mut of_root, true, &Cookie::of("GEHEIM", 0), until), Ok(()));
        let short = Duration::from_millis(50);
        let silent = judged_within(short, &[seen(0, 0)], true);
        assert!(matches!(silent, Err(NodeProblem::Silent(_))));
    }

    #[test]
    fn nobody_else_gets_one_however_it_looks_for_a_moment() {
        let foreign = Err(NodeProblem::ForeignPort { port_user: EVE, cookie_user: 1_000 });
        // Older kernels report root until it is accepted, and user and inode are read one by one.
        for looks in [
            &[seen(EVE, 7)][..],
            &[seen(EVE, 0)],
            &[seen(0, 0), seen(EVE, 7)],
            &[seen(0, 7), seen(EVE, 7)],
            &[None, seen(0, 7), seen(0, 8), seen(EVE, 8)],
        ] {
            assert_eq!(judged(looks, true), foreign, "{looks:?}");
            assert_eq!(judged(looks, false), foreign, "{looks:?}");
        }
        // A program of root that passes connections on.
        let foreign = Err(NodeProblem::ForeignPort { port_user: 0, cookie_user: 1_000 });
        assert_eq!(judged(&[seen(0, 0), seen(0, 7)], true), foreign);
    }

    #[test]
    fn an_owner_that_cannot_be_seen_is_nobody_unless_it_is_on_another_machine() {
        assert!(matches!(judged(&[None], true), Err(NodeProblem::UnknownOwner(_))));
        assert_eq!(judged(&[None], false), Ok(()));
        let closed = Some(Socket { is_open: false, uid: 0, inode: 0 });
        assert!(matches!(judged(&[seen(0, 0), closed], true), Err(NodeProblem::Refused(_))));
        let (cookie, until) = (Cookie::of("GEHEIM", 0), Instant::now());
        let gone = judge(&mut Looks(vec![None], true), true, &cookie, until);
        assert!(matches!(gone, Err(NodeProblem::Refused(_))));
    }

    #[test]
    fn our_own_port_is_ours_and_addresses_of_this_machine_are_told_from_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let us = rustix::process::geteuid().as_raw();
        let until = || Instant::now() + Duration::from_millis(200);
        let verify = |until| verify(&near, true, &Cookie::of("GEHEIM", us), until);
        assert!(matches!(verify(until()), Err(NodeProblem::Silent(_))), "it was not accepted");
        let far = listener.accept().unwrap();
        assert_eq!(verify(until()), Ok(()));
        drop(far);
        let problem = testing::once_released(|| verify(until()).err());
        assert!(matches!(problem, NodeProblem::Refused(_)), "{problem:?}");
        for here in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
            assert!(is_here(here.parse().unwrap()), "{here}");
        }
        // Addresses reserved for documentation, which no machine has.
        for there in ["192.0.2.1", "::ffff:203.0.113.9", "2001:db8::1", "255.255.255.255"] {
            assert!(!is_here(there.parse().unwrap()), "{there}");
        }
    }
}
