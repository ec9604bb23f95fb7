//! What a node answers, summed up over several intervals.

use dist::{Frame, Look, State, Use};
use model::live::{BusyLink, Inside, Mailbox, Micro, NodeFigures, NodeMemory, NodeProblem};
use os::time;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The newest OTP that was tested.
const NEWEST_OTP: u32 = 29;

/// Run queues are uneven if at least this many wait in one while another is empty. The VM moves
/// work over as soon as a scheduler looks for some, so fewer are seen now and then.
const UNEVEN_LENGTH: u64 = 5;

/// Most processes whose mailboxes are followed, and most functions of each. A further process takes
/// the place of one that has ended, or else of the one that was not sampled for longest.
const MOST: usize = 64;
const FUNCTIONS: usize = 64;

/// Most mailboxes and connections that are listed, and most callers of a function.
const LISTED: usize = 5;
const CALLERS: usize = 3;

/// What a node answered in an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InsideTick {
    /// The name under which it was asked.
    pub name: String,
    /// What it answered.
    pub look: Look,
}

impl InsideTick {
    /// How many entries it has: schedulers, states of threads, connections, functions of stacks,
    /// ended processes.
    pub fn places(&self) -> usize {
        let stacks = self.look.mailboxes.iter().flatten().map(|mailbox| mailbox.stack.len() + 1);
        let states = self.look.micro.times.values().map(BTreeMap::len);
        let of = |inside: &dist::Inside| inside.used.len() + inside.queued.len();
        let processes = stacks.sum::<usize>().saturating_add(self.look.ended.len());
        let figures = self.look.inside.as_ref().map_or(0, of) + states.sum::<usize>();
        figures.saturating_add(processes)
    }
}

/// What it answered over several intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InsideSums {
    last: Look,
    answered: bool,
    over_ns: u64,
    /// For how much of that time each flooded process was sampled.
    sampled_all_ns: u64,
    answers: u32,
    took_ms: f64,
    queues: [f64; 3],
    even: u32,
    unbalanced: u32,
    worst_ratio: f64,
    uneven: u32,
    longest: f64,
    first_used: Vec<Use>,
    micro: dist::Micro,
    links: BTreeMap<String, Link>,
    mailboxes: BTreeMap<String, MailboxSums>,
}

/// A connection to another node: answers in which something waited, and the most bytes that did.
#[derive(Debug, Clone, Default, PartialEq)]
struct Link {
    waiting: u32,
    bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct MailboxSums {
    last: dist::Mailbox,
    /// Its length and reductions at the first sample.
    first: (u64, u64),
    has_ended: bool,
    /// When the interval of its first sample began, when the interval of its last sample ended, and
    /// the length of all intervals in which it was sampled.
    from_ns: u64,
    until_ns: u64,
    sampled_ns: u64,
    /// The part of `sampled_ns` in which each flooded process was sampled.
    sampled_all_ns: u64,
    samples: u32,
    /// Samples in which it waited for a message or was suspended.
    standing: u32,
    functions: BTreeMap<String, Function>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Function {
    running: u32,
    /// Whether it was seen waiting for a message.
    waits: bool,
    /// Whether it may scan the mailbox, according to its file.
    may_scan: Option<bool>,
    callers: Vec<String>,
}

impl InsideSums {
    /// Adds an interval of this length.
    pub fn add(&mut self, look: &Look, over_ns: u64) {
        let from_ns = self.over_ns;
        self.over_ns = from_ns.saturating_add(over_ns);
        let sampled_all_ns = if look.sampled_all { over_ns } else { 0 };
        self.sampled_all_ns = self.sampled_all_ns.saturating_add(sampled_all_ns);
        for mailbox in look.mailboxes.iter().flatten() {
            self.mailbox(mailbox, from_ns, sampled_all_ns);
        }
        for process in &look.ended {
            if let Some(one) = self.mailboxes.get_mut(process) {
                one.has_ended = true;
            }
        }
        self.micro.add(&look.micro);
        let before = self.last.inside.take();
        let both = before.as_ref().zip(look.inside.as_ref());
        if both.is_some_and(|(before, now)| counts_anew(&before.used, &now.used)) {
            self.first_used.clear();
        }
        let inside = look.inside.clone().or(before);
        self.last = Look { mailboxes: Vec::new(), ended: Vec::new(), inside, ..look.clone() };
        let Some(inside) = look.inside.as_ref().filter(|_| look.state == State::Answering) else {
            return;
        };
        self.answered = true;
        self.answers += 1;
        self.took_ms = self.took_ms.max(time::ms(look.took));
        let queues = &inside.run_queues;
        let all: u64 = queues.iter().fold(0, |all, one| all.saturating_add(*one));
        let more = [all, inside.dirty.0, inside.dirty.1];
        for (sum, more) in self.queues.iter_mut().zip(more) {
            *sum += more as f64;
        }
        let (class, ratio) = balance(queues);
        self.even += u32::from(class == Balance::Even);
        self.unbalanced += u32::from(class == Balance::Unbalanced);
        self.worst_ratio = self.worst_ratio.max(ratio);
        let longest = queues.iter().copied().max().unwrap_or(0);
        if longest >= UNEVEN_LENGTH && queues.contains(&0) {
            self.uneven += 1;
            self.longest += longest as f64;
        }
        if self.first_used.is_empty() {
            self.first_used = inside.used.clone();
        }
        self.links(&inside.queued);
    }

    fn links(&mut self, queued: &[(String, u64)]) {
        for (node, bytes) in queued.iter().filter(|(_, bytes)| *bytes > 0) {
            if self.links.len() < MOST || self.links.contains_key(node) {
                let link = self.links.entry(node.clone()).or_default();
                link.waiting += 1;
                link.bytes = link.bytes.max(*bytes);
            }
        }
    }

    /// Adds a sample of an interval that began at this time. Each flooded process was sampled for
    /// `sampled_all_ns` of it.
    fn mailbox(&mut self, seen: &dist::Mailbox, from_ns: u64, sampled_all_ns: u64) {
        // Reductions never decrease. So this is another process, of a VM that was started anew.
        let is_other = |one: &MailboxSums| seen.reductions < one.last.reductions;
        if self.mailboxes.get(&seen.process).is_some_and(is_other) {
            self.mailboxes.remove(&seen.process);
        }
        let is_known = self.mailboxes.contains_key(&seen.process);
        if !is_known && self.mailboxes.len() >= MOST {
            self.forget_oldest();
        }
        let until_ns = self.over_ns;
        let sums = self.mailboxes.entry(seen.process.clone()).or_default();
        if !is_known {
            sums.first = (seen.length, seen.reductions);
            sums.from_ns = from_ns;
        }
        if sums.until_ns < until_ns {
            sums.until_ns = until_ns;
            sums.sampled_ns = sums.sampled_ns.saturating_add(until_ns.saturating_sub(from_ns));
            sums.sampled_all_ns = sums.sampled_all_ns.saturating_add(sampled_all_ns);
        }
        sums.samples += 1;
        let stands_still = seen.waits || seen.is_suspended;
        sums.standing += u32::from(stands_still);
        let name = seen.stack.first().map(Frame::to_string).unwrap_or_default();
        if sums.functions.len() < FUNCTIONS || sums.functions.contains_key(&name) {
            let function = sums.functions.entry(name).or_default();
            function.running += u32::from(!stands_still);
            // Code that sends may be suspended, and need not have a receive.
            function.waits |= seen.waits;
            function.may_scan = seen.may_scan.or(function.may_scan);
            let callers = seen.stack.iter().skip(1).take(CALLERS).map(Frame::to_string);
            function.callers = callers.collect();
        }
        sums.last = seen.clone();
        sums.has_ended = false;
    }

    /// Forgets a process that has ended, or else the one that was not sampled for longest.
    fn forget_oldest(&mut self) {
        let oldest = self.mailboxes.iter().min_by_key(|(_, one)| (!one.has_ended, one.until_ns));
        if let Some(process) = oldest.map(|(process, _)| process.clone()) {
            self.mailboxes.remove(&process);
        }
    }

    /// The share of the time in which a process had a long mailbox, of the time for which that is
    /// known: it was sampled, or each flooded process was.
    pub fn sampled(&self, process: &str) -> f64 {
        let Some(one) = self.mailboxes.get(process) else { return 0.0 };
        let short_ns = self.sampled_all_ns.saturating_sub(one.sampled_all_ns);
        one.sampled_ns as f64 / one.sampled_ns.saturating_add(short_ns).max(1) as f64
    }

    /// The longest mailboxes: of processes that have ended since their last sample, or of others.
    pub fn longest(&self, has_ended: bool) -> Vec<Mailbox> {
        let wanted = self.mailboxes.values().filter(|one| one.has_ended == has_ended);
        let mut all: Vec<Mailbox> = wanted.map(MailboxSums::mailbox).collect();
        all.sort_by_key(|one| Reverse(one.length));
        all.truncate(LISTED);
        all
    }

    /// The share of the time in which each online normal scheduler was active.
    pub fn used(&self) -> Vec<f64> {
        let Some(inside) = &self.last.inside else { return Vec::new() };
        let used = |now: &Use| {
            let before = self.first_used.iter().find(|one| one.scheduler == now.scheduler)?;
            let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
            Some((now.active.saturating_sub(before.active) as f64 / all as f64).min(1.0))
        };
        let online = inside.used.iter().filter(|one| one.scheduler <= inside.online);
        online.filter_map(used).collect()
    }

    /// What threads of each kind did while it was counted.
    fn micro(&self) -> Vec<Micro> {
        let of = |(threads, times): (&String, &BTreeMap<String, u64>)| {
            let all: f64 = times.values().map(|time| *time as f64).sum();
            let share = |(state, time): (&String, &u64)| (state.clone(), *time as f64 / all);
            let shares = || times.iter().map(share).collect();
            (all > 0.0).then(|| Micro { threads: threads.clone(), shares: shares() })
        };
        self.micro.times.iter().filter_map(of).collect()
    }

    /// Connections in which something waited, the one that waited most often first.
    fn busy_links(&self) -> Vec<BusyLink> {
        let answers = f64::from(self.answers.max(1));
        let of = |(node, link): (&String, &Link)| BusyLink {
            node: node.clone(),
            waiting: f64::from(link.waiting) / answers,
            bytes: link.bytes,
        };
        let mut all: Vec<BusyLink> = self.links.iter().map(of).collect();
        all.sort_by(|a, b| b.waiting.total_cmp(&a.waiting));
        all.truncate(LISTED);
        all
    }

    /// The process id that the node reports; None for a node on another machine, where it is the id
    /// of another process.
    pub fn os_pid(&self) -> Option<u32> {
        let inside = self.last.inside.as_ref().filter(|_| self.last.is_here);
        inside.and_then(|inside| inside.os_pid)
    }

    /// The number of online schedulers that the node reports.
    pub fn online(&self) -> Option<u32> {
        let inside = self.last.inside.as_ref().filter(|_| self.answered);
        inside.map(|inside| inside.online)
    }

    /// Whether it answers.
    pub fn answers(&self) -> bool {
        self.answered && self.last.state == State::Answering
    }

    /// Whether a pass through all its mailboxes has ended.
    pub fn has_passed(&self) -> bool {
        self.last.pass.is_some()
    }

    /// Whether each flooded process was sampled for some of the time.
    pub fn sampled_all(&self) -> bool {
        self.sampled_all_ns > 0
    }

    /// Its figures, or why there are none.
    pub fn inside(&self, name: &str) -> Inside {
        let problem = match &self.last.state {
            State::Connecting => Some(NodeProblem::Connecting),
            State::Answering => None,
            State::Silent(time) => Some(NodeProblem::Silent(time::whole_ms(*time))),
            State::Failed(problem) => Some(problem.clone()),
        };
        let last = self.last.inside.as_ref().filter(|_| self.answered);
        let figures = last.map(|inside| self.figures(inside));
        Inside { name: name.to_owned(), problem, figures }
    }

    fn figures(&self, inside: &dist::Inside) -> NodeFigures {
        let answers = f64::from(self.answers.max(1));
        let memory = &inside.memory;
        NodeFigures {
            otp: inside.otp.clone(),
            is_untried: inside.otp.parse().is_ok_and(|otp: u32| otp > NEWEST_OTP),
            age_ms: time::ms(self.last.age),
            took_ms: self.took_ms,
            answers: self.answers,
            online: inside.online,
            processes: inside.processes,
            used: self.used(),
            run_queue: self.queues[0] / answers,
            dirty_cpu_queue: self.queues[1] / answers,
            dirty_io_queue: self.queues[2] / answers,
            even: f64::from(self.even) / answers,
            unbalanced: f64::from(self.unbalanced) / answers,
            uneven: f64::from(self.uneven) / answers,
            longest: self.longest / f64::from(self.uneven.max(1)),
            worst_ratio: self.worst_ratio,
            micro: self.micro(),
            links: self.busy_links(),
            memory: NodeMemory {
                total: memory.total,
                processes: memory.processes,
                binary: memory.binary,
                ets: memory.ets,
            },
            mailboxes_took_ms: self.last.pass.map(time::ms),
            mailboxes: self.longest(false),
        }
    }
}

impl MailboxSums {
    fn mailbox(&self) -> Mailbox {
        let over_ns = self.until_ns.saturating_sub(self.from_ns);
        let seconds = (over_ns as f64 / 1e9).max(0.1);
        let rate = |now: u64, before: u64| (now as f64 - before as f64) / seconds;
        let running = self.samples - self.standing;
        let blank = (String::new(), Function::default());
        let most = self.functions.iter().max_by_key(|(_, function)| function.running);
        let (name, function) =
            most.map_or(blank, |(name, function)| (name.clone(), function.clone()));
        Mailbox {
            process: self.last.process.clone(),
            name: self.last.name.clone(),
            length: self.last.length,
            growth_per_s: rate(self.last.length, self.first.0),
            off_heap: self.last.off_heap,
            reductions_per_s: rate(self.last.reductions, self.first.1),
            samples: self.samples,
            running: f64::from(running) / f64::from(self.samples.max(1)),
            in_function: f64::from(function.running) / f64::from(running.max(1)),
            waits_there: function.may_scan.unwrap_or(function.waits),
            function: name,
            callers: function.callers,
        }
    }
}

/// Whether the times of schedulers, sorted by number, began anew after an earlier answer: the VM
/// was started anew, or began to count anew.
fn counts_anew(before: &[Use], now: &[Use]) -> bool {
    let mut both = before.iter().zip(now);
    both.any(|(before, now)| before.scheduler == now.scheduler && now.all < before.all)
}

/// How work is spread over run queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Balance {
    Even,
    MinorityZero,
    Unbalanced,
}

/// The class of the run queues, and the longest queue divided by the middle one.
fn balance(queues: &[u64]) -> (Balance, f64) {
    let mut sorted = queues.to_vec();
    sorted.sort_unstable();
    let zeros = sorted.iter().filter(|length| **length == 0).count();
    let class = match zeros {
        0 => Balance::Even,
        all if all == queues.len() => Balance::Even,
        some if some * 2 <= queues.len() => Balance::MinorityZero,
        _ => Balance::Unbalanced,
    };
    let middle = sorted.len().checked_sub(1).map_or(0, |last| sorted[last / 2]);
    let longest = sorted.last().copied().unwrap_or(0);
    (class, longest as f64 / middle.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn frame(function: &str) -> Frame {
        Frame { module: "m".into(), function: function.into(), arity: 1 }
    }

    fn mailbox(length: u64, waits: bool, function: &str) -> dist::Mailbox {
        dist::Mailbox {
            process: "<0.9.0>".into(),
            name: "log".into(),
            length,
            waits,
            stack: vec![frame(function), frame("loop")],
            ..dist::Mailbox::default()
        }
    }

    fn answering(queues: &[u64], used: (u64, u64)) -> Look {
        let inside = dist::Inside {
            online: 2,
            run_queues: queues.to_vec(),
            used: vec![Use { scheduler: 1, active: used.0, all: used.1 }],
            ..dist::Inside::default()
        };
        Look { state: State::Answering, inside: Some(inside), ..Look::default() }
    }

    #[test]
    fn the_function_that_a_flooded_process_is_in_has_its_callers() {
        let mut sums = InsideSums::default();
        let mut look = answering(&[1, 0], (0, 100));
        look.mailboxes = vec![
            vec![mailbox(1_000, false, "req")],
            vec![mailbox(2_000, false, "req")],
            vec![mailbox(3_000, true, "req")],
            vec![mailbox(4_000, false, "other")],
        ];
        sums.add(&look, 1_000_000_000);
        sums.add(&answering(&[3, 3], (50, 200)), 1_000_000_000);
        let said = sums.inside("web@host").figures.unwrap();
        let mailbox = &said.mailboxes[0];
        assert_eq!((mailbox.function.as_str(), mailbox.length), ("m:req/1", 4_000));
        assert_eq!((mailbox.running, mailbox.waits_there), (0.75, true));
        assert_eq!(mailbox.callers, ["m:loop/1"]);
        assert_eq!((said.answers, said.run_queue, said.even), (2, 3.5, 0.5));
        assert_eq!(said.used, [0.5]);
    }

    #[test]
    fn a_suspended_process_scans_nothing() {
        let mut sums = InsideSums::default();
        let mut look = answering(&[1, 0], (0, 100));
        let suspended = dist::Mailbox { is_suspended: true, ..mailbox(9_000, false, "send") };
        look.mailboxes = vec![vec![suspended], vec![mailbox(9_000, false, "send")]];
        sums.add(&look, SECOND);
        let mailbox = &listed(&sums)[0];
        assert_eq!((mailbox.running, mailbox.in_function, mailbox.waits_there), (0.5, 1.0, false));
    }

    const SECOND: u64 = 1_000_000_000;

    /// After a pass, with these samples of all flooded processes.
    fn sampling(mailboxes: Vec<Vec<dist::Mailbox>>) -> Look {
        let pass = Some(Duration::from_secs(1));
        Look { mailboxes, pass, sampled_all: true, ..answering(&[1], (0, 1)) }
    }

    fn listed(sums: &InsideSums) -> Vec<Mailbox> {
        sums.inside("a@b").figures.unwrap().mailboxes
    }

    #[test]
    fn a_mailbox_counts_for_the_time_in_which_it_was_long_and_is_listed_until_its_process_ends() {
        let mut sums = InsideSums::default();
        let growing = [1_000, 2_000].map(|length| vec![mailbox(length, false, "req")]);
        sums.add(&sampling(growing.into()), SECOND);
        assert_eq!((listed(&sums)[0].growth_per_s, sums.sampled("<0.9.0>")), (1_000.0, 1.0));
        (0..3).for_each(|_| sums.add(&sampling(Vec::new()), SECOND));
        assert_eq!((listed(&sums)[0].growth_per_s, sums.sampled("<0.9.0>")), (1_000.0, 0.25));
        sums.add(&Look { ended: vec!["<0.9.0>".into()], ..sampling(Vec::new()) }, SECOND);
        assert_eq!((listed(&sums), sums.sampled("<0.9.0>")), (Vec::new(), 0.2));
        assert_eq!(sums.longest(true)[0].length, 2_000);
    }

    #[test]
    fn time_in_which_a_process_may_have_been_left_out_does_not_count() {
        let mut sums = InsideSums::default();
        let crowded = |mailboxes| Look { sampled_all: false, ..sampling(mailboxes) };
        sums.add(&crowded(vec![vec![mailbox(1_000, false, "req")]]), SECOND);
        // Others were sampled, or no round of samples ended.
        let other = dist::Mailbox { process: "<0.8.0>".into(), ..mailbox(2_000, false, "req") };
        sums.add(&crowded(vec![vec![other]]), SECOND);
        (0..8).for_each(|_| sums.add(&crowded(Vec::new()), SECOND));
        assert_eq!(sums.sampled("<0.9.0>"), 1.0);
        sums.add(&sampling(Vec::new()), SECOND);
        assert_eq!(sums.sampled("<0.9.0>"), 0.5);
    }

    #[test]
    fn a_node_that_is_started_anew_counts_anew() {
        let mut sums = InsideSums::default();
        let times = [(0, 1_000), (900, 2_000), (10, 100), (60, 200)];
        for (used, reductions) in times.into_iter().zip([5_000, 9_000, 100, 400]) {
            let one = dist::Mailbox { reductions, ..mailbox(1_000, false, "req") };
            sums.add(&Look { mailboxes: vec![vec![one]], ..answering(&[1], used) }, SECOND);
        }
        assert_eq!(sums.used(), [0.5]);
        assert_eq!((listed(&sums)[0].reductions_per_s, listed(&sums)[0].samples), (150.0, 2));
    }

    #[test]
    fn a_further_process_takes_the_place_of_the_oldest() {
        let mut sums = InsideSums::default();
        for number in 0..=MOST {
            let one = dist::Mailbox { process: number.to_string(), ..mailbox(600, true, "req") };
            sums.add(&sampling(vec![vec![one]]), SECOND);
        }
        let has =
            |sums: &InsideSums, number: usize| sums.mailboxes.contains_key(&number.to_string());
        assert!(!has(&sums, 0) && has(&sums, 1) && has(&sums, MOST));
        // One that has ended comes first.
        let one = dist::Mailbox { process: "new".into(), ..mailbox(600, true, "req") };
        let ended = vec![MOST.to_string()];
        sums.add(&Look { ended, ..sampling(Vec::new()) }, SECOND);
        sums.add(&sampling(vec![vec![one]]), SECOND);
        assert!(has(&sums, 1) && !has(&sums, MOST));
    }

    #[test]
    fn a_function_that_scans_nothing_may_wait_all_the_same() {
        let waits_there = |may_scan| {
            let mut sums = InsideSums::default();
            let one = dist::Mailbox { may_scan, ..mailbox(600, true, "req") };
            sums.add(&sampling(vec![vec![one]]), SECOND);
            listed(&sums)[0].waits_there
        };
        assert!(waits_there(None) && waits_there(Some(true)) && !waits_there(Some(false)));
    }

    #[test]
    fn a_node_that_is_late_is_silent_and_keeps_its_figures() {
        let mut sums = InsideSums::default();
        sums.add(&answering(&[1], (0, 1)), 1);
        let late = State::Silent(Duration::from_secs(3));
        sums.add(&Look { state: late, ..answering(&[1], (0, 1)) }, 1);
        let inside = sums.inside("a@b");
        assert_eq!(inside.problem, Some(NodeProblem::Silent(3_000)));
        assert_eq!(inside.figures.unwrap().answers, 1);
    }

    #[test]
    fn what_threads_did_is_added_up_whether_or_not_the_node_answers() {
        let mut sums = InsideSums::default();
        let shares = |sums: &InsideSums| sums.inside("a@b").figures.unwrap().micro;
        sums.add(&answering(&[1], (0, 1)), 1);
        assert_eq!(shares(&sums), []);
        let silent = State::Silent(std::time::Duration::from_secs(3));
        for (state, emulator, sleep) in [(State::Answering, 100, 90), (silent, 200, 10)] {
            let times = [("emulator".to_owned(), emulator), ("sleep".to_owned(), sleep)];
            let times = [("scheduler".to_owned(), times.into())].into();
            let look = Look { state, micro: dist::Micro { times }, ..answering(&[1], (0, 1)) };
            sums.add(&look, 1);
        }
        let shares = shares(&sums).remove(0).shares;
        assert_eq!((shares["emulator"], shares["sleep"]), (0.75, 0.25));
    }

    #[test]
    fn a_connection_is_listed_with_the_share_of_answers_in_which_it_waited() {
        let mut sums = InsideSums::default();
        let said = [0, 0, 9, 70].map(|bytes| {
            let mut look = answering(&[1], (0, 1));
            look.inside.as_mut().unwrap().queued = vec![("c@d".to_owned(), bytes)];
            sums.add(&look, 1);
            sums.inside("a@b").figures.unwrap().links
        });
        assert_eq!(said[1], []);
        assert_eq!(said[3], [BusyLink { node: "c@d".into(), waiting: 0.5, bytes: 70 }]);
    }

    #[test]
    fn queues_are_even_only_if_all_have_work_or_none_has() {
        assert_eq!(balance(&[1, 2, 4]), (Balance::Even, 2.0));
        assert_eq!(balance(&[0, 2, 4]).0, Balance::MinorityZero);
        assert_eq!(balance(&[0, 0, 4]), (Balance::Unbalanced, 4.0));
        assert_eq!(balance(&[0, 0]), (Balance::Even, 0.0));
        assert_eq!(balance(&[]), (Balance::Even, 0.0));
    }
}
