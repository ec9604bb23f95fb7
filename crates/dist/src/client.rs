//! A connection to a node, and questions over it.

use crate::calls::{self, Answer, Call};
use crate::cookie::Cookie;
use crate::frames::{self, Frame, Frames};
use crate::hello::{Greeting, greet, is_late, silent};
use crate::name::NodeName;
use crate::target::Target;
use crate::timed::Timed;
use beam::term::{self, atom, int, list, tuple};
use beam::{Pid, Reference, Term, wire};
use model::live::Problem;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How many of our own names are tried. Each name stays in the node's atom table, so there are
/// few, and they are always the same.
const NAMES: u32 = 8;

/// The longest single wait of a read.
const STEP: Duration = Duration::from_millis(200);

/// The longest that sending a message may take.
const WRITE: Duration = Duration::from_secs(3);

/// Interval between our signs of life. A node that hears none for a minute ends the connection.
const TICK: Duration = Duration::from_secs(10);

/// Most messages between two answers that are no answer themselves. A late node sends only a sign
/// of life every few seconds.
const UNASKED: u32 = 100_000;

/// Operation codes of the protocol.
const MONITORED_ENDED: i64 = 28;
const SPAWN_REQUEST: i64 = 29;
const SPAWN_REPLY: i64 = 31;

/// The same in each of our references.
const REFERENCE: u32 = 0x1_bacc;

/// A connection to a node.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    frames: Frames,
    own: Pid,
    number: u32,
    last_sent: Instant,
    unasked: u32,
}

impl Client {
    /// Connects, as a hidden node.
    ///
    /// # Errors
    /// If the node cannot be reached, or refuses us.
    pub fn connect(target: &Target, cookie: &Cookie, within: Duration) -> Result<Self, Problem> {
        for number in 1..=NAMES {
            match Self::connect_as(number, target, cookie, within) {
                Err(Greeting::NameTaken) => {}
                Err(Greeting::Failed(error)) => return Err(error),
                Ok(client) => return Ok(client),
            }
        }
        Err(Problem::Refused("all node names that tailback tries are taken".to_owned()))
    }

    /// Connects under one of our names.
    fn connect_as(
        number: u32,
        target: &Target,
        cookie: &Cookie,
        within: Duration,
    ) -> Result<Self, Greeting> {
        // Our name uses the node's host part: names are either all long or all short.
        let name = NodeName::read(&format!("tailback_{number}@{}", target.name.host()));
        let name = name.ok_or_else(|| Problem::Host("the host name is too long".to_owned()))?;
        let stream = target.connect(cookie, within)?;
        let until = Instant::now() + within;
        let own = greet(&stream, (&target.name, &name), cookie, until)?;
        stream.set_read_timeout(Some(STEP)).map_err(|error| ended(&error))?;
        let (frames, last_sent) = (Frames::default(), Instant::now());
        Ok(Client { stream, frames, own, number: 0, last_sent, unasked: 0 })
    }

    /// Makes a process on the node hold a system flag until the connection ends.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn hold(&mut self, flag: &str) -> Result<(), Problem> {
        let set = Call::new("erlang", "system_flag", vec![atom(flag), atom("true")]);
        // That process waits for a message that nobody sends, and ends with the link.
        let then = vec![atom("erlang"), atom("exit"), list(vec![atom("normal")])];
        let wait = Call::new("erlang", "hibernate", then);
        self.spawn(Call::all(vec![set, wait]), "link").map(drop)
    }

    /// Switches on a flag that the VM does not tie to a process. A linked process switches it off
    /// when the connection ends, even if somebody else wants it by then.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn hold_unowned(&mut self, flag: &str) -> Result<(), Problem> {
        let set = |value| vec![atom(flag), atom(value)];
        let trap = vec![atom("trap_exit"), atom("true")];
        let trap = Call::new("erlang", "process_flag", trap);
        let on = Call::new("erlang", "system_flag", set("true"));
        // The end of the link is a message that wakes the process; its last call switches the
        // flag off.
        let then = vec![atom("erlang"), atom("system_flag"), list(set("false"))];
        let wait = Call::new("erlang", "hibernate", then);
        self.spawn(Call::all(vec![trap, on, wait]), "link").map(drop)
    }

    /// Our name, as the node knows it.
    pub fn own_name(&self) -> &str {
        &self.own.node.name
    }

    /// Asks for the value of a call. Returns the number of the question.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn ask(&mut self, call: Call) -> Result<u32, Problem> {
        self.spawn(call.reported(), "monitor")
    }

    /// Waits for the answer to a question. Returns None if the answer does not come in time.
    ///
    /// # Errors
    /// If the connection has ended, or the node violates the protocol.
    pub fn wait(&mut self, number: u32, within: Duration) -> Result<Option<Answer>, Problem> {
        let until = Instant::now() + within;
        loop {
            let next = self.frames.next(&mut self.stream, until);
            self.unasked += u32::from(next.is_ok());
            if self.unasked > UNASKED {
                return Err(Problem::Nonsense(
                    "it keeps sending messages, but no answer".to_owned(),
                ));
            }
            match next {
                // Each sign of life is answered, but not more often than every `STEP`.
                Ok(Frame::Tick) if self.last_sent.elapsed() < STEP => {}
                Ok(Frame::Tick) => self.tick()?,
                Ok(Frame::Terms(bytes)) => {
                    if let Some(answer) = Self::answer(bytes, number)? {
                        self.unasked = 0;
                        return Ok(Some(answer));
                    }
                }
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(ended(&error)),
            }
            if self.last_sent.elapsed() >= TICK {
                self.tick()?;
            }
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// The answer to the question with this number; None if the message is something else.
    pub(crate) fn answer(mut bytes: Vec<u8>, number: u32) -> Result<Option<Answer>, Problem> {
        let nonsense = Problem::Nonsense;
        let length = wire::first(&bytes).map_err(nonsense)?;
        let control = wire::decode(&bytes[..length]).map_err(nonsense)?;
        let Term::Tuple(control) = &control else { return Ok(None) };
        let is_ours = |term: &Term| {
            matches!(term, Term::Reference(one)
            if one.id.get(..2) == Some(&[REFERENCE, number]))
        };
        Ok(match &control.elements[..] {
            [kind, _, _, request]
                if term::as_i64(kind) == Ok(MONITORED_ENDED) && is_ours(request) =>
            {
                bytes.drain(..length);
                Some(calls::answer(bytes))
            }
            // An atom instead of a process says why there is none.
            [kind, request, _, _, Term::Atom(_)]
                if term::as_i64(kind) == Ok(SPAWN_REPLY) && is_ours(request) =>
            {
                Some(None)
            }
            _ => None,
        })
    }

    /// Makes the node run a call in a new process, which is linked to us or monitored by us.
    /// Returns the number of the request.
    fn spawn(&mut self, call: Call, tie: &str) -> Result<u32, Problem> {
        self.number = self.number.wrapping_add(1);
        let id = vec![REFERENCE, self.number, self.own.creation];
        let request = Reference { node: self.own.node.clone(), id, creation: self.own.creation };
        let own = Term::from(self.own.clone());
        let (function, arguments) = call.spawned();
        let head = vec![int(SPAWN_REQUEST), Term::from(request), own.clone(), own];
        let control = tuple([head, vec![function, list(vec![atom(tie)])]].concat());
        self.send(control, arguments)?;
        Ok(self.number)
    }

    fn send(&mut self, control: Term, message: Term) -> Result<(), Problem> {
        self.last_sent = Instant::now();
        let terms = [wire::encode(control), wire::encode(message)];
        frames::write(&mut self.writer(), &terms).map_err(|error| ended(&error))
    }

    fn tick(&mut self) -> Result<(), Problem> {
        self.last_sent = Instant::now();
        frames::tick(&mut self.writer()).map_err(|error| ended(&error))
    }

    fn writer(&self) -> Timed<'_> {
        Timed::new(&self.stream, Instant::now() + WRITE, 0)
    }
}

/// What an error of the connection means.
fn ended(error: &io::Error) -> Problem {
    match error.kind() {
        ErrorKind::InvalidData => Problem::Nonsense(error.to_string()),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => silent(WRITE),
        _ => Problem::Ended,
    }
}
