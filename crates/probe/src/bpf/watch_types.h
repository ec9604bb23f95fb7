/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* What the programs of `tailback watch` and their reader share; src/live/raw.rs has the same. */
#ifndef TAILBACK_WATCH_TYPES_H
#define TAILBACK_WATCH_TYPES_H

#include "kernel.h"

typedef __s64 s64;

/* Of the kernel's interface. */
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_MMAPABLE (1U << 10)

/* Who ran last on a CPU: so many are remembered, the one that runs now among them. */
#define RUNNERS 256
/* Pairs of a victim and who ran instead of it, for each CPU and interval. */
#define PAIRS 1024
#define PROBES 4
/* Threads, and how many places there are for each of them. */
#define THREADS 16384
#define PLACES 4
/* Those who read the memory map of another process. */
#define READERS 2048
/* Pairs of a program that slept and one that stood still meanwhile. */
#define CHAINS 4096
/* Stretches in which a thread stood ready that are remembered of it. */
#define STRETCHES 4
#define SPACES 1024
/* CPUs that are looked at for one that was idle. */
#define CPUS_LOOKED_AT 256
/* Levels of groups whose quota is told apart, the thread's own first; the last is: not known. */
#define LEVELS 8
#define LEVEL_UNKNOWN (LEVELS - 1)
#define FILE_NAME 16
/* Erlang nodes whose threads are looked at more closely. */
#define NODES 16
/* Samples of them that are kept, and how much of the stack is. */
#define SAMPLES 2048
#define STACK_WORDS 96

enum state { UNKNOWN, RUNNING, READY, ASLEEP, UNINTERRUPTIBLE, GONE };

/* Where a thread of a node sleeps: the two ways in which the VM itself waits, and all others. */
enum sleep { SLEEPS_UNKNOWN, SLEEPS_FUTEX, SLEEPS_POLL, SLEEPS_FAULT, SLEEPS_CALL };

/* What a sample of a node's thread is of. */
enum sampled { SAMPLED_RUNNING, SAMPLED_SPINNING, SAMPLED_SILENT, SAMPLED_ASLEEP };

enum lock { NO_LOCK, WAITS, READS_FOREIGN, HOLDS_FOREIGN, WAITS_MAPPING };

/* Why a thread stood ready. */
enum why { STOOD, STOOD_BY_QUOTA };

/* A stretch in which a thread stood ready and did not run; or several, so long in all. */
struct stretch {
	u64 from;
	u64 to;
	u64 ns;
	u64 why;
};

/* A sleep, and how long of it the thread at the other end of the chain stood ready. */
struct held {
	u64 from;
	u64 to;
	u64 ns;
	u32 holder;
	u8 steps;
	u8 why;
	u8 pad[2];
	s32 nice;
	char comm[COMM];
	u32 pad2;
};

/* Memory that a thread sleeps for: the kernel has marked it as one that waits for some (PSI); a
 * page that is read while it is in no system call. */
enum waits_for { NO_MEMORY, MARKED_MEMORY, PAGE_READ };

/* For whom a thread frees memory, or that it moves pages. */
enum reclaim_of { OF_MACHINE, OF_GROUP, OF_COMPACTION };

/* A thread; times in nanoseconds by CLOCK_MONOTONIC, sums since it was first seen. What every
 * switch touches stands first, so that it takes few lines of the cache. */
struct thread {
	/* Tells it from a later thread of the same number. */
	u64 start;
	/* As the kernel counts. All numbers of processes and sessions are those of the reader's
	 * namespace, and so is `tid_here`. */
	u32 tid;
	u32 tgid;
	u8 state;
	u8 lock;
	u8 level;
	/* An interrupt woke it from its last sleep; of short sleeps it is not always known. */
	u8 by_nobody;
	u32 cpu;
	/* Process that woke it last; 0 where an interrupt did. */
	u32 waker;
	u32 session;
	/* Since when it is in its state, and since when of that on this CPU. */
	u64 since;
	u64 here;
	/* Up to when it stood ready, or slept behind one that did: a sleep of another that
	 * began later owes it nothing. */
	u64 owed_until;
	/* Since when it sleeps, or slept last; a timer that it looks after for a moment does not
	 * end a sleep. */
	u64 asleep_from;
	u64 ran;
	/* Ready and without a CPU. */
	u64 ready;
	u64 waits;
	/* The worst single wait by interval, and which intervals these are. */
	u64 worst[2];
	u32 worst_of[2];
	/* How long its group had been throttled here when it became ready, and its queue. */
	u64 throttled_mark;
	u64 queue;
	char comm[COMM];
	/* Of the ready time: another process ran; another thread of its own ran; the CPU was idle;
	 * beyond what is remembered. */
	u64 others;
	u64 own;
	u64 idle;
	u64 rest;
	/* Of that: some CPU that it may use stood idle all the time until then. */
	u64 beside_idle;
	/* Asleep where no signal wakes it. */
	u64 asleep;
	s32 nice;
	/* The system call in which an interrupt woke it; negative where that is not known. */
	s32 slept_in;
	/* While it reads the memory map of another: whose. */
	u32 target;
	/* Samples of its program, and those at an instruction of active waiting. */
	u32 samples;
	u32 spins;
	/* Of the ready time: throttled, by the level of the group whose quota was used up. */
	u64 throttled[LEVELS];
	/* The lock of its own address space: waits, and the part of them in which foreigners held
	 * it. */
	u64 lock_from;
	u64 lock_mark;
	u64 lock_ns;
	u64 lock_waits;
	u64 lock_worst[2];
	u32 lock_worst_of[2];
	u64 foreign_ns;
	/* The address space whose lock it waits for or holds; while it reads the memory map of
	 * another: since when, and its own sums then. */
	u64 space;
	u64 hold_from;
	u64 hold_ready;
	u64 hold_throttled;
	char file[FILE_NAME];
	u32 call;
	/* Of a node's thread: where it sleeps or slept last, and by which call. */
	u32 sleep;
	/* Where it waited actively when it was last seen to. */
	u64 spin_at;
	s32 sleep_call;
	u32 native_calls;
	/* Asleep in a futex, in poll and its kind, in another call. */
	u64 futex;
	u64 poll;
	u64 native;
	u64 native_worst[2];
	u32 native_worst_of[2];
	/* CPU time in which the VM counted no pass of its schedulers: that number, its own clock
	 * when that changed last, long stretches, up to where they are counted, the worst. */
	u64 passes;
	u64 passed_at;
	u64 silent;
	u64 silent_until;
	u64 silent_worst[2];
	u32 silent_worst_of[2];
	u32 silent_calls;
	/* When a sleep of it was sampled last, in milliseconds. */
	u32 sampled_at;
	/* Of waits for the lock of its own address space: who let go of it last and in which call,
	 * where that was a thread of its own; the most of a single wait that no foreigner had. */
	s32 lock_call;
	char lock_by[COMM];
	u64 own_lock_worst[2];
	u32 own_lock_worst_of[2];
	/* While it frees memory for itself, or moves pages to get free ones in a row: since when,
	 * and which of these;
	 * how long it has freed memory, the part of that for its group, and how long it has moved
	 * pages. Asleep for memory otherwise; asleep for a page that is not there, where the kernel
	 * does not say that it was taken away; the worst of all these. */
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
	/* The worst of single waits for a CPU: what a quota had of it; what an idle CPU would have
	 * spared. */
	u64 share_from;
	u64 throttled_worst[2];
	u32 throttled_worst_of[2];
	u64 beside_worst[2];
	u32 beside_worst_of[2];
	/* Its priority when it became ready, as the kernel counts them. */
	s32 prio;
	u32 tid_here;
	/* The last stretches in which it stood ready; the last sleep that it owes to such stretches
	 * of another. */
	u32 stretch_at;
	/* What it sleeps for, if that is memory. */
	u32 waits_for;
	struct stretch stood[STRETCHES];
	struct held held;
};

/* A sample of a thread of a node: where it stands, and the top of its stack as it is. */
struct node_sample {
	/* When; 0 while it is written. */
	u64 at;
	u32 pid;
	u32 tid;
	u32 what;
	s32 call;
	u64 ip;
	u64 stack[STACK_WORDS];
};

/* Who ran on a CPU, until the next one did. */
struct runner {
	u64 from;
	u32 tgid;
	u32 session;
	/* As the kernel counts priorities. */
	s32 prio;
	u32 pad;
	char comm[COMM];
};

struct cpu {
	/* Since when what runs now has run; since when it is idle, or 0. */
	u64 since;
	u64 idle_since;
	u64 switches;
	/* Samples of threads of nodes. */
	u64 samples;
	/* What the clock of its run queue is behind CLOCK_MONOTONIC, and what it showed when that
	 * was learnt; 0 before. */
	u64 behind;
	u64 learnt_at;
	/* How often in a row it seemed to be more behind than it may be, and by the least of them
	 * so much. */
	u64 often;
	u64 least_behind;
	/* When a thread was woken here last. */
	u64 woken_at;
	/* The place of the one that runs. */
	u64 head;
	struct runner ring[RUNNERS];
};

/* How long a process ran while threads of another were ready on its CPU. */
struct pair {
	u32 victim;
	u32 culprit;
	u64 ns;
	u64 worst;
	u64 waits;
	/* Of that: at a real-time priority above that of the victim or equal to it, and the two. */
	u64 forced;
	s32 prio;
	s32 victim_prio;
	/* Of the culprit. */
	u32 session;
	u32 pad;
	char comm[COMM];
};

/* Of one CPU and one interval. */
struct pairs {
	struct pair pairs[PAIRS];
	/* What found no place. */
	u64 rest;
};

struct reader_key {
	u32 reader;
	u32 target;
	/* The call, where it is none that reads a file. */
	u32 call;
	u32 pad;
	char file[FILE_NAME];
};

/* A process that reads the memory map of another under that one's lock. */
struct reader {
	u64 holds;
	u64 ns;
	/* Of that: ready without a CPU; of that: throttled. */
	u64 ready;
	u64 throttled;
	u64 worst[2];
	u32 worst_of[2];
	u32 tid;
	s32 nice;
	char comm[COMM];
};

/* Where a thread slept that another woke. */
enum slept { SLEPT_OTHERWISE, SLEPT_IN_FUTEX, SLEPT_FOR_INPUT };

struct chain_key {
	u32 sleeper;
	/* Process of the thread that stood ready. */
	u32 holder;
	u8 slept;
	u8 steps;
	u8 why;
	/* Whether the holder has the lower priority. */
	u8 inverted;
};

/* How long threads of a process slept while a thread stood ready that they waited for. */
struct chain {
	u64 ns;
	u64 wakes;
	u64 worst[2];
	u32 worst_of[2];
	char comm[COMM];
};

/* Threads that hold the lock of an address space which is not their own. */
struct space {
	u64 since;
	s64 holders;
	u64 ns;
};

#endif
