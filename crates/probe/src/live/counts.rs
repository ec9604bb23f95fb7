//! The sums of the kernel, as the rest of the program has them.

/// Groups whose quota is told apart for each thread: its own, those above it in turn, and at the
/// end those of which it is not known which it was.
pub const LEVELS: usize = 8;

/// All sums at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// When, by the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// Threads whose sums have changed since the reading before.
    pub threads: Vec<ThreadCounts>,
    /// Who ran while others were ready, of the interval since the reading before.
    pub pairs: Vec<PairCounts>,
    /// Time of that kind for which the table had no room, in nanoseconds, of the same interval.
    pub unnamed_ns: u64,
    /// Who reads the memory map of another, since the programs were loaded.
    pub readers: Vec<ReaderCounts>,
    /// Who slept while another stood ready, since then.
    pub chains: Vec<ChainCounts>,
    /// What threads of Erlang nodes were sampled at in the interval.
    pub samples: Vec<NodeSample>,
    /// Whether the passes of their schedulers were seen in it.
    pub passes_seen: bool,
    /// Switches of all CPUs since then.
    pub switches: u64,
    /// Threads that lost their place in the table before they were read.
    pub lost_threads: u64,
    /// CPU time of the programs and how long it was measured, in nanoseconds; none where the kernel
    /// does not say.
    pub programs_ns: Option<(u64, u64)>,
    /// Memory of the tables, in bytes.
    pub table_bytes: u64,
    /// Of that: what counts as memory of this process too.
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
    /// Ready, without a CPU.
    Ready,
    /// Asleep.
    Asleep,
    /// Asleep where no signal wakes it.
    Uninterruptible,
    /// It has ended.
    Gone,
}

/// The sums of a thread since it was first seen; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Thread.
    pub tid: u32,
    /// Process.
    pub pid: u32,
    /// Tells it from a later thread of the same number.
    pub start: u64,
    /// Its name.
    pub name: String,
    /// What it does, and since when.
    pub state: ThreadState,
    /// Since when.
    pub since_ns: u64,
    /// Process that woke it last; 0 where an interrupt did.
    pub waker: u32,
    /// Its session when it was first seen.
    pub session: u32,
    /// Its nice value then.
    pub nice: i32,
    /// On a CPU.
    pub ran_ns: u64,
    /// Ready and without a CPU. The six that follow add up to it.
    pub ready_ns: u64,
    /// Of that: in a wait that has not ended. It is no sum.
    pub open_ns: u64,
    /// Held by a quota, by the level of the group.
    pub throttled_ns: [u64; LEVELS],
    /// Other processes ran on its CPU.
    pub others_ns: u64,
    /// Other threads of its own process did.
    pub own_ns: u64,
    /// Its CPU was idle: it was being woken.
    pub idle_ns: u64,
    /// Further back than what is remembered of the CPU.
    pub rest_ns: u64,
    /// Of what was not throttled: one CPU that it may use was idle until it ran at last.
    pub beside_idle_ns: u64,
    /// Waits for a CPU.
    pub waits: u64,
    /// The worst single wait that ended in the last interval.
    pub worst_ns: u64,
    /// Asleep where no signal wakes it.
    pub asleep_ns: u64,
    /// Waiting for the lock of its own memory map.
    pub lock_ns: u64,
    /// Of that: while another process held it.
    pub foreign_ns: u64,
    /// Waits for that lock.
    pub lock_waits: u64,
    /// Of single waits for it in the last interval, the most that another process held it.
    pub lock_worst_ns: u64,
    /// The most that no other process held it.
    pub own_lock_worst_ns: u64,
    /// The call of the thread of its own that let go of that lock last; none where it was in no
    /// call, or where nobody was seen.
    pub lock_call: Option<u32>,
    /// The name of that thread; empty where nobody was seen.
    pub lock_by: String,
    /// Freeing memory itself before it got any: direct reclaim.
    pub reclaim_ns: u64,
    /// Of that: for the limit of its group.
    pub group_reclaim_ns: u64,
    /// Moving pages itself to get free ones in a row: direct compaction.
    pub compaction_ns: u64,
    /// Asleep otherwise while the kernel has marked it as one that waits for memory (PSI): until
    /// pages that were taken from it are read back.
    pub memory_ns: u64,
    /// Asleep otherwise for a page that is read, outside of system calls: it was never there, or
    /// was taken away longer ago.
    pub fault_ns: u64,
    /// Such sleeps.
    pub faults: u64,
    /// The longest single time of these in the last interval.
    pub memory_worst_ns: u64,
    /// Of single waits for a CPU in the last interval, each on the CPU on which it ended: the most
    /// that a quota held it.
    pub throttled_worst_ns: u64,
    /// The longest in which one CPU that it may use was idle until it ran at last.
    pub beside_worst_ns: u64,
    /// Samples of its program.
    pub samples: u64,
    /// Of those: at an instruction of active waiting.
    pub spins: u64,
    /// Where in the program that was last; 0 where it never was.
    pub spin_at: u64,
    /// Of a thread of an Erlang node alone: where it slept, and ran without coming back to the VM.
    pub native: NativeCounts,
}

/// Where a thread sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sleep {
    /// It does not, or the kernel does not say.
    #[default]
    Unknown,
    /// In a futex.
    Futex,
    /// In poll, select, epoll.
    Poll,
    /// In no call: a page that is not there.
    Fault,
    /// In another call.
    Call,
}

/// What is counted of a thread of an Erlang node; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NativeCounts {
    /// Where it sleeps now.
    pub sleep: Sleep,
    /// Asleep in a futex, in sleeps that are over.
    pub futex_ns: u64,
    /// Asleep in poll and its kind.
    pub poll_ns: u64,
    /// Asleep in another call.
    pub call_ns: u64,
    /// How often.
    pub calls: u64,
    /// The longest of these sleeps that ended in the last interval.
    pub call_worst_ns: u64,
    /// CPU time in stretches of 8 ms and more in which its VM counted no pass of its schedulers,
    /// while these were seen.
    pub silent_ns: u64,
    /// How many.
    pub silences: u64,
    /// The longest in the last interval.
    pub silent_worst_ns: u64,
}

/// What a sample is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sampled {
    /// It ran.
    #[default]
    Running,
    /// It ran at an instruction of active waiting.
    Spinning,
    /// It had run for 8 ms and more in which its VM counted no pass of its schedulers.
    Silent,
    /// It fell asleep in a call that is neither futex nor poll.
    Asleep,
}

/// A sample of a thread of an Erlang node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSample {
    /// When, by the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// What it did.
    pub what: Sampled,
    /// The call that it fell asleep in.
    pub call: Option<u32>,
    /// Where it stood.
    pub ip: u64,
    /// The top of its stack, as it was: addresses among other words, the innermost first.
    pub stack: Vec<u64>,
}

/// How long a process ran while threads of another were ready on its CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Process that was ready.
    pub victim: u32,
    /// Process that ran.
    pub culprit: u32,
    /// Name of the thread that ran.
    pub name: String,
    /// For how long, in nanoseconds.
    pub ns: u64,
    /// The longest single time.
    pub worst_ns: u64,
    /// In how many waits.
    pub waits: u64,
    /// Of the time: it had the CPU by a real-time or deadline policy, at a priority above that of
    /// the victim or equal to it.
    pub forced_ns: u64,
    /// Its priority then, as the kernel counts them: -1 is a deadline, 98 is priority 1.
    pub prio: i32,
    /// That of the victim.
    pub victim_prio: i32,
    /// Session of the process that ran.
    pub session: u32,
}

/// Where threads slept that others woke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slept {
    /// In a lock or a condition.
    Futex,
    /// In a call that waits for a pipe, a socket or another process.
    Input,
    /// In another way, or it is not known.
    #[default]
    Otherwise,
}

/// What tells one chain of sleepers from another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainKey {
    /// Process that slept.
    pub sleeper: u32,
    /// Process whose thread stood ready meanwhile.
    pub holder: u32,
    /// How the sleeper slept.
    pub slept: Slept,
    /// Threads that slept, the sleeper among them.
    pub steps: u8,
    /// Whether a quota held the holder.
    pub by_quota: bool,
    /// Whether the holder has the lower priority, by its nice value.
    pub inverted: bool,
}

/// How long threads of a process slept while a thread of another, or of the same, stood ready that
/// woke them in the end; sums since the programs were loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainCounts {
    /// Who, behind whom.
    pub key: ChainKey,
    /// Name of the thread that stood ready.
    pub name: String,
    /// For how long, in nanoseconds.
    pub ns: u64,
    /// In how many sleeps.
    pub wakes: u64,
    /// The worst of the last interval.
    pub worst_ns: u64,
}

/// A process that reads the memory map of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderCounts {
    /// Who reads.
    pub reader: u32,
    /// One of its threads.
    pub tid: u32,
    /// Whose memory map; 0 where the kernel does not note it.
    pub target: u32,
    /// The file below /proc/PID; empty where it is not known.
    pub file: String,
    /// The system call, where it reads no file.
    pub call: u32,
    /// Name of the reader.
    pub name: String,
    /// Its nice value.
    pub nice: i32,
    /// How often it held the lock.
    pub holds: u64,
    /// For how long, in nanoseconds.
    pub ns: u64,
    /// Of that: it was ready and did not run itself.
    pub ready_ns: u64,
    /// Of that: a quota held it.
    pub throttled_ns: u64,
    /// The longest hold of the last interval.
    pub worst_ns: u64,
}

impl ReaderCounts {
    /// What tells one reader from another.
    pub fn id(&self) -> (u32, u32, u32, &str) {
        (self.reader, self.target, self.call, &self.file)
    }
}
