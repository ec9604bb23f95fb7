/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The types that the programs and the loader share. */
#ifndef TAILBACK_TYPES_H
#define TAILBACK_TYPES_H

/* Sizes of the tables; each is indexed by the low bits of a number. */
#define THREADS 8192
#define GROUPS 8192
#define CPUS 512
#define SPACES 256
#define PARTS 8
#define STACK_DEPTH 24
#define STACKS 16384
/* How many slots of a stack are tried. With 1,000 different stacks about one in 300 trials loses a
 * stack, and with 100 none does. */
#define STACK_SLOTS 4
#define POLLS 6

/* The error of the kernel if another stack has the slot of this one: -EEXIST. */
#define SLOT_TAKEN -17

/* Numbers of parts: 0 is for all threads without a part. */
#define PART_OTHER 0
/* An idle CPU. */
#define PART_IDLE 7

/* Flags of a group. */
#define VICTIM 1
#define SUSPECT 2

enum state { UNKNOWN, RUNNING, RUNNABLE, BLOCKED };

enum kind { WAITED = 1, HELD = 2, RAN = 3, SLEPT = 4, THROTTLED = 5 };

/* An event: something ended that may matter. Times are by CLOCK_MONOTONIC, in nanoseconds. */
struct event {
	u32 kind;
	u32 cpu;
	u32 tid;
	u32 tgid;
	/* Time of the wait, the hold, the sleep, or the stretch on the CPU. */
	u64 from;
	u64 to;
	/* For the stretch on the CPU at the event's end: when the thread became runnable, and
	 * when it ran. */
	u64 runnable;
	u64 running;
	u64 mm;
	s32 stack;
	s32 nice;
	u8 write;
	/* The state of the thread after the event. */
	u8 then;
	u8 part;
	u8 pad[5];
	char comm[COMM];
};

/* A watched thread. */
struct thread {
	u32 tid;
	u32 tgid;
	u8 state;
	u8 part;
	u8 flags;
	u8 wait_write;
	u8 hold_write;
	u8 asleep;
	/* Whether its CPU counts it in `holders`. */
	u8 counted;
	/* Whether its call is one that waits for input. */
	u8 polling;
	u16 cpu;
	u16 pad2;
	s32 stack;
	s32 nice;
	/* When its state began, and when it became runnable before it ran. */
	u64 since;
	u64 runnable_since;
	u64 running_ns;
	u64 runnable_ns;
	u64 longest_ns;
	u64 blocked_ns;
	u64 migrations;
	u64 preemptions;
	u64 wait_mm;
	u64 wait_from;
	u64 granted;
	u64 slept_from;
	u64 hold_mm;
	u64 hold_from;
	u64 throttles;
	u64 throttled_ns;
	/* Throttled time of its CPU at the moment when the thread became runnable. */
	u64 throttled_mark;
	/* When it entered futex, or a call that waits for input. */
	u64 call_from;
	u64 futex_calls;
	u64 futex_ns;
	/* Part of `futex_ns` asleep. */
	u64 futex_slept_ns;
	/* Time asleep in a call that waits for input. */
	u64 poll_slept_ns;
	/* For each part: how long its threads had run on this CPU when the thread became
	 * runnable, and how long they ran while it was runnable. */
	u64 mark[PARTS];
	u64 behind[PARTS];
	char comm[COMM];
};

/* A watched process. */
struct group {
	u32 tgid;
	u8 part;
	u8 flags;
	u8 pad[2];
};

struct cpu {
	/* When the thread that runs now began to run. */
	u64 since;
	/* Time idle although a watched thread was runnable on this CPU. */
	u64 idle_while_waiting_ns;
	/* Since when at least one watched thread has been runnable here; it counts only while
	 * `runnable` is not 0. */
	u64 waiting_since;
	/* How long the threads of each part ran. */
	u64 ran[PARTS];
	/* The run queue of the group that was throttled here last, the start of the current
	 * throttling (0 if none), and the time of the earlier ones. */
	u64 queue;
	u64 throttled_since;
	u64 throttled_ns;
	/* The thread that ran when the quota was used up. */
	u32 throttled_tid;
	u32 pad1;
	u32 runnable;
	/* Part of `runnable`: threads that may hold something. */
	u32 holders;
	u8 watched;
	/* The part that runs now. */
	u8 part;
	/* Set if switches without a watched thread were skipped; then `since` is not known. */
	u8 stale;
	u8 pad[5];
};

/* An address space whose lock is watched. */
struct space {
	u64 mm;
	u32 tgid;
	u32 pad;
};

#endif
