/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The types that the programs of `tailback watch` share with their reader; src/live/raw.rs
 * repeats some of the constants. */
#ifndef TAILBACK_WATCH_TYPES_H
#define TAILBACK_WATCH_TYPES_H

#include "kernel.h"

typedef __s64 s64;

/* Constants of the kernel's interface. */
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_MMAPABLE (1U << 10)

/* Stretches of running threads that are stored for a CPU, with the current one. */
#define RUNNERS 256
/* Pairs of a victim and a process that ran instead of it, for each CPU and interval. */
#define PAIRS 1024
#define PROBES 4
/* Slots for threads, and how many of them each thread may use. */
#define THREADS 16384
#define PLACES 4
/* Processes that read the memory map of another process. */
#define READERS 2048
/* Pairs of a process that slept and a process that was runnable meanwhile. */
#define CHAINS 4096
/* Stretches of runnable time that are stored for a thread. */
#define STRETCHES 4
#define SPACES 1024
/* Threads that commit the journal of a file system. */
#define JOURNALS 1024
/* CPUs that are checked for being idle. */
#define CPUS_LOOKED_AT 256
/* Levels of groups whose quota is counted separately, the thread's own group first; the last
 * level is for unknown groups. */
#define LEVELS 8
#define LEVEL_UNKNOWN (LEVELS - 1)
#define FILE_NAME 16
/* Erlang nodes whose threads are examined more closely. */
#define NODES 16
/* Samples of them that are kept, and stack words of each sample. */
#define SAMPLES 2048
#define STACK_WORDS 96

enum state { UNKNOWN, RUNNING, READY, ASLEEP, UNINTERRUPTIBLE, GONE };

/* Where a thread of a node sleeps: the two ways in which the VM itself waits, and all other
 * ways. */
enum sleep { SLEEPS_UNKNOWN, SLEEPS_FUTEX, SLEEPS_POLL, SLEEPS_FAULT, SLEEPS_CALL };

/* What a node's thread did when it was sampled. */
enum sampled { SAMPLED_RUNNING, SAMPLED_SPINNING, SAMPLED_SILENT, SAMPLED_ASLEEP };

/* What a thread does with the lock of a memory map. The last two are for the thread that commits
 * the journal of a file system: it waits until all handles are closed, and it does not. */
enum lock {
	NO_LOCK,
	WAITS,
	READS_FOREIGN,
	HOLDS_FOREIGN,
	WAITS_MAPPING,
	WAITS_FOR_HANDLES,
	COMMITS
};

/* Why a thread was runnable and did not run. The last two are for a thread that had a handle of a
 * journal, and mostly did something else: it slept for a device or for data in write-back, or it
 * is not known what it did. */
enum why { STOOD, STOOD_BY_QUOTA, SLEPT_FOR_DEVICE, DID_OTHERWISE };

/* A stretch in which a thread was runnable and did not run; or several merged ones, with `ns` in
 * total. */
struct stretch {
	u64 from;
	u64 to;
	u64 ns;
	u64 why;
};

/* A sleep, and how long the thread at the other end of the chain was runnable during it. Or the
 * sleep in which the thread of a journal waited until the last handle was closed, and who closed
 * it: the process, its thread, and what that thread did meanwhile (`why`). */
struct held {
	u64 from;
	u64 to;
	u64 ns;
	u32 holder;
	u8 steps;
	u8 why;
	/* SLEPT_IN_FUTEX if all sleepers of the chain slept so, else how another one slept. */
	u8 slept;
	u8 pad;
	/* The rank of that other thread (`rank_of`). */
	s32 rank;
	char comm[COMM];
	/* Only for a journal. */
	u32 thread;
};

/* The memory that a thread sleeps for: the kernel has marked it as waiting for memory (PSI), or
 * it reads a page while it is in no system call. */
enum waits_for { NO_MEMORY, MARKED_MEMORY, PAGE_READ };

/* What a thread reclaims memory for, or that it moves pages. */
enum reclaim_of { OF_MACHINE, OF_GROUP, OF_COMPACTION };

/* A thread. Times are in nanoseconds by CLOCK_MONOTONIC, sums since it was first seen. Fields
 * that every switch touches come first, so that they take few cache lines. */
struct thread {
	/* Tells it from a later thread with the same id. */
	u64 start;
	/* The kernel's id. All ids of processes and sessions, and `tid_here`, are those of the
	 * reader's namespace. */
	u32 tid;
	u32 tgid;
	u8 state;
	u8 lock;
	u8 level;
	/* Whether an interrupt woke it from its last sleep; for short sleeps this is not always
	 * known. */
	u8 by_nobody;
	u32 cpu;
	/* Process that woke it last; 0 if an interrupt did. */
	u32 waker;
	u32 session;
	/* When its state began, and when it came to this CPU in that state. */
	u64 since;
	u64 here;
	/* End of the last time in which it was runnable, or slept behind a runnable thread. A
	 * sleep of another thread that began later lost nothing to it. */
	u64 owed_until;
	/* When its current or last sleep began. A timer that it handles for a moment does not end
	 * a sleep. */
	u64 asleep_from;
	u64 ran;
	/* Time runnable without a CPU. */
	u64 ready;
	u64 waits;
	/* The longest single wait of two intervals, and the numbers of these intervals. */
	u64 worst[2];
	u32 worst_of[2];
	/* Throttled time of its group here when it became runnable, and the run queue of the
	 * group. */
	u64 throttled_mark;
	u64 queue;
	char comm[COMM];
	/* Parts of `ready`: another process ran; another thread of its own process ran; the CPU
	 * was idle; it is not known what ran. */
	u64 others;
	u64 own;
	u64 idle;
	u64 rest;
	/* Part of `ready` in which another allowed CPU was idle without a break until the thread
	 * ran. */
	u64 beside_idle;
	/* Time in uninterruptible sleep. */
	u64 asleep;
	s32 nice;
	/* The system call in which an interrupt woke it; negative if it is not known. */
	s32 slept_in;
	/* The process whose memory map it reads. */
	u32 target;
	/* Number of samples of its program, and of samples at an instruction of active
	 * waiting. */
	u32 samples;
	u32 spins;
	u32 tid_here;
	/* Part of `ready` throttled, by the level of the group whose quota was used up. */
	u64 throttled[LEVELS];
	/* The lock of its own address space: the waits, and the part of them in which threads of
	 * other processes held it. */
	u64 lock_from;
	u64 lock_mark;
	u64 lock_ns;
	u64 lock_waits;
	u64 lock_worst[2];
	u32 lock_worst_of[2];
	u64 foreign_ns;
	/* The address space whose lock it waits for or holds. While it reads the memory map of
	 * another process: when the hold began, and its own sums at that moment. */
	u64 space;
	u64 hold_from;
	u64 hold_ready;
	u64 hold_throttled;
	char file[FILE_NAME];
	u32 call;
	/* For a node's thread: where it sleeps or slept last, and in which call. */
	u32 sleep;
	/* The last address at which it was seen waiting actively. */
	u64 spin_at;
	s32 sleep_call;
	u32 native_calls;
	/* Time asleep in a futex, in poll and its variants, and in another call. */
	u64 futex;
	u64 poll;
	u64 native;
	u64 native_worst[2];
	u32 native_worst_of[2];
	/* CPU time in which the VM counted no pass of its schedulers: the counter, the thread's
	 * CPU time at its last change, the sum of long stretches, the CPU time up to which they
	 * are counted, and the longest. */
	u64 passes;
	u64 passed_at;
	u64 silent;
	u64 silent_until;
	u64 silent_worst[2];
	u32 silent_worst_of[2];
	u32 silent_calls;
	/* Time of the last sample of its sleep, in milliseconds. */
	u32 sampled_at;
	/* For waits for the lock of its own address space: the call and the name of the thread
	 * that released it last, if that thread is of the same process; and the most of a single
	 * wait in which no thread of another process held it. */
	s32 lock_call;
	char lock_by[COMM];
	u64 own_lock_worst[2];
	u32 own_lock_worst_of[2];
	/* Its reclaim or compaction in progress: when it began, and which kind. Then the total
	 * time of reclaim, the part of it for its group, and the time of compaction. Then sleep
	 * for memory in other ways: marked by the kernel (PSI); and for a page that is not in
	 * memory, if the kernel does not mark it as evicted. Last, the longest of all these. */
	u64 reclaims_from;
	u64 reclaims_of;
	u64 reclaim;
	u64 group_reclaim;
	u64 compaction;
	u64 memory;
	u64 fault;
	u64 faults;
	u64 memory_worst[2];
	u32 memory_worst_of[2];
	/* Its last uninterruptible sleep that was neither for memory nor for a device, with those
	 * just before it in the same system call: the time, the end, and which call it was. Then
	 * the time of such sleeps while it moved processes between control groups, the number of
	 * these moves, and the longest. */
	u64 hard_ns;
	u64 hard_to;
	u64 hard_call;
	u64 move_ns;
	u64 moves;
	u64 move_worst[2];
	u32 move_worst_of[2];
	/* Its last sleeps for a device, or for data in write-back, with a handle of a journal: the
	 * time, and the end. */
	u64 io_ns;
	u64 io_to;
	/* The longest parts of single waits for a CPU: throttled by a quota; and with another
	 * allowed CPU idle. */
	u64 share_from;
	u64 throttled_worst[2];
	u32 throttled_worst_of[2];
	u64 beside_worst[2];
	u32 beside_worst_of[2];
	/* Its priority when it became runnable or, after a long wait, when it got a CPU, in the
	 * kernel's numbers. */
	s32 prio;
	/* The interval in which `waker` was recorded. It is here because each wake-up touches
	 * `prio` too. */
	u32 waker_of;
	/* Its last stretches of runnable time, and its last sleep that it lost to such stretches
	 * of another thread. */
	u32 stretch_at;
	/* The memory that it sleeps for, if it does. */
	u32 waits_for;
	struct stretch stood[STRETCHES];
	struct held held;
};

/* A sample of a thread of a node: its position, and the top of its stack, unfiltered. */
struct node_sample {
	/* Time of the sample; 0 while it is being written. */
	u64 at;
	u32 pid;
	u32 tid;
	u32 what;
	s32 call;
	u64 ip;
	u64 stack[STACK_WORDS];
};

/* A thread that ran on a CPU, until the next one did. */
struct runner {
	u64 from;
	u32 tgid;
	u32 session;
	/* In the kernel's numbers: its priority, and the one of its own policy. The first one is
	 * higher while a lock passes on the priority of a thread that waits. */
	s32 prio;
	s32 normal_prio;
	char comm[COMM];
};

struct cpu {
	/* When the current thread began to run, and when the CPU became idle, or 0. */
	u64 since;
	u64 idle_since;
	u64 switches;
	/* Number of samples of node threads. */
	u64 samples;
	/* How far the clock of its run queue is behind CLOCK_MONOTONIC, and what the clock showed
	 * when this was measured; 0 before that. */
	u64 behind;
	u64 learnt_at;
	/* How often in a row it seemed further behind than it may be, and the smallest of these
	 * distances. */
	u64 often;
	u64 least_behind;
	/* When a thread was last woken here. */
	u64 woken_at;
	/* Number of the current thread's stretch; its index in `ring` is this modulo RUNNERS. */
	u64 head;
	struct runner ring[RUNNERS];
};

/* How long a process ran while threads of another process were runnable on its CPU. */
struct pair {
	u32 victim;
	u32 culprit;
	u64 ns;
	u64 worst;
	u64 waits;
	/* Part of `ns` at a real-time priority above the victim's or equal to it, and the two
	 * priorities. */
	u64 forced;
	s32 prio;
	s32 victim_prio;
	/* Session of the culprit. */
	u32 session;
	/* The priority of the culprit's own policy then. */
	s32 normal_prio;
	char comm[COMM];
};

/* The pairs of one CPU and one interval. */
struct pairs {
	struct pair pairs[PAIRS];
	/* Time of the pairs that found no slot. */
	u64 rest;
};

struct reader_key {
	u32 reader;
	u32 target;
	/* The system call, if it reads no file. */
	u32 call;
	u32 pad;
	char file[FILE_NAME];
};

/* A process that reads the memory map of another process under the lock of that map. */
struct reader {
	u64 holds;
	u64 ns;
	/* Part of `ns` runnable without a CPU, and part of that throttled. */
	u64 ready;
	u64 throttled;
	u64 worst[2];
	u32 worst_of[2];
	u32 tid;
	s32 nice;
	char comm[COMM];
};

/* Where a thread slept that another thread woke. The last one: for a commit of a journal, which
 * waited until a handle was closed. */
enum slept { SLEPT_OTHERWISE, SLEPT_IN_FUTEX, SLEPT_FOR_INPUT, SLEPT_FOR_JOURNAL };

/* Whether the holder has the lower priority: the higher nice value, or a lower priority than a
 * sleeper with a real-time or deadline policy. */
enum inverted { NOT_INVERTED, INVERTED_BY_NICE, INVERTED_BY_POLICY };

struct chain_key {
	u32 sleeper;
	/* Process of the thread that was runnable, or that had the handle of a journal. */
	u32 holder;
	u8 slept;
	u8 steps;
	u8 why;
	u8 inverted;
};

/* How long threads of a process slept while a thread that they waited for was runnable, or had the
 * handle of a journal. */
struct chain {
	u64 ns;
	u64 wakes;
	u64 worst[2];
	u32 worst_of[2];
	char comm[COMM];
};

/* Threads that hold the lock of another process's address space. */
struct space {
	u64 since;
	s64 holders;
	u64 ns;
};

#endif
