//! Hostile nodes that know the cookie.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use dist::{Budget, Cookie, Owner, State, Target, Watcher};
use erl_dist::handshake::{HandshakeStatus, ServerSideHandshake};
use erl_dist::node::LocalNode;
use futures::executor::block_on;
use futures::io::AllowStdIo;
use model::live::NodeProblem;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest wait for anything; far more than it takes.
const PATIENCE: Duration = Duration::from_secs(100);

const COOKIE: &str = "GEHEIM";

/// A node that knows the cookie, and then handles each connection in a given way.
struct Fake {
    port: u16,
    greeted: Arc<AtomicU32>,
    budget: Budget,
}

impl Fake {
    /// Starts a node that announces itself under this name.
    fn start(name: &'static str, then: fn(&TcpStream)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let greeted = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&greeted);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                if greet(&stream, name) {
                    then(&stream);
                }
            }
        });
        Fake { port, greeted, budget: Budget::new(128 << 20) }
    }

    /// Asks it as `web@127.0.0.1`.
    fn watcher(&self) -> Watcher {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cookie");
        std::fs::write(&file, COOKIE).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        let cookie = Cookie::read(&file, Owner::Own).unwrap();
        let target = Target::read(&format!("web@127.0.0.1:{}", self.port), false).unwrap();
        Watcher::start(target, cookie, self.budget.clone()).unwrap()
    }

    /// Whether it stays without a figure and without a problem for this time after the first
    /// question, which the node counts in `asked`.
    fn is_silent_for(&self, time: Duration, asked: &AtomicU32) -> bool {
        let watcher = self.watcher();
        let until = Instant::now() + PATIENCE;
        while asked.load(Ordering::Relaxed) == 0 {
            assert!(Instant::now() < until, "nobody asked: {:?}", watcher.look());
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(time);
        let look = watcher.look();
        look.inside.is_none() && !matches!(look.state, State::Failed(_))
    }

    /// Asks it until it turns out that it cannot be asked.
    fn problem(&self) -> NodeProblem {
        let watcher = self.watcher();
        let until = Instant::now() + PATIENCE;
        loop {
            if let State::Failed(problem) = watcher.look().state {
                return problem;
            }
            assert!(Instant::now() < until, "{:?}", watcher.look());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Greets as a node does. Returns whether the cookie was proved.
fn greet(stream: &TcpStream, name: &str) -> bool {
    let local = LocalNode::new(name.parse().unwrap(), erl_dist::node::Creation::new(1));
    let through = AllowStdIo::new(stream);
    block_on(async {
        let mut handshake = ServerSideHandshake::new(through, local, COOKIE);
        let named = handshake.execute_recv_name().await;
        named.is_ok() && handshake.execute_rest(HandshakeStatus::Ok).await.is_ok()
    })
}

/// The next message.
fn message(mut stream: &TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

/// The reference of a question and the process that asks, as bytes; None if the message asks for
/// no value.
fn question(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let name = b"execute_call";
    message.windows(name.len()).find(|window| window == name)?;
    let from = message.strip_prefix(&[112, 131, 104, 6, 97, 29])?;
    // A tag, how many words it has, the node's name, its start and the words.
    let (reference, rest) = from.split_at_checked(5 + usize::from(*from.get(4)?) + 4 + 3 * 4)?;
    // A tag, the node's name and three numbers.
    Some((reference, rest.get(..3 + usize::from(*rest.get(2)?) + 12)?))
}

/// Asserts that a question asks for a linked process whose group leader is the node's first
/// process. The creation of the fake node is 1.
fn assert_tied_to_the_connection(message: &[u8]) {
    let init = b"Xw\x0dweb@127.0.0.1\0\0\0\0\0\0\0\0\0\0\0\x01";
    assert!(message.windows(init.len()).any(|window| window == init), "{message:?}");
    let link = b"l\0\0\0\x01w\x04linkj";
    assert!(message.windows(link.len()).any(|window| window == link), "{message:?}");
}

/// Replies to a request with the process that it has started, or with the reason why there is none.
/// Returns whether the reply was sent.
fn reply(mut stream: &TcpStream, reference: &[u8], own: &[u8], process: &[u8]) -> bool {
    let reply = [&[112, 131, 104, 5, 97, 31][..], reference, own, &[97, 1], process].concat();
    let length = u32::try_from(reply.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], &reply].concat()).is_ok()
}

/// Answers each question with a list of `count` copies of this term.
fn answer_with(mut stream: &TcpStream, term: &[u8], count: u32) {
    while let Some(message) = message(stream) {
        let Some((reference, pid)) = question(&message) else { continue };
        assert_tied_to_the_connection(&message);
        if !reply(stream, reference, pid, pid) {
            return;
        }
        let value = b"\x83h\x03a\x00w\x06return";
        let head = [&[112, 131, 104, 3, 97, 24][..], pid, pid, value];
        let list = [&[108][..], &count.to_be_bytes()].concat();
        let length = head.concat().len() + list.len() + term.len() * count as usize + 1;
        let length = u32::try_from(length).unwrap().to_be_bytes();
        let chunk = term.repeat(1_000);
        let sent = [&length[..], &head.concat(), &list].concat();
        let sent = stream.write_all(&sent).and_then(|()| {
            (0..count / 1_000).try_for_each(|_| stream.write_all(&chunk))?;
            stream.write_all(&[106])
        });
        if sent.is_err() {
            return;
        }
    }
}

/// The peak memory of this process, in MiB.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >> 10
}

#[test]
fn an_answer_of_small_maps_takes_no_gigabyte() {
    // Each map of one pair takes nine bytes on the wire and half a kilobyte as a term.
    let fake = Fake::start("web@127.0.0.1", |stream| {
        answer_with(stream, &[116, 0, 0, 0, 1, 97, 1, 97, 1], 2_166_000);
    });
    let before = most_memory();
    let NodeProblem::Nonsense(why) = fake.problem() else { panic!("it was taken") };
    assert!(why.contains("more than 64 MiB of memory"), "{why}");
    assert!(most_memory() < before + 128, "{} MiB after {before} MiB", most_memory());
}

#[test]
fn a_message_that_is_too_long_is_said_so() {
    let fake = Fake::start("web@127.0.0.1", |stream| {
        answer_with(stream, &[106], 60_000_000);
    });
    let wanted = "a message of 57 MiB; the limit is 48 MiB";
    assert_eq!(fake.problem(), NodeProblem::Nonsense(wanted.to_owned()));
}

#[test]
fn a_node_that_would_take_the_memory_of_all_fails_with_one_line() {
    let fake = Fake::start("web@127.0.0.1", |stream| answer_with(stream, &[97, 1], 3_000_000));
    let fake = Fake { budget: Budget::new(4 << 20), ..fake };
    assert_eq!(fake.problem(), NodeProblem::Memory(4));
}

#[test]
fn an_end_of_another_process_is_no_answer() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let fake = Fake::start("web@127.0.0.1", |mut stream| {
        while let Some(message) = message(stream) {
            let Some((reference, pid)) = question(&message) else { continue };
            // The same process of an earlier start of the node.
            let mut other = pid.to_vec();
            *other.last_mut().unwrap() ^= 1;
            let value = b"\x83h\x03a\x00w\x06returnj";
            let end = [&[112, 131, 104, 3, 97, 24][..], &other, pid, value].concat();
            let length = u32::try_from(end.len()).unwrap().to_be_bytes();
            let sent = [&length[..], &end].concat();
            if !reply(stream, reference, pid, pid) || stream.write_all(&sent).is_err() {
                return;
            }
            ASKED.fetch_add(1, Ordering::Relaxed);
        }
    });
    let is_silent = fake.is_silent_for(Duration::from_secs(3), &ASKED);
    assert!(is_silent, "it was taken as an answer");
}

#[test]
fn a_node_without_room_for_a_process_keeps_its_connection() {
    let fake = Fake::start("web@127.0.0.1", |stream| {
        while let Some(message) = message(stream) {
            let Some((reference, pid)) = question(&message) else { continue };
            if !reply(stream, reference, pid, b"w\x0csystem_limit") {
                return;
            }
        }
    });
    assert_eq!(fake.problem(), NodeProblem::NoProcess("system_limit".to_owned()));
    assert_eq!(fake.greeted.load(Ordering::Relaxed), 1);
}

#[test]
fn signs_of_life_without_end_are_nonsense() {
    let fake =
        Fake::start("web@127.0.0.1", |mut stream| while stream.write_all(&[0; 4_000]).is_ok() {});
    let NodeProblem::Nonsense(why) = fake.problem() else { panic!("it was taken") };
    assert!(why.contains("messages, but no answer"), "{why}");
}

#[test]
fn a_node_of_another_name_gets_no_proof_though_it_knows_the_cookie() {
    let fake = Fake::start("eve@127.0.0.1", |_| panic!("it was greeted"));
    assert_eq!(fake.problem(), NodeProblem::OtherName("eve@127.0.0.1".to_owned()));
    assert_eq!(fake.greeted.load(Ordering::Relaxed), 1);
}
