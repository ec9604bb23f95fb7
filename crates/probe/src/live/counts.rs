//! The kernel's sums, in the form that the rest of the program uses.

/// Number of group levels whose throttled time is counted separately for each thread: its own
/// group, then the groups above it in turn. The last level is for throttled time of an unknown
/// group.
pub const LEVELS: usize = 8;

/// All sums at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// When the sums were read, by the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// Threads whose sums have changed since the previous reading.
    pub threads: Vec<ThreadCounts>,
    /// Which processes ran while others were runnable, since the previous reading.
    pub pairs: Vec<PairCounts>,
    /// Time of the same kind and interval for which the table had no room, in nanoseconds.
    pub unnamed_ns: u64,
    /// Which processes read the memory map of another process, since the programs were loaded.
    pub readers: Vec<ReaderCounts>,
    /// Which processes slept while another process was runnable, since the programs were loaded.
    pub chains: Vec<ChainCounts>,
    /// Samples of threads of Erlang nodes, from the interval.
    pub samples: Vec<NodeSample>,
    /// Whether the passes of the nodes' schedulers were observed in the interval.
    pub passes_seen: bool,
    /// Context switches of all CPUs, since the programs were loaded.
    pub switches: u64,
    /// Threads that lost their slot in the table before they were read, since the programs were
    /// loaded.
    pub lost_threads: u64,
    /// CPU time of the programs, and the time over which it was measured, both in nanoseconds.
    /// None if the kernel does not provide it.
    pub programs_ns: Option<(u64, u64)>,
    /// Memory of the tables, in bytes.
    pub table_bytes: u64,
    /// Part of `table_bytes` that also counts as memory of this process.
    pub touched_bytes: u64,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThreadState {
    /// Not seen yet.
    #[default]
    Unknown,
    /// On a CPU.
    Running,
    /// Runnable, without a CPU.
    Ready,
    /// Asleep.
    Asleep,
    /// In an uninterruptible sleep.
    Uninterruptible,
    /// It has ended.
    Gone,
}

/// The sums of a thread since it was first seen; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Tells it from a later thread with the same id.
    pub start: u64,
    /// Name of the thread.
    pub name: String,
    /// State of the thread.
    pub state: ThreadState,
    /// When that state began.
    pub since_ns: u64,
    /// Process that woke it last, as far as this was recorded in the last two intervals; 0 if an
    /// interrupt did.
    pub waker: u32,
    /// Its session when it was first seen.
    pub session: u32,
    /// Its nice value when it was first seen.
    pub nice: i32,
    /// Whether it had a deadline policy when it became runnable last or, after a long wait, when it
    /// got a CPU.
    pub is_deadline: bool,
    /// Time on a CPU.
    pub ran_ns: u64,
    /// Time runnable without a CPU: the sum of `throttled_ns`, `others_ns`, `own_ns`, `idle_ns`
    /// and `rest_ns`.
    pub ready_ns: u64,
    /// Part of `ready_ns` in a wait that has not ended. This is not a sum over waits.
    pub open_ns: u64,
    /// Throttled by a quota, by the level of the group.
    pub throttled_ns: [u64; LEVELS],
    /// Other processes ran on its CPU.
    pub others_ns: u64,
    /// Other threads of its own process ran on its CPU.
    pub own_ns: u64,
    /// Its CPU was idle: the CPU was waking up.
    pub idle_ns: u64,
    /// Before the oldest stretch that is stored for the CPU.
    pub rest_ns: u64,
    /// Part of the unthrottled time in which another allowed CPU was idle, up to the moment when
    /// the thread ran.
    pub beside_idle_ns: u64,
    /// Number of waits for a CPU.
    pub waits: u64,
    /// The longest single wait for a CPU that ended in the last interval.
    pub worst_ns: u64,
    /// Time in uninterruptible sleep.
    pub asleep_ns: u64,
    /// Time that it waited for the lock of its own memory map.
    pub lock_ns: u64,
    /// Part of `lock_ns` in which another process held the lock.
    pub foreign_ns: u64,
    /// Number of waits for that lock.
    pub lock_waits: u64,
    /// The longest time in the last interval that another process held the lock in a single wait.
    pub lock_worst_ns: u64,
    /// The longest time in the last interval that no other process held the lock in a single
    /// wait.
    pub own_lock_worst_ns: u64,
    /// The system call of the thread of the same process that released that lock last. None if
    /// that thread was in no call, or if no such thread was seen.
    pub lock_call: Option<u32>,
    /// The name of that thread; empty if none was seen.
    pub lock_by: String,
    /// Time in direct reclaim: it freed memory itself before it got any.
    pub reclaim_ns: u64,
    /// Part of `reclaim_ns` caused by the limit of its group.
    pub group_reclaim_ns: u64,
    /// Time in direct compaction: it moved pages itself to get contiguous free pages.
    pub compaction_ns: u64,
    /// Time in other sleeps while the kernel marks it as waiting for memory (PSI): until pages
    /// that were taken from it are read back.
    pub memory_ns: u64,
    /// Time in other sleeps for a page that is read, outside of system calls: the page was never
    /// in memory, or it was evicted longer ago.
    pub fault_ns: u64,
    /// Number of these sleeps (`fault_ns`).
    pub faults: u64,
    /// The longest single time of these memory waits in the last interval.
    pub memory_worst_ns: u64,
    /// Time in uninterruptible sleep while it moved processes or threads between control groups.
    pub move_ns: u64,
    /// Number of moves in which it slept.
    pub moves: u64,
    /// The longest time that it slept in a single move of the last interval.
    pub move_worst_ns: u64,
    /// Of single waits for a CPU in the last interval, each on the CPU on which it ended: the
    /// longest time that a quota throttled the thread.
    pub throttled_worst_ns: u64,
    /// The longest time in the last interval that another allowed CPU was idle until the thread
    /// ran.
    pub beside_worst_ns: u64,
    /// Number of samples of its program.
    pub samples: u64,
    /// Number of samples at an instruction of active waiting.
    pub spins: u64,
    /// Address of the last such instruction in the program; 0 if there was none.
    pub spin_at: u64,
    /// Only for a thread of an Erlang node: where it slept, and how long it ran without returning
    /// to the VM.
    pub native: NativeCounts,
}

impl ThreadCounts {
    /// Combines each sum with the same sum of `other`.
    pub fn combine(&mut self, other: &ThreadCounts, with: fn(u64, u64) -> u64) {
        let sums = [
            (&mut self.ran_ns, other.ran_ns),
            (&mut self.ready_ns, other.ready_ns),
            (&mut self.others_ns, other.others_ns),
            (&mut self.own_ns, other.own_ns),
            (&mut self.idle_ns, other.idle_ns),
            (&mut self.rest_ns, other.rest_ns),
            (&mut self.beside_idle_ns, other.beside_idle_ns),
            (&mut self.waits, other.waits),
            (&mut self.asleep_ns, other.asleep_ns),
            (&mut self.lock_ns, other.lock_ns),
            (&mut self.foreign_ns, other.foreign_ns),
            (&mut self.lock_waits, other.lock_waits),
            (&mut self.reclaim_ns, other.reclaim_ns),
            (&mut self.group_reclaim_ns, other.group_reclaim_ns),
            (&mut self.compaction_ns, other.compaction_ns),
            (&mut self.memory_ns, other.memory_ns),
            (&mut self.fault_ns, other.fault_ns),
            (&mut self.faults, other.faults),
            (&mut self.move_ns, other.move_ns),
            (&mut self.moves, other.moves),
            (&mut self.samples, other.samples),
            (&mut self.spins, other.spins),
        ];
        let levels = self.throttled_ns.iter_mut().zip(other.throttled_ns);
        for (sum, other) in sums.into_iter().chain(levels) {
            *sum = with(*sum, other);
        }
    }
}

/// Where a thread sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sleep {
    /// It does not sleep, or in a call that changes the memory map, or the kernel does not say
    /// where.
    #[default]
    Unknown,
    /// In a futex.
    Futex,
    /// In poll, select, epoll.
    Poll,
    /// In no system call: it waits for a page that is not in memory.
    Fault,
    /// In another system call.
    Call,
}

/// The counters of a thread of an Erlang node; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NativeCounts {
    /// Where it sleeps now.
    pub sleep: Sleep,
    /// Time asleep in a futex, in sleeps that have ended.
    pub futex_ns: u64,
    /// Time asleep in poll, select or epoll.
    pub poll_ns: u64,
    /// Time asleep in another system call that does not change the memory map.
    pub call_ns: u64,
    /// Number of those other calls.
    pub calls: u64,
    /// The longest sleep in another call that ended in the last interval.
    pub call_worst_ns: u64,
    /// CPU time in stretches of at least 8 ms in which the VM counted no pass of its schedulers,
    /// while the passes were observed.
    pub silent_ns: u64,
    /// Number of these stretches.
    pub silences: u64,
    /// The longest such stretch in the last interval.
    pub silent_worst_ns: u64,
}

/// What a thread did when it was sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sampled {
    /// It ran.
    #[default]
    Running,
    /// It ran at an instruction of active waiting.
    Spinning,
    /// It had run for at least 8 ms in which its VM counted no pass of its schedulers.
    Silent,
    /// It fell asleep in a system call other than futex, poll and those that change the memory
    /// map.
    Asleep,
}

/// A sample of a thread of an Erlang node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSample {
    /// When, by the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// What the thread did.
    pub what: Sampled,
    /// The system call in which it fell asleep.
    pub call: Option<u32>,
    /// The address of the instruction.
    pub ip: u64,
    /// The top words of its stack, unfiltered: return addresses among other words, innermost
    /// first.
    pub stack: Vec<u64>,
}

/// How long a process ran while threads of another process were runnable on its CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Process that was runnable.
    pub victim: u32,
    /// Process that ran.
    pub culprit: u32,
    /// Name of the thread that ran.
    pub name: String,
    /// The time, in nanoseconds.
    pub ns: u64,
    /// The longest single stretch, in nanoseconds.
    pub worst_ns: u64,
    /// Number of waits in which this happened.
    pub waits: u64,
    /// Part of the time in which the process had the CPU by a real-time or deadline policy, with
    /// a priority higher than the victim's or equal to it.
    pub forced_ns: u64,
    /// Its priority at that time, in the kernel's numbering: -1 is deadline, 98 is priority 1.
    pub prio: i32,
    /// The priority of the victim.
    pub victim_prio: i32,
    /// The priority of the process's own policy at that time. It is lower than `prio` if a lock
    /// passed on the priority of a thread that waits for it.
    pub normal_prio: i32,
    /// Session of the process that ran.
    pub session: u32,
}

/// Where a thread slept that another thread woke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slept {
    /// In a lock or on a condition variable.
    Futex,
    /// In a call that waits for a pipe, a socket or another process.
    Input,
    /// For a commit of the journal of a file system, which waited until a handle was closed.
    Journal,
    /// Elsewhere, or it is not known where.
    #[default]
    Otherwise,
}

/// What the thread at the other end of a chain mostly did meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Did {
    /// It was runnable and did not run.
    #[default]
    Stood,
    /// It slept for a device, or for data in write-back. Only of a thread that had the handle of
    /// a journal.
    SleptForDevice,
    /// Something else, or it is not known what. Only of a thread that had the handle of a
    /// journal.
    Otherwise,
}

/// What distinguishes one chain of sleepers from another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainKey {
    /// Process that slept.
    pub sleeper: u32,
    /// Process whose thread was runnable meanwhile, or had the handle of a journal.
    pub holder: u32,
    /// How the sleeper slept.
    pub slept: Slept,
    /// Number of threads that slept, with the sleeper itself.
    pub steps: u8,
    /// Whether a quota throttled the holder.
    pub by_quota: bool,
    /// What the holder did.
    pub did: Did,
    /// Whether the holder has the lower priority.
    pub inverted: bool,
    /// Whether that is so because the sleeper has a real-time or deadline policy.
    pub by_policy: bool,
}

/// How long threads of a process slept while a thread of the same or another process was runnable
/// that woke them in the end, or had the handle of a journal. The sums run since the programs were
/// loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainCounts {
    /// The sleeper, the holder, and the kind of the chain.
    pub key: ChainKey,
    /// Name of the holder's thread.
    pub name: String,
    /// The time, in nanoseconds.
    pub ns: u64,
    /// Number of sleeps in which this happened.
    pub wakes: u64,
    /// The longest one of the last interval.
    pub worst_ns: u64,
}

/// A process that reads the memory map of another process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderCounts {
    /// Process that reads.
    pub reader: u32,
    /// One of its threads.
    pub tid: u32,
    /// Process whose memory map is read; 0 if the kernel does not record it.
    pub target: u32,
    /// The file below /proc/PID that is read; empty if it is not known.
    pub file: String,
    /// The system call, if the reader reads no file.
    pub call: u32,
    /// Name of the reader.
    pub name: String,
    /// Its nice value.
    pub nice: i32,
    /// How often it held the lock.
    pub holds: u64,
    /// How long it held the lock, in nanoseconds.
    pub ns: u64,
    /// Part of `ns` in which it was runnable and did not run itself.
    pub ready_ns: u64,
    /// Part of `ready_ns` in which a quota throttled it.
    pub throttled_ns: u64,
    /// The longest hold of the last interval.
    pub worst_ns: u64,
}

impl ReaderCounts {
    /// What distinguishes one reader from another.
    pub fn id(&self) -> (u32, u32, u32, &str) {
        (self.reader, self.target, self.call, &self.file)
    }

    /// Combines each sum with the same sum of `other`.
    pub fn combine(&mut self, other: &ReaderCounts, with: fn(u64, u64) -> u64) {
        for (sum, other) in [
            (&mut self.holds, other.holds),
            (&mut self.ns, other.ns),
            (&mut self.ready_ns, other.ready_ns),
            (&mut self.throttled_ns, other.throttled_ns),
        ] {
            *sum = with(*sum, other);
        }
    }
}
