//! Calls to a node, and their answers.

use super::mailbox::{End, Next};
use super::{ASK, Node};
use crate::error::CallError;
use crate::wire::{self, Incoming};
use eetf::Term;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// Most bytes of printed output that are kept.
const MOST_PRINTED: usize = 1 << 20;

/// The call that is waited for, and its deadline.
struct Waiting<'a> {
    call: String,
    id: u64,
    limit: Duration,
    deadline: Instant,
    interrupted: &'a dyn Fn() -> bool,
}

impl Waiting<'_> {
    fn late(&self) -> CallError {
        CallError::Late { call: self.call.clone(), limit: self.limit }
    }

    fn interrupted(&self) -> CallError {
        CallError::Interrupted { call: self.call.clone() }
    }
}

impl Node {
    /// Calls a function in the node and waits for its return value.
    ///
    /// An argument that is the atom `'$tell'`, or a map with that atom as a value, gets a fun in
    /// its place that sends events. `on_event` gets each event with its time of arrival, which is
    /// taken when the event is read from the pipe. It also gets events of earlier calls whose
    /// processes still run, and events that came between two calls. `interrupted` is called every
    /// 50 ms. A call that is late or interrupted is killed in the node.
    ///
    /// # Errors
    /// If the node dies, the function raises an exception, no answer comes within `limit`, or the
    /// user interrupts.
    pub fn call(
        &mut self,
        module: &str,
        function: &str,
        args: Vec<Term>,
        limit: Duration,
        interrupted: &dyn Fn() -> bool,
        on_event: &mut dyn FnMut(Instant, Term),
    ) -> Result<Term, CallError> {
        let call = format!("{module}:{function}/{}", args.len());
        self.last_id += 1;
        let id = self.last_id;
        let frame = wire::call(id, module, function, args);
        let frame = frame.map_err(|why| CallError::Unsendable { call: call.clone(), why })?;
        let waiting = Waiting { call, id, limit, deadline: Instant::now() + limit, interrupted };
        self.send(&frame, &waiting)?;
        let answer = self.answer(&waiting, on_event);
        if let Err(CallError::Late { .. } | CallError::Interrupted { .. }) = &answer {
            self.cancel(id);
        }
        answer
    }

    /// Receives events until a deadline, without a call.
    ///
    /// # Errors
    /// If the node dies or the user interrupts.
    pub fn listen(
        &mut self,
        until: Instant,
        interrupted: &dyn Fn() -> bool,
        on_event: &mut dyn FnMut(Instant, Term),
    ) -> Result<(), CallError> {
        let limit = until.saturating_duration_since(Instant::now());
        let call = "listening".to_owned();
        let waiting = Waiting { call, id: 0, limit, deadline: until, interrupted };
        match self.answer(&waiting, on_event) {
            Ok(_) | Err(CallError::Late { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn answer(
        &mut self,
        waiting: &Waiting<'_>,
        on_event: &mut dyn FnMut(Instant, Term),
    ) -> Result<Term, CallError> {
        loop {
            if (waiting.interrupted)() {
                return Err(waiting.interrupted());
            }
            match self.mailbox.receive(waiting.deadline.min(Instant::now() + ASK)) {
                Next::Frame(at, frame) => {
                    if let Some(answer) = self.handle(waiting, at, &frame, on_event)? {
                        return Ok(answer);
                    }
                    // While events come without a pause, the mailbox never says that it is late.
                    if at > waiting.deadline {
                        return Err(waiting.late());
                    }
                }
                Next::End(End::Broken(what)) => return Err(self.broken(what)),
                Next::End(End::Closed) => {
                    return Err(CallError::Died(self.death(waiting.interrupted)));
                }
                Next::Late if Instant::now() >= waiting.deadline => return Err(waiting.late()),
                Next::Late => {}
            }
        }
    }

    /// Handles a frame; returns the answer if the frame is the answer.
    fn handle(
        &mut self,
        waiting: &Waiting<'_>,
        at: Instant,
        frame: &[u8],
        on_event: &mut dyn FnMut(Instant, Term),
    ) -> Result<Option<Term>, CallError> {
        match Incoming::parse(frame).map_err(|what| self.broken(what))? {
            Incoming::Result(id, term) if id == waiting.id => return Ok(Some(term)),
            Incoming::Failed(id, why) if id == waiting.id => {
                let why = crate::text::clean_line(&why);
                return Err(CallError::Failed { call: waiting.call.clone(), why });
            }
            Incoming::Failed(0, what) => return Err(self.broken(what)),
            Incoming::Event(_, term) => on_event(at, term),
            Incoming::Printed(bytes) => self.keep_printed(&bytes),
            // The answer of a call whose caller has given up.
            Incoming::Result(..) | Incoming::Failed(..) => {}
            Incoming::Hello(_) => return Err(self.broken("a second hello".to_owned())),
        }
        Ok(None)
    }

    fn keep_printed(&mut self, bytes: &[u8]) {
        self.printed.extend_from_slice(bytes);
        let surplus = self.printed.len().saturating_sub(MOST_PRINTED);
        self.printed.drain(..surplus);
    }

    /// Writes a whole frame, even if the node reads slowly.
    fn send(&mut self, frame: &[u8], waiting: &Waiting<'_>) -> Result<(), CallError> {
        let mut left = frame;
        while !left.is_empty() {
            let failure = match self.write(left) {
                Ok(count) => {
                    left = &left[count..];
                    continue;
                }
                Err(Errno::AGAIN | Errno::INTR) if (waiting.interrupted)() => waiting.interrupted(),
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() >= waiting.deadline => {
                    waiting.late()
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.wait_for_room(waiting.deadline);
                    continue;
                }
                Err(Errno::PIPE) => CallError::Died(self.death(waiting.interrupted)),
                Err(error) => CallError::System { pid: self.pid(), source: error.into() },
            };
            if left.len() < frame.len() {
                // Half a frame is in the pipe, so the node could not parse anything that follows.
                self.requests = None;
            }
            return Err(failure);
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        self.requests.as_ref().map_or(Err(Errno::PIPE), |pipe| rustix::io::write(pipe, bytes))
    }

    fn wait_for_room(&self, deadline: Instant) {
        let Some(pipe) = &self.requests else { return };
        let left = deadline.saturating_duration_since(Instant::now()).min(ASK);
        let left = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        // Whatever poll returns, the next step is to try to write.
        let _ = poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&left));
    }

    /// Kills a call whose caller has given up, if the request can be written at once.
    fn cancel(&mut self, id: u64) {
        if let Ok(frame) = wire::cancel(id) {
            // A frame this short is written completely or not at all.
            let _ = self.write(&frame);
        }
    }

    fn broken(&self, what: String) -> CallError {
        CallError::Protocol { pid: self.pid(), what }
    }
}
