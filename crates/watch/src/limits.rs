//! From where on a loss is a finding, and why there.
//!
//! Every figure is that of one program, all its threads together, in milliseconds a second.

/// Lost to foreign readers of a memory map: 0.2% of a thread's time. On machines without such
/// readers the figure is 0, and one scrape of a small process costs less than 0.1 ms/s.
pub const FOREIGN_MS_PER_S: f64 = 2.0;

/// And a single wait of at least so long, in milliseconds: below it the lock is only contended for.
pub const FOREIGN_WORST_MS: f64 = 1.0;

/// Held by a quota: 1% of a thread's time. A group that is throttled once in ten periods of 100 ms
/// for 10 ms is at this figure.
pub const QUOTA_MS_PER_S: f64 = 10.0;

/// A group that used less than this share of what it was given in its throttled periods was
/// throttled under its quota. A sound kernel may keep back a millisecond on each CPU and period,
/// which is taken off before.
pub const UNDER_QUOTA: f64 = 0.8;

/// And so many periods in which it was throttled: in fewer one period that had begun before counts.
pub const UNDER_QUOTA_PERIODS: u64 = 10;

/// A quota was spun away where this share of the samples of its threads stand at an instruction of
/// active waiting: work that takes a lock now and then has a few of them, and less of a third is
/// not what a quota is lost to.
pub const SPUN: f64 = 0.3;

/// And so many samples: of fewer the share says nothing.
pub const SPUN_SAMPLES: u64 = 20;

/// CPU time at instructions of active waiting, and time in which threads of the same program were
/// ready behind each other: a tenth of a CPU of both. A lock that spins for some microseconds has a
/// few samples.
pub const SPIN_MS_PER_S: f64 = 100.0;

/// And this share of the samples of the program: one of many threads that computes and now and then
/// waits actively is not held up by that.
pub const SPIN_SHARE: f64 = 0.2;

/// A runtime had more threads at work at once than its quota allows where its group stood still, in
/// each throttled period and on all CPUs together, for this much longer than as many threads as the
/// quota allows could: those of a told runtime and one thread beside them stand still for up to a
/// quarter longer.
pub const AT_ONCE: f64 = 1.3;

/// Lacking beside a program that does another job: a tenth of a thread's time. The scheduler gives
/// slices of 3 ms and more, so programs that use a busy machine together lose some percent to each
/// other.
pub const NEIGHBOUR_MS_PER_S: f64 = 100.0;

/// And this share of the time that the victim wanted a CPU: a program of many threads that loses a
/// tenth of one thread's time loses nothing that it would notice.
pub const NEIGHBOUR_SHARE: f64 = 0.15;

/// And so much less than half of what both got: programs that share a CPU evenly hold each other up
/// by nothing but their number. A tenth either way is chance, over some seconds.
pub const NEIGHBOUR_UNEVEN: f64 = 0.2;

/// Ready while a CPU that it may use was idle until it ran at last: a tenth of a thread's time.
/// Waking a thread on an idle CPU takes microseconds, and pulling one over less than a tick.
pub const BESIDE_IDLE_MS_PER_S: f64 = 100.0;

/// And a single wait of at least so long, in milliseconds: more than two ticks at 250 Hz.
pub const BESIDE_IDLE_WORST_MS: f64 = 10.0;

/// And this share of the time in which it was ready and no quota held it.
pub const BESIDE_IDLE_SHARE: f64 = 0.5;

/// Native code holds a scheduler for a tenth of its time: a call is to be over within a
/// millisecond, and a node that makes one such call now and then has no stall of it.
pub const NATIVE_MS_PER_S: f64 = 100.0;

/// And a single call of at least so long, in milliseconds: as long as it takes to be seen that a
/// scheduler made no system call.
pub const NATIVE_WORST_MS: f64 = 8.0;

/// Spun by schedulers: this share of the quota. Below it there is nothing to be had by flags.
pub const SPUN_OF_QUOTA: f64 = 0.1;

/// A mailbox is long from here on: a scan of it takes tens of microseconds.
pub const MAILBOX_LENGTH: u64 = 5_000;

/// And was looked at so often.
pub const MAILBOX_SAMPLES: u32 = 8;

/// And its process stood, without waiting, in a function that waits for a message: a fifth of the
/// time. One that keeps up waits, and one that asks another for something waits for that too.
pub const MAILBOX_MS_PER_S: f64 = 200.0;

/// And that in this share of the looks in which it did not wait: work is spread over several.
pub const MAILBOX_SAME: f64 = 0.5;

/// Run queues are uneven where so many wait in one while another has none: the VM moves work over
/// as soon as a scheduler looks for some, so that fewer are seen now and then.
pub const UNEVEN_LENGTH: u64 = 5;

/// And in this share of the answers.
pub const UNEVEN_SHARE: f64 = 0.5;

/// And of so many answers.
pub const UNEVEN_ANSWERS: u32 = 4;

/// And where a scheduler was used for less than this meanwhile.
pub const UNEVEN_USED: f64 = 0.5;

/// The newest OTP that was tried.
pub const NEWEST_OTP: u32 = 29;

/// A scheduler that ran for less than this, in milliseconds a second, is not counted among those
/// that are online where no flag says how many are: one that is not online never runs.
pub const RAN_MS_PER_S: f64 = 0.1;
/// Standing still for memory in a group that was above its memory.high: a tenth of the time. The
/// kernel lets a task sleep for 10 ms and more at a time there; reclaim that gets on takes less.
pub const MEMORY_MS_PER_S: f64 = 100.0;

/// Fewer seconds than this are no basis for a finding.
pub const LEAST_SECONDS: f64 = 0.5;
