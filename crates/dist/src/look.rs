//! A thread that asks a node again and again, and the latest answers.

use crate::budget::{Budget, Share};
use crate::calls::Call;
use crate::client::Client;
use crate::cookie::Cookie;
use crate::frames;
use crate::links;
use crate::mailboxes::{Length, Pass, slice};
use crate::micro::{self, Micro};
use crate::receives;
use crate::target::Target;
use crate::view::{self, Frame, Inside, Mailbox};
use beam::{Pid, Term};
use model::live::NodeProblem;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the node is asked, and how often the processes with the longest mailboxes are
/// sampled.
const INTERVAL: Duration = Duration::from_millis(1_000);
const SAMPLE: Duration = Duration::from_millis(100);

/// An answer that takes longer is late.
const LATE: Duration = Duration::from_secs(2);

/// How long connecting may take, and the pause before the next attempt.
const CONNECT: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_secs(5);

/// The pause before a node that started no process is asked again. The node logs each attempt.
const FULL: Duration = Duration::from_secs(30);

/// The pause for problems that last longer. For example the node is only being started, or it
/// sent nonsense after the handshake. The node logs each attempt.
const AGAIN_LATER: Duration = Duration::from_secs(60);

/// After a slice of a pass, the node is left alone for this many times the slice's duration: half
/// a percent of a CPU.
const REST: u32 = 200;

/// The longest rest after a slice, and after a list: an answer may be late for other reasons than
/// its own work. A list of all processes takes long if there are many.
const REST_MOST: Duration = Duration::from_secs(2);
const REST_MOST_LIST: Duration = Duration::from_secs(30);

/// The pause before a node with too many processes for a list is checked again.
const TOO_MANY: Duration = Duration::from_secs(10);

/// How often states of threads are counted, for two seconds each time. If processes take turns
/// millions of times a second, counting costs a sixth of the node's work.
const COUNTED_EVERY: Duration = Duration::from_secs(60);

/// The oldest OTP that is asked; the oldest one in which sending to a socket waits for a reference
/// of its own, so that it scans nothing; and the oldest one that has labels of processes.
const OLDEST: u32 = 25;
const SENDS_BY_REFERENCE: u32 = 26;
const LABELS: u32 = 27;

/// Most process names that are remembered.
const NAMES: usize = 256;

/// The shortest time between two lists of all processes; with few processes, also the usual time.
const PASS: Duration = Duration::from_secs(2);

/// Most processes with long mailboxes that are sampled, and the length from which a mailbox is
/// long.
const LOOKED_AT: usize = 4;
const LONG: u64 = 500;

/// A process is flooded if its mailbox has at least this many messages.
pub const FLOODED: u64 = 5_000;

/// Most samples, and most ended processes, that are kept until the next look. The caller may not
/// look for a while.
const UNSEEN: usize = 100;

/// Most modules whose files are asked for.
const MODULES: usize = 64;

/// Whether a node answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum State {
    /// The connection is being made.
    #[default]
    Connecting,
    /// It answers.
    Answering,
    /// It has not answered for this long.
    Silent(Duration),
    /// It cannot be asked.
    Failed(NodeProblem),
}

/// The state of a node and its latest answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// Whether it answers.
    pub state: State,
    /// Its latest figures.
    pub inside: Option<Inside>,
    /// How old these figures are.
    pub age: Duration,
    /// How long the node took to give them.
    pub took: Duration,
    /// Samples of the processes with the longest mailboxes since the previous look, oldest first.
    pub mailboxes: Vec<Vec<Mailbox>>,
    /// Whether a round of samples has ended since the previous look in which every flooded process
    /// was sampled. Which processes are flooded is known from the last pass: one that is flooded
    /// since then is missing for up to two passes. Without such a round, nothing is known of a
    /// process without a sample.
    pub sampled_all: bool,
    /// Processes with long mailboxes that have ended since the previous look.
    pub ended: Vec<String>,
    /// What its threads did since the previous look, as far as it was counted.
    pub micro: Micro,
    /// How long the last pass through all mailboxes took; None before the first pass has ended, and
    /// while the node has too many processes for one.
    pub pass: Option<Duration>,
    /// Whether the node is on this machine, judged by its address.
    pub is_here: bool,
}

/// Asks a node again and again until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    name: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    look: Look,
    at: Option<Instant>,
    asked: Option<Instant>,
}

impl Shared {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

impl Watcher {
    /// Starts to ask. The answers count towards this budget.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(target: Target, cookie: Cookie, budget: Budget) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (name, of_thread) = (target.name(), Arc::clone(&shared));
        let work = move || {
            let mut has_proved = false;
            while !of_thread.ends() {
                let cookie = (&cookie, has_proved);
                let asked = match Client::connect(&target, cookie, CONNECT, &budget) {
                    Ok(client) => {
                        has_proved = true;
                        let asked = Asking::begin(client, &target, &of_thread, &budget);
                        asked.and_then(|mut asking| asking.run()).map_err(|error| (error, true))
                    }
                    Err(error) => {
                        let is_known = ended_once(&error, &mut has_proved);
                        Err((error, is_known))
                    }
                };
                let Err((error, is_known)) = asked else { return };
                let next = again(&error, is_known);
                let mut answers = of_thread.answers();
                answers.look.state = State::Failed(error);
                answers.asked = None;
                drop(answers);
                let Some(next) = next else { return };
                pause(&of_thread, next);
            }
        };
        std::thread::Builder::new().name("node".to_owned()).spawn(work)?;
        Ok(Watcher { name, shared })
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The latest answers, with what was sampled and counted since the previous look.
    pub fn look(&self) -> Look {
        let mut answers = self.shared.answers();
        let mailboxes = std::mem::take(&mut answers.look.mailboxes);
        let ended = std::mem::take(&mut answers.look.ended);
        let sampled_all = std::mem::take(&mut answers.look.sampled_all);
        let micro = std::mem::take(&mut answers.look.micro);
        let mut look = Look { mailboxes, sampled_all, ended, micro, ..answers.look.clone() };
        look.age = answers.at.map_or(Duration::ZERO, |at| at.elapsed());
        let late = answers.asked.map(|at| at.elapsed()).filter(|waited| *waited > LATE);
        if let (State::Answering, Some(waited)) = (&look.state, late) {
            look.state = State::Silent(waited);
        }
        look
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // The thread is not joined, because it may be waiting for an address that does not answer.
        // The connection ends with the thread, or with this process.
    }
}

/// Whether a connection ended in the handshake of a node that had proved the cookie over an earlier
/// one. The node may have ended. A second end in a row means that it rejects our proof now.
fn ended_once(problem: &NodeProblem, has_proved: &mut bool) -> bool {
    let is_first = *has_proved && *problem == NodeProblem::Ended;
    *has_proved &= !is_first;
    is_first
}

/// When a node is asked again; None for never. A node that rejected our proof, or that is not the
/// one asked for, gets no second proof of the cookie. A connection that ended is made again if
/// the node had proved the cookie too: it may have been restarted. If it ended in a handshake, only
/// once (see `ended_once`). Silence may mean a node under load.
fn again(problem: &NodeProblem, is_known: bool) -> Option<Duration> {
    match problem {
        NodeProblem::Connecting
        | NodeProblem::Host(_)
        | NodeProblem::NoEpmd(_)
        | NodeProblem::NotThere
        | NodeProblem::Connect(_)
        | NodeProblem::Silent(_) => Some(AGAIN),
        NodeProblem::Ended | NodeProblem::Memory(_) => is_known.then_some(AGAIN),
        NodeProblem::Nonsense(_) => is_known.then_some(AGAIN_LATER),
        // Only while connected, and then the connection stays.
        NodeProblem::NoProcess(_) => Some(AGAIN_LATER),
        // Only our name was sent so far, and no proof.
        NodeProblem::Refused(_) | NodeProblem::UnknownOwner(_) => Some(AGAIN_LATER),
        NodeProblem::WrongCookie
        | NodeProblem::OtherName(_)
        | NodeProblem::ForeignPort { .. }
        | NodeProblem::Elsewhere(_)
        | NodeProblem::Tls
        | NodeProblem::Release(_) => None,
    }
}

fn pause(shared: &Shared, time: Duration) {
    let until = Instant::now() + time;
    while !shared.ends() && Instant::now() < until {
        std::thread::sleep(SAMPLE.min(until.saturating_duration_since(Instant::now())));
    }
}

/// The phase of counting states of threads, from one question to the next.
#[derive(Debug)]
enum Counting {
    /// Not asked about until this moment.
    Pause(Instant),
    /// Asked about, with this answer, before we switch it on.
    Before(Micro),
    /// Switched on by us; the next answer is the first of two.
    First,
    /// This was the first answer.
    Second(Micro),
}

/// A connection over which questions are asked.
struct Asking<'a> {
    client: Client,
    name: String,
    shared: &'a Shared,
    pass: Option<Pass>,
    /// The memory of the pass, and that of the functions that may scan the mailbox.
    listed: Share,
    known: Share,
    began: Instant,
    next_slice: Instant,
    longest: Vec<Length>,
    otp: u32,
    /// How many processes the node had at the last answer.
    processes: u64,
    /// The phase of counting states of threads.
    counting: Counting,
    /// Names of processes that have no registered name.
    names: BTreeMap<String, String>,
    /// For each module that was asked for, its functions that may scan the mailbox; None if its
    /// file cannot be read.
    scanning: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl<'a> Asking<'a> {
    fn begin(
        mut client: Client,
        target: &Target,
        shared: &'a Shared,
        budget: &Budget,
    ) -> Result<Self, NodeProblem> {
        client.hold("scheduler_wall_time")?;
        let mut answers = shared.answers();
        // Earlier answers came over another connection, and maybe from another node.
        answers.look.state = State::Answering;
        answers.look.inside = None;
        answers.look.micro = Micro::default();
        answers.look.pass = None;
        answers.look.is_here = client.is_here();
        drop(answers);
        let now = Instant::now();
        Ok(Asking {
            client,
            name: target.name(),
            shared,
            pass: None,
            listed: budget.share(),
            known: budget.share(),
            began: now,
            next_slice: now,
            longest: Vec::new(),
            otp: 0,
            processes: 0,
            counting: Counting::Pause(now),
            names: BTreeMap::new(),
            scanning: BTreeMap::new(),
        })
    }

    fn run(&mut self) -> Result<(), NodeProblem> {
        let mut next = Instant::now();
        while !self.shared.ends() {
            match self.step(&mut next) {
                Err(NodeProblem::NoProcess(why)) => self.wait_while_full(why)?,
                done => done?,
            }
            pause(self.shared, SAMPLE);
        }
        Ok(())
    }

    /// What is due: figures, a slice of the pass, a sample.
    fn step(&mut self, next: &mut Instant) -> Result<(), NodeProblem> {
        if Instant::now() >= *next {
            *next = Instant::now() + INTERVAL;
            self.figures()?;
        }
        if Instant::now() >= self.next_slice {
            self.go_on()?;
        }
        self.sample()
    }

    /// Reports that the node starts no process for us, and asks nothing for a while. The connection
    /// stays: a node that is full may end when it accepts another one.
    fn wait_while_full(&mut self, why: String) -> Result<(), NodeProblem> {
        let mut answers = self.shared.answers();
        answers.look.state = State::Failed(NodeProblem::NoProcess(why));
        answers.asked = None;
        drop(answers);
        // The counting costs the node time, and it would go on until the node has room again.
        if self.client.release_unowned()? {
            self.counting = Counting::Pause(Instant::now() + COUNTED_EVERY);
        }
        let until = Instant::now() + FULL;
        while !self.shared.ends() && Instant::now() < until {
            pause(self.shared, SAMPLE);
            self.client.stay()?;
        }
        if self.client.take_holder_not_started() {
            self.client.hold("scheduler_wall_time")?;
            self.counting = Counting::Pause(Instant::now());
        }
        Ok(())
    }

    /// Asks, and waits for the answer as long as it takes: a late node is not asked anything
    /// else. Returns the bytes of the value; None if the call failed, or if we are to end
    /// meanwhile.
    fn ask(&mut self, call: Call) -> Result<Option<Vec<u8>>, NodeProblem> {
        let number = self.client.ask(call)?;
        self.shared.answers().asked = Some(Instant::now());
        while !self.shared.ends() {
            if let Some(answer) = self.client.wait(number, SAMPLE)? {
                self.shared.answers().asked = None;
                return Ok(answer);
            }
        }
        Ok(None)
    }

    /// The value of a call; None if it failed, or if we are to end meanwhile. It has to be dropped
    /// before the next question: only until then does it count towards the budget.
    fn value(&mut self, call: Call) -> Result<Option<Term>, NodeProblem> {
        let Some(answer) = self.ask(call)? else { return Ok(None) };
        self.client.value(&answer).map(Some)
    }

    fn figures(&mut self) -> Result<(), NodeProblem> {
        let began = Instant::now();
        let inside = self.value(view::question())?.as_ref().and_then(view::read);
        let Some(mut inside) = inside else {
            let why = || NodeProblem::Nonsense("it has no scheduler figures".to_owned());
            return if self.shared.ends() { Ok(()) } else { Err(why()) };
        };
        self.otp = inside.otp.parse().unwrap_or(0);
        self.processes = inside.processes;
        if self.otp < OLDEST {
            return Err(NodeProblem::Release(inside.otp));
        }
        let memory = self.value(view::memory_question())?.as_ref().map(view::memory);
        inside.memory = memory.unwrap_or_default();
        let micro = self.micro()?;
        inside.queued = self.queued()?;
        let took = began.elapsed();
        let mut answers = self.shared.answers();
        answers.look.state = State::Answering;
        answers.look.inside = Some(inside);
        answers.look.micro.add(&micro);
        answers.look.took = took;
        answers.at = Some(Instant::now());
        Ok(())
    }

    /// What its threads did since the last answer; nothing while that is not counted. It is asked
    /// twice before we switch the counting on: if the answers differ, somebody else has switched it
    /// on.
    fn micro(&mut self) -> Result<Micro, NodeProblem> {
        if matches!(self.counting, Counting::Pause(until) if Instant::now() < until) {
            return Ok(Micro::default());
        }
        let now = self.value(micro::question())?.as_ref().and_then(micro::read);
        let Some(now) = now else { return Ok(Micro::default()) };
        let (gained, next) = match &self.counting {
            Counting::Pause(_) => (Micro::default(), Counting::Before(now)),
            Counting::Before(before) if *before != now => {
                (now.since(before), Counting::Before(now))
            }
            Counting::Before(_) => (Micro::default(), self.count(true)?),
            Counting::First => (Micro::default(), Counting::Second(now)),
            Counting::Second(first) => (now.since(first), self.count(false)?),
        };
        self.counting = next;
        Ok(gained)
    }

    /// Switches the counting on or off. A process on the node holds the flag meanwhile and switches
    /// it off, also when the connection ends. It ends with that: later, the flag is no longer ours.
    fn count(&mut self, on: bool) -> Result<Counting, NodeProblem> {
        if on {
            self.client.hold_unowned(micro::FLAG)?;
            return Ok(Counting::First);
        }
        if !self.client.release_unowned()? {
            self.value(micro::switch_off())?;
        }
        Ok(Counting::Pause(Instant::now() + COUNTED_EVERY))
    }

    /// The bytes that wait to be sent to other nodes.
    fn queued(&mut self) -> Result<Vec<(String, u64)>, NodeProblem> {
        let Some(answer) = self.value(links::question())? else { return Ok(Vec::new()) };
        let links = links::read(&answer, self.client.own_name());
        drop(answer);
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.value(links::queues_question(&links))?;
        Ok(answer.map(|answer| links::queues(&links, &answer)).unwrap_or_default())
    }

    /// One step of the pass through all mailboxes.
    fn go_on(&mut self) -> Result<(), NodeProblem> {
        let Some(pass) = &mut self.pass else { return self.list() };
        let Some(pids) = pass.next() else {
            if let Some(pass) = self.pass.take() {
                self.longest = pass.into_found();
                self.listed.clear();
            }
            self.shared.answers().look.pass = Some(self.began.elapsed());
            self.next_slice = Instant::now().max(self.began + PASS);
            return Ok(());
        };
        let began = Instant::now();
        let answer = self.value(slice(&pids))?;
        self.next_slice = Instant::now() + (began.elapsed() * REST).min(REST_MOST);
        if let (Some(pass), Some(answer)) = (&mut self.pass, answer) {
            pass.add(&pids, &answer);
        }
        Ok(())
    }

    fn list(&mut self) -> Result<(), NodeProblem> {
        self.began = Instant::now();
        // The node's list would be too large to be accepted.
        if Pass::bytes(self.processes, &self.name) > frames::MOST as u64 {
            self.lists_none();
            return Ok(());
        }
        let answer = self.ask(Pass::question())?;
        let took = self.began.elapsed();
        if let Some(answer) = answer {
            self.client.forget();
            // A pass takes less memory than the answer of which it is made.
            if self.listed.set(answer.len()).is_err() {
                self.lists_none();
                return Ok(());
            }
            self.pass = Pass::begin(&answer);
            self.listed.set(self.pass.as_ref().map_or(0, Pass::memory))?;
        }
        self.next_slice = Instant::now() + (took * REST).min(REST_MOST_LIST);
        Ok(())
    }

    /// The list of all processes takes too much memory; it is tried again later.
    fn lists_none(&mut self) {
        self.shared.answers().look.pass = None;
        self.next_slice = self.began + TOO_MANY;
    }

    /// Whether the function that a process is in may scan the mailbox, as far as its file tells.
    fn may_scan(&mut self, mailbox: &Mailbox) -> Result<Option<bool>, NodeProblem> {
        let Some(frame) = mailbox.stack.first() else { return Ok(None) };
        // `prim_inet` is loaded before there are files.
        if frame.module == "prim_inet" {
            return Ok(Some(scans_in_prim_inet(frame, self.otp)));
        }
        if !self.scanning.contains_key(&frame.module) && self.scanning.len() < MODULES {
            let answer = self.value(receives::question(&frame.module))?;
            let functions = answer.as_ref().and_then(receives::read);
            let names = functions.iter().flatten();
            let takes: usize = names.map(|name| name.len() + size_of::<String>()).sum();
            self.known.add(takes)?;
            self.scanning.insert(frame.module.clone(), functions);
        }
        let of_module = self.scanning.get(&frame.module).and_then(Option::as_ref);
        Ok(of_module.map(|all| all.contains(&frame.to_string())))
    }

    /// The label of a process, or the function that it began with. It is asked only once.
    fn name(&mut self, pid: &Pid, process: &str) -> Result<String, NodeProblem> {
        if let Some(known) = self.names.get(process) {
            return Ok(known.clone());
        }
        let mut name = None;
        if self.otp >= LABELS {
            // A label may be any term, even one that cannot be decoded here.
            let label = self.ask(view::label(pid))?;
            let label = label.and_then(|answer| self.client.value(&answer).ok());
            name = label.as_ref().and_then(view::read_label);
        }
        if name.is_none() {
            name = self.value(view::began(pid))?.as_ref().and_then(view::read_began);
        }
        let name = name.unwrap_or_default();
        if self.names.len() >= NAMES {
            self.names.clear();
        }
        self.names.insert(process.to_owned(), name.clone());
        Ok(name)
    }

    /// Reports that a process with a long mailbox has ended.
    fn has_ended(&self, pid: &Pid) {
        let mut answers = self.shared.answers();
        if answers.look.ended.len() < UNSEEN {
            answers.look.ended.push(view::process(pid));
        }
    }

    /// Samples the processes with the longest mailboxes.
    fn sample(&mut self) -> Result<(), NodeProblem> {
        let (pids, samples_all) = to_sample(&self.longest);
        let mut seen = Vec::new();
        for pid in pids {
            let Some(answer) = self.value(view::about(&pid))? else { continue };
            let seen_now = view::mailbox(&pid, &answer);
            drop(answer);
            let Some(mut mailbox) = seen_now else {
                self.longest.retain(|(of, _)| *of != pid);
                self.has_ended(&pid);
                continue;
            };
            if mailbox.name.is_empty() {
                mailbox.name = self.name(&pid, &mailbox.process)?;
            }
            mailbox.may_scan = self.may_scan(&mailbox)?;
            seen.push(mailbox);
        }
        let mut answers = self.shared.answers();
        // Before a pass has ended, and while there is none, long mailboxes are not known. Later
        // they are as old as the last pass: a flood that begins is sampled up to two passes late.
        if samples_all && answers.look.pass.is_some() {
            answers.look.sampled_all = true;
        }
        if !seen.is_empty() && answers.look.mailboxes.len() < UNSEEN {
            answers.look.mailboxes.push(seen);
        }
        Ok(())
    }
}

/// The processes to sample, and whether none that is flooded is left out.
fn to_sample(longest: &[Length]) -> (Vec<Pid>, bool) {
    let long = longest.iter().filter(|(_, length)| *length >= LONG);
    let pids = long.take(LOOKED_AT).map(|(pid, _)| pid.clone()).collect();
    let flooded = longest.iter().filter(|(_, length)| *length >= FLOODED);
    (pids, flooded.count() <= LOOKED_AT)
}

/// Whether a function of `prim_inet` may scan the mailbox in this OTP. Each of its requests waits
/// for its answer. `sendfile_1` waits without a reference of its own.
fn scans_in_prim_inet(frame: &Frame, otp: u32) -> bool {
    let sends = matches!(frame.function.as_str(), "send" | "send_recv_reply" | "do_sendto");
    !sends || otp < SENDS_BY_REFERENCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tests::{answers, answers_with, connected, starts, stop_of};
    use crate::micro::tests::answer;
    use std::io::Read;

    type Step = fn(&mut Asking) -> Result<(), NodeProblem>;

    /// The last message to the node, by which this step switches the counting off. The process that
    /// holds the flag is known or not.
    fn switches_off(is_known: bool, step: Step) -> Vec<u8> {
        let (client, mut node) = connected();
        let (shared, budget) = (Shared::default(), Budget::new(1 << 20));
        let target = Target::read("web@h", false).unwrap();
        // The first request is for another flag, the second one for the holder.
        let mut asking = Asking::begin(client, &target, &shared, &budget).unwrap();
        asking.count(true).unwrap();
        if is_known {
            starts(&mut node, 2, 8);
        }
        answers(&mut node, 3, 13);
        asking.value(view::memory_question()).unwrap();
        if !is_known {
            answers(&mut node, 4, 14);
        }
        step(&mut asking).unwrap();
        drop(asking);
        let mut sent = Vec::new();
        node.read_to_end(&mut sent).unwrap();
        let (mut rest, mut last) = (&sent[..], Vec::new());
        while let Some((length, behind)) = rest.split_first_chunk() {
            let (message, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
            last = message.to_vec();
            rest = behind;
        }
        last
    }

    #[test]
    fn the_process_that_holds_the_counting_is_released_and_none_is_started_instead() {
        let has = |message: &[u8], word: &[u8]| message.windows(word.len()).any(|at| at == word);
        let off: Step = |asking| asking.count(false).map(drop);
        assert_eq!(switches_off(true, off), stop_of(8));
        let unknown = switches_off(false, off);
        assert!(has(&unknown, b"system_flag") && has(&unknown, b"false"), "{unknown:?}");
        assert!(!has(&unknown, b"hibernate"), "{unknown:?}");
    }

    /// What a node's threads gained by each of these answers.
    fn gained(steps: &[(u64, u64)]) -> Vec<Micro> {
        let (client, mut node) = connected();
        let (shared, budget) = (Shared::default(), Budget::new(1 << 20));
        let target = Target::read("web@h", false).unwrap();
        let mut asking = Asking::begin(client, &target, &shared, &budget).unwrap();
        // The first request is for another flag.
        let mut question = 1;
        let one = |(emulator, sleep): &(u64, u64)| {
            question += 1;
            if matches!(asking.counting, Counting::First) {
                // We have just switched the counting on: that was a request too.
                starts(&mut node, question, 8);
                question += 1;
            }
            answers_with(&mut node, question, 20 + question, answer(*emulator, *sleep));
            asking.micro().unwrap()
        };
        steps.iter().map(one).collect()
    }

    #[test]
    fn what_threads_did_while_we_counted_comes_with_one_answer() {
        let none = Micro::default();
        let all = gained(&[(50, 50), (50, 50), (51, 50), (61, 55)]);
        assert_eq!(all[..3], [none.clone(), none.clone(), none]);
        assert_eq!(all[3], micro::read(&answer(10, 5)).unwrap());
    }

    #[test]
    fn what_threads_did_while_somebody_else_counts_comes_with_each_answer() {
        let all = gained(&[(50, 50), (60, 55), (60, 59), (61, 59)]);
        let expected = [(10, 5), (0, 4), (1, 0)];
        let expected = expected.map(|(emulator, sleep)| answer(emulator, sleep));
        let expected = expected.map(|answer| micro::read(&answer).unwrap());
        assert_eq!(all[0], Micro::default());
        assert_eq!(all[1..], expected);
    }

    #[test]
    fn what_was_counted_is_kept_until_somebody_looks_and_handed_over_once() {
        let shared = Arc::new(Shared::default());
        let watcher = Watcher { name: "web@h".to_owned(), shared: Arc::clone(&shared) };
        let counted = micro::read(&answer(10, 5)).unwrap();
        shared.answers().look.micro.add(&counted);
        // Another answer comes before anybody looks.
        shared.answers().look.micro.add(&Micro::default());
        assert_eq!(watcher.look().micro, counted);
        assert_eq!(watcher.look().micro, Micro::default());
    }

    #[test]
    fn a_node_that_is_full_does_not_go_on_counting() {
        let full: Step = |asking| {
            // So the node is not left alone for long.
            asking.shared.ends.store(true, Ordering::Relaxed);
            asking.wait_while_full("system_limit".to_owned())
        };
        assert_eq!(switches_off(true, full), stop_of(8));
    }

    #[test]
    fn sending_to_a_socket_scans_only_in_an_old_otp() {
        let scans = |function: &str, otp| {
            let module = "prim_inet".to_owned();
            scans_in_prim_inet(&Frame { module, function: function.to_owned(), arity: 2 }, otp)
        };
        assert!(scans("send_recv_reply", 25) && scans("recv0", 25) && scans("recv0", 29));
        assert!(!scans("send_recv_reply", 26) && !scans("do_sendto", 27) && !scans("send", 29));
        assert!(scans("sendfile_1", 29));
    }

    #[test]
    fn a_round_with_more_flooded_processes_than_samples_leaves_some_out() {
        let sampled = |lengths: &[u64]| {
            let of = |length: &u64| (Pid::new("web@h", 1, 0, 7), *length);
            let (pids, samples_all) = to_sample(&lengths.iter().map(of).collect::<Vec<Length>>());
            (pids.len(), samples_all)
        };
        assert_eq!(sampled(&[LONG, LONG - 1]), (1, true));
        assert_eq!(sampled(&[FLOODED; LOOKED_AT]), (LOOKED_AT, true));
        assert_eq!(sampled(&[FLOODED; LOOKED_AT + 1]), (LOOKED_AT, false));
        // Only flooded processes count.
        assert_eq!(sampled(&[FLOODED - 1; LOOKED_AT + 1]), (LOOKED_AT, true));
    }

    #[test]
    fn a_node_that_had_proved_the_cookie_may_end_in_one_handshake() {
        let mut has_proved = true;
        assert!(!ended_once(&NodeProblem::NotThere, &mut has_proved) && has_proved);
        assert!(ended_once(&NodeProblem::Ended, &mut has_proved) && !has_proved);
        assert!(!ended_once(&NodeProblem::Ended, &mut has_proved) && !has_proved);
    }

    #[test]
    fn who_refuses_us_or_is_another_is_not_asked_again() {
        let text = || "text".to_owned();
        let foreign = NodeProblem::ForeignPort { port_user: 1, cookie_user: 0 };
        for is_known in [false, true] {
            for last in [
                NodeProblem::WrongCookie,
                NodeProblem::OtherName(text()),
                foreign.clone(),
                NodeProblem::Elsewhere(text()),
                NodeProblem::Tls,
                NodeProblem::Release(text()),
            ] {
                assert_eq!(again(&last, is_known), None, "{last:?}");
            }
            let nexts =
                [NodeProblem::Connect(text()), NodeProblem::NotThere, NodeProblem::Silent(1)];
            for next in nexts {
                assert_eq!(again(&next, is_known), Some(AGAIN), "{next:?}");
            }
        }
        for ended in [NodeProblem::Ended, NodeProblem::Memory(1), NodeProblem::Nonsense(text())] {
            assert_eq!(again(&ended, false), None, "{ended:?}");
            assert!(again(&ended, true).is_some(), "{ended:?}");
        }
    }
}
