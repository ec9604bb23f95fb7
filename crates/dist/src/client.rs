//! A connection to a node, and questions over it.

use crate::budget::{Budget, Full};
use crate::calls::{self, Call};
use crate::cookie::Cookie;
use crate::frames::{self, Frame, Frames};
use crate::hello::{Greeting, Pids, greet, is_late, silent};
use crate::name::NodeName;
use crate::peer;
use crate::target::Target;
use crate::timed::Timed;
use crate::view;
use beam::term::{self, atom, int, list, tuple};
use beam::{Pid, Reference, Term, wire};
use model::live::NodeProblem;
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

/// Most messages between two answers that are no answer themselves. A question also brings a reply
/// that its process has started, and a late node sends only a sign of life every few seconds.
const UNASKED: u32 = 100_000;

/// The longest first term of a message that is decoded, in bytes. It says what the message is
/// about; those that are read have some hundred bytes.
const MOST_CONTROL: usize = 64 << 10;

/// Operation codes of the protocol, by the names of its documentation.
const SEND: i64 = 2;
const PAYLOAD_EXIT: i64 = 24;
const SPAWN_REQUEST: i64 = 29;
const SPAWN_REPLY: i64 = 31;

/// The first word of each of our references.
const FIRST_WORD: u32 = 0x1_bacc;

/// The answer to a question: the bytes of its value without the version byte; None if the call
/// failed.
pub type Answer = Option<Vec<u8>>;

/// A message of the node about the processes that we asked it to start.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// The request with this number has started this process.
    Started(u32, Pid),
    /// The request with this number has started no process, for this reason.
    NotStarted(u32, String),
    /// This process has exited. The answer is the value of its call.
    Exited(Pid, Answer),
    /// A message about something else.
    Other,
}

/// A connection to a node.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    frames: Frames,
    pids: Pids,
    /// The number of the last request.
    number: u32,
    /// The process that answers the last question.
    answering: Option<Pid>,
    /// Whether the node has started no process for a flag.
    holder_not_started: bool,
    /// The request for the process that holds a flag which the VM ties to no process, and that
    /// process once it is known.
    unowned: Option<(u32, Option<Pid>)>,
    last_sent: Instant,
    unasked: u32,
}

impl Client {
    /// Connects, as a hidden node. The node has proved the cookie over an earlier connection, or it
    /// has not. What it sends counts towards this budget.
    ///
    /// # Errors
    /// If the node cannot be reached, or refuses us.
    pub fn connect(
        target: &Target,
        cookie: (&Cookie, bool),
        within: Duration,
        budget: &Budget,
    ) -> Result<Self, NodeProblem> {
        for number in 1..=NAMES {
            match Self::connect_as(number, target, cookie, within, budget) {
                Err(Greeting::NameTaken) => {}
                Err(Greeting::Failed(error)) => return Err(error),
                Ok(client) => return Ok(client),
            }
        }
        Err(NodeProblem::Refused("all node names that tailback tries are taken".to_owned()))
    }

    /// Connects under one of our names.
    fn connect_as(
        number: u32,
        target: &Target,
        cookie: (&Cookie, bool),
        within: Duration,
        budget: &Budget,
    ) -> Result<Self, Greeting> {
        // Our name uses the node's host part: names are either all long or all short.
        let name = NodeName::read(&format!("tailback_{number}@{}", target.name.host()));
        let name = name.ok_or_else(|| NodeProblem::Host("the host name is too long".to_owned()))?;
        let stream = target.connect(cookie.0, within)?;
        let until = Instant::now() + within;
        let pids = greet(&stream, (&target.name, &name), cookie, until)?;
        stream.set_read_timeout(Some(STEP)).map_err(|error| ended(&error))?;
        let (frames, last_sent) = (Frames::new(budget), Instant::now());
        Ok(Client {
            stream,
            frames,
            pids,
            number: 0,
            answering: None,
            holder_not_started: false,
            unowned: None,
            last_sent,
            unasked: 0,
        })
    }

    /// Makes a process on the node hold a system flag until the connection ends.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn hold(&mut self, flag: &str) -> Result<(), NodeProblem> {
        let set = Call::new("erlang", "system_flag", vec![atom(flag), atom("true")]);
        // That process waits for a message that nobody sends, and ends with the link.
        let then = vec![atom("erlang"), atom("exit"), list(vec![atom("normal")])];
        let wait = Call::new("erlang", "hibernate", then);
        self.spawn(Call::all(vec![set, wait])).map(drop)
    }

    /// Switches on a flag that the VM does not tie to a process. A linked process switches it off
    /// when it is released or the connection ends, even if somebody else wants it by then.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn hold_unowned(&mut self, flag: &str) -> Result<(), NodeProblem> {
        let set = |value| vec![atom(flag), atom(value)];
        let trap = vec![atom("trap_exit"), atom("true")];
        let trap = Call::new("erlang", "process_flag", trap);
        let on = Call::new("erlang", "system_flag", set("true"));
        // Any message wakes the process, also that of the end of the link. Its last call switches
        // the flag off.
        let then = vec![atom("erlang"), atom("system_flag"), list(set("false"))];
        let wait = Call::new("erlang", "hibernate", then);
        let number = self.spawn(Call::all(vec![trap, on, wait]))?;
        self.unowned = Some((number, None));
        Ok(())
    }

    /// Wakes the process of [`Client::hold_unowned`]: it switches its flag off and ends. The
    /// message starts no process, so a node that is full takes it too. Returns false if the node
    /// has not said which process that is; it may still say so.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn release_unowned(&mut self) -> Result<bool, NodeProblem> {
        let Some((_, Some(pid))) = &self.unowned else { return Ok(false) };
        // The second element was a cookie in old releases.
        let control = tuple(vec![int(SEND), atom(""), Term::from(pid.clone())]);
        self.send(control, atom("stop"))?;
        self.unowned = None;
        Ok(true)
    }

    /// Whether the node is on this machine, judged by its address.
    pub fn is_here(&self) -> bool {
        self.stream.peer_addr().is_ok_and(|address| peer::is_here(address.ip()))
    }

    fn started(&mut self, request: u32, pid: Pid) {
        if let Some((number, holder)) = &mut self.unowned
            && *number == request
        {
            *holder = Some(pid);
        }
    }

    /// Whether the node has started no process for a flag since this was last asked.
    pub fn take_holder_not_started(&mut self) -> bool {
        std::mem::take(&mut self.holder_not_started)
    }

    /// Sends a sign of life if the last message is some time ago.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn stay(&mut self) -> Result<(), NodeProblem> {
        if self.last_sent.elapsed() >= TICK { self.tick() } else { Ok(()) }
    }

    /// Our name, as the node knows it.
    pub fn own_name(&self) -> &str {
        &self.pids.own.node.name
    }

    /// Asks for the value of a call. Returns the number of the question.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn ask(&mut self, call: Call) -> Result<u32, NodeProblem> {
        self.answering = None;
        self.spawn(call.exits_with_value())
    }

    /// Waits for the answer to a question. Returns None if the answer does not come in time.
    ///
    /// # Errors
    /// If the connection has ended, or the node starts no process or violates the protocol.
    pub fn wait(&mut self, number: u32, within: Duration) -> Result<Option<Answer>, NodeProblem> {
        let until = Instant::now() + within;
        loop {
            let next = self.frames.next(&mut self.stream, until);
            self.unasked += u32::from(next.is_ok());
            if self.unasked > UNASKED {
                return Err(NodeProblem::Nonsense(
                    "it keeps sending messages, but no answer".to_owned(),
                ));
            }
            match next {
                // Each sign of life is answered, but not more often than every `STEP`.
                Ok(Frame::Tick) if self.last_sent.elapsed() < STEP => {}
                Ok(Frame::Tick) => self.tick()?,
                Ok(Frame::Terms(bytes)) => match read(bytes)? {
                    Message::Started(of, pid) if of == number => self.answering = Some(pid),
                    Message::Started(of, pid) => self.started(of, pid),
                    Message::NotStarted(of, why) => {
                        self.holder_not_started |= of != number;
                        return Err(NodeProblem::NoProcess(why));
                    }
                    Message::Exited(pid, answer) if self.answering.as_ref() == Some(&pid) => {
                        self.answering = None;
                        self.unasked = 0;
                        return Ok(Some(answer));
                    }
                    _ => {}
                },
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(ended(&error)),
            }
            self.stay()?;
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// The value in an answer. Its memory counts towards the budget until the next answer is waited
    /// for, so it has to be dropped before.
    ///
    /// # Errors
    /// If it is malformed or takes too much memory.
    pub fn value(&mut self, answer: &[u8]) -> Result<Term, NodeProblem> {
        let takes = wire::memory_inner(answer).map_err(NodeProblem::Nonsense)?;
        let takes = usize::try_from(takes).unwrap_or(usize::MAX);
        self.frames.hold(takes)?;
        wire::decode_inner(answer).map_err(NodeProblem::Nonsense)
    }

    /// The last answer no longer counts towards the budget: its owner counts it from now on.
    pub fn forget(&mut self) {
        // A smaller share always fits.
        let _ = self.frames.hold(0);
    }

    /// Makes the node run a call in a new process, which is linked to us and so ends with the
    /// connection. Returns the number of the request.
    fn spawn(&mut self, call: Call) -> Result<u32, NodeProblem> {
        self.number = self.number.wrapping_add(1);
        let Pids { own, init } = &self.pids;
        let id = vec![FIRST_WORD, self.number, own.creation];
        let request = Reference { node: own.node.clone(), id, creation: own.creation };
        let (function, arguments) = call.spawned();
        // A process writes to its group leader, and its log events go to the group leader's node.
        // With a group leader on our side, the node would connect to us to deliver them. `init`
        // passes written text on to the node's own `user`.
        let head = [Term::from(request), Term::from(own.clone()), Term::from(init.clone())];
        let link = list(vec![atom("link")]);
        let control = tuple([&[int(SPAWN_REQUEST)], &head[..], &[function, link]].concat());
        self.send(control, arguments)?;
        Ok(self.number)
    }

    fn send(&mut self, control: Term, message: Term) -> Result<(), NodeProblem> {
        self.last_sent = Instant::now();
        let terms = [wire::encode(control), wire::encode(message)];
        frames::write(&mut self.writer(), &terms).map_err(|error| ended(&error))
    }

    fn tick(&mut self) -> Result<(), NodeProblem> {
        self.last_sent = Instant::now();
        frames::tick(&mut self.writer()).map_err(|error| ended(&error))
    }

    fn writer(&self) -> Timed<'_> {
        Timed::new(&self.stream, Instant::now() + WRITE, 0)
    }
}

/// Reads a message.
pub(crate) fn read(mut bytes: Vec<u8>) -> Result<Message, NodeProblem> {
    let length = wire::first(&bytes).map_err(NodeProblem::Nonsense)?;
    if length > MOST_CONTROL {
        return Ok(Message::Other);
    }
    let control = wire::decode(&bytes[..length]).map_err(NodeProblem::Nonsense)?;
    let Term::Tuple(control) = control else { return Ok(Message::Other) };
    let kind = control.elements.first().and_then(|kind| term::as_i64(kind).ok());
    Ok(match (kind, control.elements.get(1..).unwrap_or_default()) {
        (Some(PAYLOAD_EXIT), [Term::Pid(pid), _]) => {
            let value = calls::value(&bytes[length..]).map(<[u8]>::len);
            // A value may be large, so it is moved only once.
            bytes.drain(..bytes.len() - value.unwrap_or(0));
            Message::Exited(pid.clone(), value.is_some().then_some(bytes))
        }
        (Some(SPAWN_REPLY), [Term::Reference(request), _, _, process]) => {
            match (&request.id[..], process) {
                ([FIRST_WORD, number, _], Term::Pid(pid)) => Message::Started(*number, pid.clone()),
                ([FIRST_WORD, number, _], Term::Atom(why)) => {
                    Message::NotStarted(*number, view::name(&why.name))
                }
                _ => Message::Other,
            }
        }
        _ => Message::Other,
    })
}

/// What an error of the connection means.
fn ended(error: &io::Error) -> NodeProblem {
    if let Some(full) = error.get_ref().and_then(|inner| inner.downcast_ref::<Full>()) {
        return NodeProblem::from(*full);
    }
    match error.kind() {
        ErrorKind::InvalidData => NodeProblem::Nonsense(error.to_string()),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => silent(WRITE),
        _ => NodeProblem::Ended,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    fn pid(id: u32) -> Pid {
        Pid::new("web@h", id, 0, 7)
    }

    /// A message of these terms.
    fn message(control: Vec<Term>, more: Option<Term>) -> Vec<u8> {
        let more = more.map(wire::encode).unwrap_or_default();
        [wire::encode(tuple(control)), more].concat()
    }

    /// The message that the request with this reference has started this.
    fn started(words: &[u32], begun: Term) -> Vec<u8> {
        let node = pid(1).node;
        let request = Reference { node, id: words.to_vec(), creation: 9 };
        let own = Term::from(pid(1));
        message(vec![int(31), Term::from(request), own, int(1), begun], None)
    }

    fn reply(words: &[u32], begun: Term) -> Message {
        read(started(words, begun)).unwrap()
    }

    /// A connection, and the end of the node.
    pub(crate) fn connected() -> (Client, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(STEP)).unwrap();
        let (node, _) = listener.accept().unwrap();
        let client = Client {
            stream,
            frames: Frames::new(&Budget::new(1 << 20)),
            pids: Pids { own: pid(1), init: pid(0) },
            number: 0,
            answering: None,
            holder_not_started: false,
            unowned: None,
            last_sent: Instant::now(),
            unasked: 0,
        };
        (client, node)
    }

    /// The node says that a request has started a process.
    pub(crate) fn starts(node: &mut TcpStream, request: u32, process: u32) {
        let started = started(&[FIRST_WORD, request, 7], Term::from(pid(process)));
        frames::write(node, &[started]).unwrap();
    }

    /// The node starts a process for a question, which answers `ok`.
    pub(crate) fn answers(node: &mut TcpStream, question: u32, process: u32) {
        answers_with(node, question, process, atom("ok"));
    }

    /// The node starts a process for a question, which answers this.
    pub(crate) fn answers_with(node: &mut TcpStream, question: u32, process: u32, value: Term) {
        starts(node, question, process);
        let control = vec![int(24), Term::from(pid(process)), Term::from(pid(1))];
        let returned = tuple(vec![int(0), atom("return"), value]);
        frames::write(node, &[message(control, Some(returned))]).unwrap();
    }

    #[test]
    fn the_holder_of_a_flag_is_released_once_and_only_if_it_is_known() {
        let (mut client, mut node) = connected();
        client.hold_unowned("microstate_accounting").unwrap();
        let unknown = client.release_unowned();
        assert_eq!(unknown, Ok(false), "the node has not said which process it is");
        starts(&mut node, client.number, 8);
        let question = client.ask(Call::new("erlang", "node", Vec::new())).unwrap();
        answers(&mut node, question, 9);
        let answer = client.wait(question, Duration::from_secs(60)).unwrap();
        assert!(answer.is_some(), "there was no answer");
        assert_eq!(client.release_unowned(), Ok(true));
        assert_eq!(client.release_unowned(), Ok(false), "it has ended");
        drop(client);
        let mut sent = Vec::new();
        node.read_to_end(&mut sent).unwrap();
        assert!(sent.ends_with(&stop_of(8)), "{sent:?}");
    }

    /// The message that wakes a process of the node.
    pub(crate) fn stop_of(process: u32) -> Vec<u8> {
        let node = b"Xw\x05web@h";
        let pid = [&node[..], &process.to_be_bytes(), &[0, 0, 0, 0, 0, 0, 0, 7]].concat();
        [&[112, 131, 104, 3, 97, 2, 119, 0][..], &pid, b"\x83w\x04stop"].concat()
    }

    fn ended(operation: i64, reason: Vec<Term>) -> Message {
        let control = vec![int(operation), Term::from(pid(5)), Term::from(pid(1))];
        read(message(control, Some(tuple(reason)))).unwrap()
    }

    #[test]
    fn a_process_is_known_by_the_request_that_started_it() {
        assert_eq!(reply(&[FIRST_WORD, 3, 9], Term::from(pid(5))), Message::Started(3, pid(5)));
        assert_eq!(reply(&[FIRST_WORD + 1, 3, 9], Term::from(pid(5))), Message::Other);
        assert_eq!(reply(&[FIRST_WORD], Term::from(pid(5))), Message::Other);
        assert_eq!(reply(&[FIRST_WORD, 3, 9], int(5)), Message::Other);
        let refused = Message::NotStarted(3, "system_limit".to_owned());
        assert_eq!(reply(&[FIRST_WORD, 3, 9], atom("system_limit")), refused);
        assert_eq!(reply(&[8, 3, 9], atom("system_limit")), Message::Other);
        let Message::NotStarted(3, why) = reply(&[FIRST_WORD, 3, 9], atom(&"x".repeat(9_000)))
        else {
            panic!("it was not refused")
        };
        assert!(why.len() < 1_000, "{}", why.len());
    }

    #[test]
    fn the_end_of_a_process_has_the_value_of_its_call() {
        let value = wire::encode(atom("ok")).split_off(1);
        let returned = vec![int(0), atom("return"), atom("ok")];
        assert_eq!(ended(24, returned.clone()), Message::Exited(pid(5), Some(value)));
        assert_eq!(
            ended(24, vec![int(0), atom("exit"), atom("ok")]),
            Message::Exited(pid(5), None)
        );
        for other in [2, 3, 25, 26, 28] {
            assert_eq!(ended(other, returned.clone()), Message::Other, "{other}");
        }
        // A hostile node could make a small first term take much memory.
        let long = vec![int(24), Term::from(pid(5)), list(vec![int(1_000); MOST_CONTROL])];
        assert_eq!(read(message(long, Some(tuple(returned)))), Ok(Message::Other));
        assert_eq!(read(message(vec![], None)), Ok(Message::Other));
        assert_eq!(read(wire::encode(atom("no_tuple"))), Ok(Message::Other));
        assert!(read(vec![131]).is_err());
    }
}
