//! The handshake of two nodes: their names, and the proof that both know the cookie.
//!
//! Long messages and long waits are refused. A node gets a proof of the cookie only after it has
//! announced its name. The protocol: "Distribution Handshake" in Erlang's ERTS User's Guide.

use crate::cookie::Cookie;
use crate::name::NodeName;
use crate::timed::Timed;
use beam::Pid;
use model::live::NodeProblem;
use os::time;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest message of a handshake, and the most bytes of all its messages together. Names
/// have at most 255 bytes.
const LONGEST: usize = 1 << 10;
const MOST: usize = 4 << 10;

/// The first byte of each message: our name; the node's verdict on our name; the node's name with
/// a number to prove the cookie by; the same in an older form; our proof; the node's proof.
const NAME: u8 = b'N';
const STATUS: u8 = b's';
const CHALLENGE: u8 = b'N';
const OLD_CHALLENGE: u8 = b'n';
const REPLY: u8 = b'r';
const ACK: u8 = b'a';

/// The start of what TLS sends to a peer that does not speak it: an alert of version 3.
const ALERT: [u8; 2] = [21, 3];

/// The capabilities that we announce. `PUBLISHED` is missing, so we are hidden.
const FLAGS: u64 = 0x4 // EXTENDED_REFERENCES
    | 0x8 // DIST_MONITOR
    | 0x10 // FUN_TAGS
    | 0x80 // NEW_FUN_TAGS
    | 0x100 // EXTENDED_PIDS_PORTS
    | 0x200 // EXPORT_PTR_TAG
    | 0x400 // BIT_BINARIES
    | 0x800 // NEW_FLOATS
    | 0x4000 // SMALL_ATOM_TAGS
    | 0x1_0000 // UTF8_ATOMS
    | 0x2_0000 // MAP_TAGS
    | 0x4_0000 // BIG_CREATION
    | 0x40_0000 // EXIT_PAYLOAD
    | 0x100_0000 // HANDSHAKE_23
    | 0x200_0000 // UNLINK_ID
    | 0x400_0000 // MANDATORY_25_DIGEST
    | 1 << 32 // SPAWN
    | 1 << 34; // V4_NC

/// Why a handshake failed.
#[derive(Debug)]
pub enum Greeting {
    /// A node with our name is connected there already.
    NameTaken,
    /// It failed for another reason.
    Failed(NodeProblem),
}

impl From<NodeProblem> for Greeting {
    fn from(error: NodeProblem) -> Self {
        Greeting::Failed(error)
    }
}

/// A process at each end of a connection.
#[derive(Debug, Clone)]
pub struct Pids {
    /// Our process. It exists only as a number: processes on the node are linked to it.
    pub own: Pid,
    /// The first process of the node.
    pub init: Pid,
}

/// Greets `node` under our name `own`. If this node has proved the cookie before, an end of the
/// connection after our proof need not mean that the proof was wrong: the node may have ended.
///
/// # Errors
/// If the node has another name, refuses us or does not know the cookie, or if the peer is no
/// node.
pub fn greet(
    stream: &TcpStream,
    (node, own): (&NodeName, &NodeName),
    (cookie, has_proved): (&Cookie, bool),
    until: Instant,
) -> Result<Pids, Greeting> {
    let mut messages = Messages {
        timed: Timed::new(stream, until, MOST),
        began: Instant::now(),
        is_announced: false,
        has_proved,
    };
    let creation = random();
    let name = own.to_string();
    // A name has at most 255 bytes.
    let length = name.len() as u16;
    messages.send(&[
        &[NAME],
        &FLAGS.to_be_bytes(),
        &creation.to_be_bytes(),
        &length.to_be_bytes(),
        name.as_bytes(),
    ])?;
    status(&messages.next()?)?;
    let theirs = messages.next()?;
    let number = challenge(&theirs, &node.to_string())?;
    messages.is_announced = true;
    let ours = random();
    messages.send(&[&[REPLY], &ours.to_be_bytes(), &proof(cookie, number)])?;
    match messages.next()?.split_first() {
        Some((&ACK, digest)) if digest == proof(cookie, ours) => {}
        Some((&ACK, _)) => return Err(NodeProblem::WrongCookie.into()),
        _ => return Err(nonsense("a greeting without a proof").into()),
    }
    let init = Pid::new(node.to_string(), 0, 0, creation_of(&theirs));
    Ok(Pids { own: Pid::new(name, 1, 0, creation), init })
}

/// The node's verdict on our name.
fn status(message: &[u8]) -> Result<(), Greeting> {
    match message.split_first() {
        Some((&STATUS, b"ok" | b"ok_simultaneous")) => Ok(()),
        Some((&STATUS, b"alive" | b"nok")) => Err(Greeting::NameTaken),
        Some((&STATUS, b"not_allowed")) => {
            Err(NodeProblem::Refused("not allowed".to_owned()).into())
        }
        _ => Err(nonsense("a greeting without a status").into()),
    }
}

/// The number to prove the cookie by, if the message is from the node that was asked for.
fn challenge(message: &[u8], wanted: &str) -> Result<u32, NodeProblem> {
    let without = || nonsense("a greeting without a name");
    let name = announced(message).ok_or_else(without)?;
    if name != wanted.as_bytes() {
        let name = String::from_utf8_lossy(name);
        return Err(NodeProblem::OtherName(os::terminal::line(&name)));
    }
    // Before the number are the tag and the flags; the older form also has the version.
    let at = if message.first() == Some(&OLD_CHALLENGE) { 7 } else { 9 };
    let number = message.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(without)?;
    Ok(u32::from_be_bytes(*number))
}

/// The node's creation, which tells its starts apart, from the message in which it announces
/// itself. The older form has none: 0.
fn creation_of(message: &[u8]) -> u32 {
    let is_new = message.first() == Some(&CHALLENGE);
    let bytes = message.get(13..).and_then(|rest| rest.first_chunk()).filter(|_| is_new);
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The proof for a number. Only a peer that knows the cookie can compute it.
fn proof(cookie: &Cookie, number: u32) -> [u8; 16] {
    md5::compute(format!("{}{number}", cookie.as_str())).0
}

fn random() -> u32 {
    (os::random::number() >> 32) as u32
}

fn nonsense(what: &str) -> NodeProblem {
    NodeProblem::Nonsense(what.to_owned())
}

/// The messages of a handshake.
struct Messages<'a> {
    timed: Timed<'a>,
    began: Instant,
    /// Whether the node has announced the name that was asked for.
    is_announced: bool,
    /// Whether it has proved the cookie over an earlier connection.
    has_proved: bool,
}

impl Messages<'_> {
    fn send(&mut self, parts: &[&[u8]]) -> Result<(), NodeProblem> {
        let message = parts.concat();
        // Our messages are short.
        let length = (message.len() as u16).to_be_bytes();
        let sent = self.timed.write_all(&[&length[..], &message].concat());
        sent.map_err(|error| self.problem(&error))
    }

    /// The next message, whole.
    fn next(&mut self) -> Result<Vec<u8>, NodeProblem> {
        let mut head = [0; 2];
        self.timed.read_exact(&mut head).map_err(|error| self.problem(&error))?;
        let length = usize::from(u16::from_be_bytes(head));
        if head == ALERT {
            return Err(NodeProblem::Tls);
        }
        if length > LONGEST {
            return Err(NodeProblem::Nonsense(format!("a greeting of {length} bytes is too long")));
        }
        let mut message = vec![0; length];
        self.timed.read_exact(&mut message).map_err(|error| self.problem(&error))?;
        Ok(message)
    }

    /// The problem that an error of the connection stands for.
    fn problem(&self, error: &io::Error) -> NodeProblem {
        match error {
            error if is_late(error) => silent(self.began.elapsed()),
            // The node has our proof by then, and closes the connection if the proof is wrong.
            error if is_end(error) && self.is_announced => match self.has_proved {
                true => NodeProblem::Ended,
                false => NodeProblem::WrongCookie,
            },
            error if is_end(error) => {
                let why = "it closes the connection at once; it may accept only TLS".to_owned();
                NodeProblem::Refused(why)
            }
            error => NodeProblem::Nonsense(error.to_string()),
        }
    }
}

/// The name in a message in which a node announces itself; None for any other message.
pub fn announced(message: &[u8]) -> Option<&[u8]> {
    match message.split_first()? {
        (&CHALLENGE, rest) => {
            // The flags, the number, and the creation, which tells starts of the node apart.
            let (length, rest) = rest.get(16..)?.split_first_chunk()?;
            rest.get(..usize::from(u16::from_be_bytes(*length)))
        }
        // The version, the flags and the number.
        (&OLD_CHALLENGE, rest) => rest.get(10..),
        _ => None,
    }
}

/// Whether a read or write only timed out.
pub fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Whether the other end is gone.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// No answer came within this time.
pub fn silent(within: Duration) -> NodeProblem {
    NodeProblem::Silent(time::whole_ms(within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_nodes_require_is_announced_and_no_flag_that_a_vm_uses_internally() {
        // From dist.hrl and dist.h of OTP 25 to 28: the flags that were mandatory in OTP 25, those
        // that are since OTP 26, and the one that stands for the former.
        let required: u64 = 0x107_0F94 | 1 << 34 | 0x200_0000 | 0x400_0000;
        assert_eq!(FLAGS & required, required);
        // PENDING_CONNECT and LOCAL_EXT.
        assert_eq!(FLAGS & (0x20_0000 | 1 << 36), 0);
    }

    /// A message with its length before it.
    fn framed(message: &[u8]) -> Vec<u8> {
        let length = u16::try_from(message.len()).unwrap().to_be_bytes();
        [&length, message].concat()
    }

    /// The message in which a node of this name announces itself.
    fn challenge(name: &[u8]) -> Vec<u8> {
        let length = u16::try_from(name.len()).unwrap().to_be_bytes();
        [b"N", &[0; 16][..], &length, name].concat()
    }

    /// Greets a peer that sends these bytes whatever it gets. Returns how the handshake ended,
    /// and all that was sent to the peer.
    fn greeted(answers: Vec<u8>, within: Duration, stays: bool) -> (Greeting, Vec<u8>) {
        greeted_again(answers, within, stays, false)
    }

    /// The same for a peer that has proved the cookie before, or has not.
    fn greeted_again(
        answers: Vec<u8>,
        within: Duration,
        stays: bool,
        has_proved: bool,
    ) -> (Greeting, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut far = listener.accept().unwrap().0;
            // Reads our name, so that nothing is unread when the peer closes.
            let mut got = vec![0; 2 + 15 + b"tailback_1@127.0.0.1".len()];
            far.read_exact(&mut got).unwrap();
            far.write_all(&answers).unwrap();
            if !stays {
                far.shutdown(std::net::Shutdown::Write).unwrap();
            }
            let _ = far.read_to_end(&mut got);
            sender.send(got).unwrap();
        });
        let name = |name: &str| NodeName::read(&format!("{name}@127.0.0.1")).unwrap();
        let names = (&name("web"), &name("tailback_1"));
        let until = Instant::now() + within;
        let cookie = (&Cookie::of("GEHEIM", 0), has_proved);
        let greeting = greet(&stream, names, cookie, until).unwrap_err();
        drop(stream);
        (greeting, receiver.recv_timeout(LONG).unwrap())
    }

    fn problem(answers: &[&[u8]], within: Duration, stays: bool) -> (NodeProblem, Vec<u8>) {
        let answers = answers.iter().flat_map(|message| framed(message)).collect();
        match greeted(answers, within, stays) {
            (Greeting::Failed(problem), got) => (problem, got),
            (Greeting::NameTaken, _) => panic!("our name is taken"),
        }
    }

    /// Whether a proof of the cookie was sent after our name.
    fn has_proof(got: &[u8]) -> bool {
        let name = 2 + usize::from(u16::from_be_bytes([got[0], got[1]]));
        got.len() > name
    }

    #[test]
    fn who_announces_another_name_or_none_gets_no_proof_of_the_cookie() {
        let wrong = |name: &str| NodeProblem::OtherName(name.to_owned());
        let mut cut = challenge(b"web@127.0.0.1");
        cut.truncate(20);
        let old = [b"n", &[0; 10][..], b"eve@127.0.0.1"].concat();
        for (announced, wanted) in [
            (challenge(b"eve@127.0.0.1"), Some(wrong("eve@127.0.0.1"))),
            (challenge(b"web@127.0.0.11"), Some(wrong("web@127.0.0.11"))),
            (challenge(b"web@127.0.0."), Some(wrong("web@127.0.0."))),
            (challenge(b"\x1b[2Jweb"), Some(wrong(" [2Jweb"))),
            (challenge(b""), Some(wrong(""))),
            (old, Some(wrong("eve@127.0.0.1"))),
            (cut, None),
            (b"sok".to_vec(), None),
            (b"N".to_vec(), None),
            (Vec::new(), None),
        ] {
            let (problem, got) = problem(&[b"sok", &announced], LONG, true);
            assert!(!has_proof(&got), "{announced:?}");
            match wanted {
                Some(wanted) => assert_eq!(problem, wanted),
                None => assert!(matches!(problem, NodeProblem::Nonsense(_)), "{problem:?}"),
            }
        }
    }

    #[test]
    fn the_proof_of_the_node_is_looked_at_too() {
        let named = challenge(b"web@127.0.0.1");
        let (refused, got) = problem(&[b"sok", &named, &[b"a", &[7; 16][..]].concat()], LONG, true);
        assert_eq!((refused, has_proof(&got)), (NodeProblem::WrongCookie, true));
        let (refused, _) = problem(&[b"sok", &named], LONG, false);
        assert_eq!(refused, NodeProblem::WrongCookie);
    }

    #[test]
    fn a_node_that_has_proved_the_cookie_before_may_have_ended() {
        let named = challenge(b"web@127.0.0.1");
        let wrong = [b"a", &[7; 16][..]].concat();
        let again = |messages: &[&[u8]]| {
            let answers = messages.iter().flat_map(|message| framed(message)).collect();
            match greeted_again(answers, LONG, false, true) {
                (Greeting::Failed(problem), _) => problem,
                (Greeting::NameTaken, _) => panic!("our name is taken"),
            }
        };
        assert_eq!(again(&[b"sok", &named]), NodeProblem::Ended);
        assert_eq!(again(&[b"sok", &named, &wrong]), NodeProblem::WrongCookie);
        assert!(matches!(again(&[b"sok"]), NodeProblem::Refused(_)));
    }

    #[test]
    fn a_greeting_that_never_ends_does() {
        let short = Duration::from_millis(200);
        assert!(matches!(problem(&[b"sok"], short, true).0, NodeProblem::Silent(100..)));
        // A length that no handshake has, and what TLS sends.
        let (Greeting::Failed(long), _) = greeted(vec![255, 255, b's'], LONG, true) else {
            panic!("taken")
        };
        assert_eq!(long, NodeProblem::Nonsense("a greeting of 65535 bytes is too long".to_owned()));
        let (Greeting::Failed(tls), _) = greeted(vec![21, 3, 3, 0, 2, 2, 40], LONG, true) else {
            panic!("taken")
        };
        assert_eq!(tls, NodeProblem::Tls);
        assert!(matches!(problem(&[], LONG, false).0, NodeProblem::Refused(_)));
        let (taken, _) = greeted(framed(b"salive"), LONG, true);
        assert!(matches!(taken, Greeting::NameTaken));
        assert!(matches!(problem(&[b"snot_allowed"], LONG, true).0, NodeProblem::Refused(_)));
    }
}
