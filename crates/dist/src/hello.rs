//! The greeting of two nodes: names, and that each knows the cookie.
//!
//! The protocol is that of erl_dist. What comes is read here first, message by message, so that the
//! name that a node announces is known before it is sent a proof of the cookie, and no message is
//! long or slow.

use crate::cookie::Cookie;
use crate::timed::Timed;
use beam::Pid;
use erl_dist::handshake::{ClientSideHandshake, HandshakeError, HandshakeStatus};
use erl_dist::node::{Creation, LocalNode, NodeName};
use erl_dist::{DistributionFlags, LOWEST_DISTRIBUTION_PROTOCOL_VERSION};
use futures::executor::block_on;
use futures::io::AllowStdIo;
use model::live::Problem;
use os::time;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest message of a greeting, and of all together, in bytes: names have 255 at most.
const LONGEST: usize = 1 << 10;
const MOST: usize = 4 << 10;

/// The message in which a node announces itself, with a number to prove the cookie by, and its
/// tags, the old one too.
const SECOND: u32 = 2;
const CHALLENGE: u8 = b'N';
const OLD_CHALLENGE: u8 = b'n';

/// What TLS sends to somebody who does not speak it begins so: an alert of version 3.
const ALERT: [u8; 2] = [21, 3];

/// Why a greeting led nowhere.
#[derive(Debug)]
pub enum Greeting {
    /// A node of our name is connected there.
    NameTaken,
    /// It failed.
    Failed(Problem),
}

impl From<Problem> for Greeting {
    fn from(error: Problem) -> Self {
        Greeting::Failed(error)
    }
}

/// Greets the node of this name as our node of that name; the process that answers are sent to.
///
/// # Errors
/// If the node has another name, does not want us, or does not know the cookie; or it is none.
pub fn greet(
    stream: &TcpStream,
    (node, own): (&NodeName, &NodeName),
    cookie: &Cookie,
    until: Instant,
) -> Result<Pid, Greeting> {
    let began = Instant::now();
    let mut messages = Messages::new(Timed::new(stream, until, MOST), node.to_string());
    let creation = Creation::random();
    let mut local = LocalNode::new(own.clone(), creation);
    local.flags = flags();
    let through = AllowStdIo::new(&mut messages);
    let handshake = ClientSideHandshake::new(through, local, cookie.as_str());
    let greeted = block_on(exchange(handshake));
    greeted.map_err(|error| match error {
        Failure::Status(status) => refused(&status),
        Failure::Handshake(error) => messages.problem(&error, began.elapsed()).into(),
    })?;
    Ok(Pid::new(own.to_string(), 1, 0, creation.get()))
}

/// Where a greeting ended.
enum Failure {
    Status(HandshakeStatus),
    Handshake(HandshakeError),
}

async fn exchange(
    mut handshake: ClientSideHandshake<AllowStdIo<&mut Messages<'_>>>,
) -> Result<(), Failure> {
    let status = handshake.execute_send_name(LOWEST_DISTRIBUTION_PROTOCOL_VERSION).await;
    match status.map_err(Failure::Handshake)? {
        HandshakeStatus::Ok | HandshakeStatus::OkSimultaneous => {}
        other => return Err(Failure::Status(other)),
    }
    handshake.execute_rest(false).await.map(drop).map_err(Failure::Handshake)
}

fn refused(status: &HandshakeStatus) -> Greeting {
    match status {
        HandshakeStatus::Alive | HandshakeStatus::Nok => Greeting::NameTaken,
        other => Problem::Refused(format!("{other:?}")).into(),
    }
}

/// The messages of a greeting, read whole and looked at before they are given on.
struct Messages<'a> {
    timed: Timed<'a>,
    wanted: String,
    message: Vec<u8>,
    given: usize,
    count: u32,
    /// Whether the node announced itself, under the name that was asked for.
    is_announced: bool,
    wrong: Option<Problem>,
}

impl<'a> Messages<'a> {
    fn new(timed: Timed<'a>, wanted: String) -> Self {
        let message = Vec::new();
        Messages { timed, wanted, message, given: 0, count: 0, is_announced: false, wrong: None }
    }

    /// Reads the next message.
    fn fetch(&mut self) -> io::Result<()> {
        let mut head = [0; 2];
        self.timed.read_exact(&mut head)?;
        let length = usize::from(u16::from_be_bytes(head));
        if head == ALERT {
            return Err(self.refuse(Problem::Tls));
        }
        if length > LONGEST {
            let why = format!("a greeting of {length} bytes");
            return Err(self.refuse(Problem::Nonsense(why)));
        }
        self.message = [&head[..], &vec![0; length]].concat();
        self.given = 0;
        self.timed.read_exact(&mut self.message[2..])?;
        self.count += 1;
        match announced(&self.message[2..]) {
            Some(name) if name != self.wanted.as_bytes() => {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(self.refuse(Problem::OtherName(os::terminal::line(&name))));
            }
            Some(_) => self.is_announced = true,
            None if self.count == SECOND => {
                let why = "a greeting without a name".to_owned();
                return Err(self.refuse(Problem::Nonsense(why)));
            }
            None => {}
        }
        Ok(())
    }

    fn refuse(&mut self, problem: Problem) -> io::Error {
        self.wrong = Some(problem);
        self.message.clear();
        self.given = 0;
        io::ErrorKind::InvalidData.into()
    }

    /// What an error of the greeting means.
    fn problem(&self, error: &HandshakeError, took: Duration) -> Problem {
        if let Some(problem) = &self.wrong {
            return problem.clone();
        }
        match error {
            HandshakeError::CookieMismatch => Problem::WrongCookie,
            HandshakeError::Io(error) if is_late(error) => silent(took),
            // The node has our proof by then: it closes the connection of a wrong one.
            HandshakeError::Io(error) if is_end(error) && self.is_announced => Problem::WrongCookie,
            HandshakeError::Io(error) if is_end(error) => {
                let why = "it closes the connection at once; it may speak TLS alone".to_owned();
                Problem::Refused(why)
            }
            error => Problem::Nonsense(error.to_string()),
        }
    }
}

/// The name that a node announces itself under, where a message is the one that does.
pub fn announced(message: &[u8]) -> Option<&[u8]> {
    match message.split_first()? {
        (&CHALLENGE, rest) => {
            // Its flags, the number, and which of its lives it is.
            let (length, rest) = rest.get(16..)?.split_first_chunk()?;
            rest.get(..usize::from(u16::from_be_bytes(*length)))
        }
        // The version, its flags and the number.
        (&OLD_CHALLENGE, rest) => rest.get(10..),
        _ => None,
    }
}

impl Read for Messages<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.message.len() && !buffer.is_empty() {
            self.fetch()?;
        }
        let count = (&self.message[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

impl Write for Messages<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.timed.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.timed.flush()
    }
}

/// Whether a read or write has only ended its wait.
pub fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Whether the other end is gone.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// No answer came within this time.
pub fn silent(within: Duration) -> Problem {
    Problem::Silent(time::whole_ms(within))
}

/// What we understand; not `PUBLISHED`, so we are hidden.
fn flags() -> DistributionFlags {
    use DistributionFlags as Flags;
    [
        Flags::DIST_MONITOR,
        Flags::SMALL_ATOM_TAGS,
        Flags::SPAWN,
        Flags::EXPORT_PTR_TAG,
        Flags::BIT_BINARIES,
        Flags::NEW_FLOATS,
        Flags::MAP_TAGS,
        Flags::UTF8_ATOMS,
        Flags::EXTENDED_PIDS_PORTS,
        Flags::EXTENDED_REFERENCES,
        Flags::BIG_CREATION,
        Flags::HANDSHAKE_23,
        Flags::UNLINK_ID,
        Flags::V4_NC,
    ]
    .into_iter()
    .fold(Flags::mandatory(), |all, flag| all | flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(60);

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

    /// Greets somebody who sends these bytes whatever it gets, and how it ended; and all that was
    /// sent to it.
    fn greeted(answers: Vec<u8>, within: Duration, stays: bool) -> (Greeting, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut far = listener.accept().unwrap().0;
            // Its name, so that nothing is unread where it closes.
            let mut got = vec![0; 2 + 15 + b"tailback_1@127.0.0.1".len()];
            far.read_exact(&mut got).unwrap();
            far.write_all(&answers).unwrap();
            if !stays {
                far.shutdown(std::net::Shutdown::Write).unwrap();
            }
            let _ = far.read_to_end(&mut got);
            sender.send(got).unwrap();
        });
        let name = |name: &str| -> NodeName { format!("{name}@127.0.0.1").parse().unwrap() };
        let names = (&name("web"), &name("tailback_1"));
        let until = Instant::now() + within;
        let greeting = greet(&stream, names, &Cookie::of("GEHEIM", 0), until).unwrap_err();
        drop(stream);
        (greeting, receiver.recv_timeout(LONG).unwrap())
    }

    fn problem(answers: &[&[u8]], within: Duration, stays: bool) -> (Problem, Vec<u8>) {
        let answers = answers.iter().flat_map(|message| framed(message)).collect();
        match greeted(answers, within, stays) {
            (Greeting::Failed(problem), got) => (problem, got),
            (Greeting::NameTaken, _) => panic!("our name is taken"),
        }
    }

    /// Whether a proof of the cookie was sent behind our name.
    fn has_proof(got: &[u8]) -> bool {
        let name = 2 + usize::from(u16::from_be_bytes([got[0], got[1]]));
        got.len() > name
    }

    #[test]
    fn who_announces_another_name_or_none_gets_no_proof_of_the_cookie() {
        let wrong = |name: &str| Problem::OtherName(name.to_owned());
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
                None => assert!(matches!(problem, Problem::Nonsense(_)), "{problem:?}"),
            }
        }
    }

    #[test]
    fn the_proof_of_the_node_is_looked_at_too() {
        let named = challenge(b"web@127.0.0.1");
        let (refused, got) = problem(&[b"sok", &named, &[b"a", &[7; 16][..]].concat()], LONG, true);
        assert_eq!((refused, has_proof(&got)), (Problem::WrongCookie, true));
        let (refused, _) = problem(&[b"sok", &named], LONG, false);
        assert_eq!(refused, Problem::WrongCookie);
    }

    #[test]
    fn a_greeting_that_never_ends_does() {
        let short = Duration::from_millis(200);
        assert!(matches!(problem(&[b"sok"], short, true).0, Problem::Silent(200..)));
        // A length that is no greeting's, and what TLS sends.
        let (Greeting::Failed(long), _) = greeted(vec![255, 255, b's'], LONG, true) else {
            panic!("taken")
        };
        assert_eq!(long, Problem::Nonsense("a greeting of 65535 bytes".to_owned()));
        let (Greeting::Failed(tls), _) = greeted(vec![21, 3, 3, 0, 2, 2, 40], LONG, true) else {
            panic!("taken")
        };
        assert_eq!(tls, Problem::Tls);
        assert!(matches!(problem(&[], LONG, false).0, Problem::Refused(_)));
        let (taken, _) = greeted(framed(b"salive"), LONG, true);
        assert!(matches!(taken, Greeting::NameTaken));
        assert!(matches!(problem(&[b"snot_allowed"], LONG, true).0, Problem::Refused(_)));
    }
}
