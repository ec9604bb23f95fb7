//! What a node says about itself, read from its answers.

use crate::calls::Call;
use beam::term::{self, atom, list};
use beam::{Pid, Term};
use os::terminal;

/// Most schedulers or characters of a text that are read, and most frames of a stack.
const MOST: usize = 4_096;
const FRAMES: usize = 8;

/// Most characters of a name.
const LONGEST: usize = 255;

/// What a node said about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inside {
    /// Its release of OTP.
    pub otp: String,
    /// Its process id in the operating system.
    pub os_pid: Option<u32>,
    /// Schedulers that are online.
    pub online: u32,
    /// Processes and ports that wait in each normal run queue; one entry for each online
    /// scheduler.
    pub run_queues: Vec<u64>,
    /// Processes and ports that wait for a dirty CPU scheduler, and for a dirty IO scheduler.
    pub dirty: (u64, u64),
    /// Active time and total time of each scheduler, since the VM began to count.
    pub used: Vec<Use>,
    /// Number of processes.
    pub processes: u64,
    /// Memory by kind.
    pub memory: Memory,
    /// The nodes that it is connected to, and the bytes that wait in the driver of the port to
    /// each.
    pub queued: Vec<(String, u64)>,
}

/// The use of a scheduler. Times are in the VM's own unit; only their ratio is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// Its number. Dirty schedulers come after the normal ones.
    pub scheduler: u32,
    /// Active time since the VM began to count.
    pub active: u64,
    /// Total time since then.
    pub all: u64,
}

/// Memory of a node, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Total.
    pub total: u64,
    /// Of processes.
    pub processes: u64,
    /// Of binaries.
    pub binary: u64,
    /// Of tables.
    pub ets: u64,
}

/// A process with a long mailbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mailbox {
    /// The process, as the node writes it.
    pub process: String,
    /// Its registered name or label, or the function that it began with.
    pub name: String,
    /// Messages in its mailbox.
    pub length: u64,
    /// Whether the messages are kept outside its heap.
    pub off_heap: bool,
    /// Reductions since it was started.
    pub reductions: u64,
    /// Whether it waits for a message.
    pub waits: bool,
    /// Whether it is suspended: it sends to a socket or a node whose queue is full, or another
    /// process suspended it. If it neither waits nor is suspended, it runs, or is ready to run.
    pub is_suspended: bool,
    /// The functions on its stack, innermost first.
    pub stack: Vec<Frame>,
    /// Whether the innermost function may scan the mailbox, according to its compiled file; None if
    /// the file is not known.
    pub may_scan: Option<bool>,
}

/// A function on a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Module.
    pub module: String,
    /// Function.
    pub function: String,
    /// Arity.
    pub arity: u32,
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}/{}", self.module, self.function, self.arity)
    }
}

/// Asks for the figures that change all the time.
pub fn question() -> Call {
    let of = |function, item: &str| Call::new("erlang", function, vec![atom(item)]);
    Call::all(vec![
        of("system_info", "otp_release"),
        Call::new("os", "getpid", Vec::new()),
        of("system_info", "schedulers_online"),
        of("statistics", "run_queue_lengths_all"),
        of("statistics", "scheduler_wall_time_all"),
        of("system_info", "process_count"),
    ])
}

/// Asks for the node's memory, which a node without the VM's own allocators cannot tell.
pub fn memory_question() -> Call {
    Call::new("erlang", "memory", Vec::new())
}

/// Reads the answer to [`question`].
pub fn read(answer: &Term) -> Option<Inside> {
    let all = term::as_list(answer).ok()?;
    let [otp, os_pid, online, queues, used_times, processes] = &all[..] else { return None };
    let online = u32::try_from(term::as_u64(online).ok()?).ok()?;
    let mut queues = term::each(queues, term::as_u64).ok()?;
    // The last two entries belong to the dirty schedulers.
    let dirty_io = queues.pop().unwrap_or(0);
    let dirty_cpu = queues.pop().unwrap_or(0);
    queues.truncate((online as usize).min(MOST));
    Some(Inside {
        otp: name(&short_text(otp)?),
        os_pid: short_text(os_pid).and_then(|pid| pid.parse().ok()),
        online,
        run_queues: queues,
        dirty: (dirty_cpu, dirty_io),
        used: used(used_times),
        processes: term::as_u64(processes).ok()?,
        memory: Memory::default(),
        queued: Vec::new(),
    })
}

/// Reads a list of number, active time and total time. It is empty while the flag is not set.
fn used(term: &Term) -> Vec<Use> {
    let of = |one: &Term| {
        let [scheduler, active, all] = term::as_tuple::<3>(one)?;
        let scheduler = u32::try_from(term::as_u64(scheduler)?).unwrap_or(u32::MAX);
        Ok(Use { scheduler, active: term::as_u64(active)?, all: term::as_u64(all)? })
    };
    let mut all = term::each(term, of).unwrap_or_default();
    all.truncate(MOST);
    all.sort_by_key(|one| one.scheduler);
    all
}

/// Reads the answer to [`memory_question`]. A missing figure is 0.
pub fn memory(term: &Term) -> Memory {
    let all = term::as_list(term).unwrap_or_default();
    let kind = |wanted: &str| {
        let of = |one: &Term| {
            let [kind, bytes] = term::as_tuple::<2>(one).ok()?;
            (term::as_atom(kind) == Ok(wanted)).then(|| term::as_u64(bytes).ok())?
        };
        all.iter().find_map(of).unwrap_or(0)
    };
    Memory {
        total: kind("total"),
        processes: kind("processes"),
        binary: kind("binary"),
        ets: kind("ets"),
    }
}

/// Asks what a process does. No message is read.
pub fn about(pid: &Pid) -> Call {
    let items = [
        "message_queue_len",
        "message_queue_data",
        "reductions",
        "status",
        "current_stacktrace",
        "registered_name",
        "initial_call",
    ];
    let items = list(items.iter().map(|item| atom(item)).collect());
    Call::new("erlang", "process_info", vec![Term::from(pid.clone()), items])
}

/// Asks for the label that a process gave itself (since OTP 27).
pub fn label(pid: &Pid) -> Call {
    Call::new("proc_lib", "get_label", vec![Term::from(pid.clone())])
}

/// Asks for the function that a process of an OTP behaviour began with.
pub fn began(pid: &Pid) -> Call {
    Call::new("proc_lib", "translate_initial_call", vec![Term::from(pid.clone())])
}

/// Reads the answer to [`label`].
pub fn read_label(answer: &Term) -> Option<String> {
    let text = match term::as_atom(answer) {
        Ok("undefined") => return None,
        Ok(label) => label.to_owned(),
        Err(_) => short_text(answer)?,
    };
    Some(name(&text))
}

/// Reads the answer to [`began`].
pub fn read_began(answer: &Term) -> Option<String> {
    frame(answer).ok().map(|frame| frame.to_string())
}

/// The text if it has at most `MOST` characters: a copy of a longer one would take as much memory
/// again.
fn short_text(term: &Term) -> Option<String> {
    let length = match term {
        Term::Binary(binary) => binary.bytes.len(),
        Term::List(list) => list.elements.len(),
        _ => 0,
    };
    (length <= MOST).then(|| term::as_text(term).ok())?
}

/// The name, shortened and made safe to show: a process may have given itself a long one.
pub fn name(text: &str) -> String {
    terminal::line(&text.chars().take(LONGEST).collect::<String>())
}

/// A process, as its node writes it.
pub fn process(pid: &Pid) -> String {
    format!("<0.{}.{}>", pid.id, pid.serial)
}

/// Reads the answer to [`about`]; None if the process has ended. The name is empty if the process
/// is not registered.
pub fn mailbox(pid: &Pid, answer: &Term) -> Option<Mailbox> {
    let infos = term::as_list(answer).ok()?;
    let info = |wanted: &str| {
        infos.iter().find_map(|one| {
            let [key, value] = term::as_tuple::<2>(one).ok()?;
            (term::as_atom(key) == Ok(wanted)).then_some(value)
        })
    };
    let word = |wanted: &str| info(wanted).and_then(|term| term::as_atom(term).ok());
    let number = |wanted: &str| info(wanted).and_then(|term| term::as_u64(term).ok());
    let frames = info("current_stacktrace").and_then(|term| term::as_list(term).ok());
    let frames = frames.unwrap_or_default();
    let stack = frames.iter().take(FRAMES).map(|one| frame(one).ok()).collect::<Option<_>>();
    Some(Mailbox {
        process: process(pid),
        name: word("registered_name").map(name).unwrap_or_default(),
        length: number("message_queue_len")?,
        off_heap: word("message_queue_data") == Some("off_heap"),
        reductions: number("reductions").unwrap_or(0),
        waits: word("status") == Some("waiting"),
        is_suspended: word("status") == Some("suspended"),
        stack: stack.unwrap_or_default(),
        may_scan: None,
    })
}

/// Reads `{Module, Function, Arity}`, with or without a place in a file.
fn frame(term: &Term) -> term::Read<Frame> {
    let (module, function, arity) = match term::as_tuple::<4>(term) {
        Ok([module, function, arity, _]) => (module, function, arity),
        Err(_) => {
            let [module, function, arity] = term::as_tuple::<3>(term)?;
            (module, function, arity)
        }
    };
    Ok(Frame {
        module: name(term::as_atom(module)?),
        function: name(term::as_atom(function)?),
        arity: u32::try_from(term::as_u64(arity)?).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use beam::term::{int, tuple};

    #[test]
    fn a_process_that_a_full_connection_suspends_neither_waits_nor_runs() {
        let read = |status: &str| {
            let of = |key: &str, value: Term| tuple(vec![atom(key), value]);
            let infos = vec![of("message_queue_len", int(6_000)), of("status", atom(status))];
            let one = mailbox(&Pid::new("web@h", 90, 0, 7), &list(infos)).unwrap();
            (one.waits, one.is_suspended)
        };
        assert_eq!(read("waiting"), (true, false));
        assert_eq!(read("suspended"), (false, true));
        assert_eq!([read("running"), read("runnable")], [(false, false); 2]);
    }
}
