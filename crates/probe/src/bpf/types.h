/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* What programs and loader share. */
#ifndef TAILBACK_TYPES_H
#define TAILBACK_TYPES_H

/* Sizes of the tables; each is indexed by a number's low bits. */
#define THREADS 8192
#define GROUPS 8192
#define CPUS 512
#define SPACES 256
#define PARTS 8
#define STACK_DEPTH 24
#define STACKS 2048
#define POLLS 6

/* Parts: 0 is everybody who has none. */
#define PART_OTHER 0
/* Nobody. */
#define PART_IDLE 7

/* Of a group. */
#define VICTIM 1
#define SUSPECT 2

enum state { UNKNOWN, RUNNING, RUNNABLE, BLOCKED };

enum kind { WAITED = 1, HELD = 2, RAN = 3, SLEPT = 4, THROTTLED = 5 };

/* What is sent when something ended that may matter; times by CLOCK_MONOTONIC, in nanoseconds. */
struct event {
	u32 kind;
	u32 cpu;
	u32 tid;
	u32 tgid;
	/* The wait, the hold, the sleep, or the time on the CPU. */
	u64 from;
	u64 to;
	/* Of the time on the CPU at its end: since when it was runnable, and when it began. */
	u64 runnable;
	u64 running;
	u64 mm;
	s32 stack;
	s32 nice;
	u8 write;
	/* What the thread became then. */
	u8 then;
	u8 part;
	u8 pad[5];
	char comm[COMM];
};

/* A thread of interest. */
struct thread {
	u32 tid;
	u32 tgid;
	u8 state;
	u8 part;
	u8 flags;
	u8 wait_write;
	u8 hold_write;
	u8 asleep;
	/* Whether its CPU counts it among its holders. */
	u8 counted;
	/* Whether the call is one that waits for input. */
	u8 polling;
	u16 cpu;
	u16 pad2;
	s32 stack;
	s32 nice;
	/* Since when it is in its state; since when it was runnable before it ran. */
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
	/* How long its CPU had been throttled when it became runnable. */
	u64 throttled_mark;
	/* Since when it is in futex, or in a call that waits for input. */
	u64 call_from;
	u64 futex_calls;
	u64 futex_ns;
	/* Of that: asleep. */
	u64 futex_slept_ns;
	/* Asleep in a call that waits for input. */
	u64 poll_slept_ns;
	/* How long threads of each part had run on its CPU when it became runnable, and how long
	 * they ran while it was. */
	u64 mark[PARTS];
	u64 behind[PARTS];
	char comm[COMM];
};

/* A process of interest. */
struct group {
	u32 tgid;
	u8 part;
	u8 flags;
	u8 pad[2];
};

struct cpu {
	/* Since when the thread that runs has run. */
	u64 since;
	/* Idle though a thread of interest was runnable on this very CPU. */
	u64 idle_while_waiting_ns;
	/* How long threads of each part ran. */
	u64 ran[PARTS];
	/* The run queue of the group whose quota held it off this CPU last, since when it does now,
	 * and for how long it did before. */
	u64 queue;
	u64 throttled_since;
	u64 throttled_ns;
	/* Who ran when the quota was used up. */
	u32 throttled_tid;
	u32 pad1;
	u32 runnable;
	/* Of those: what may hold something. */
	u32 holders;
	u8 watched;
	/* The part that runs. */
	u8 part;
	/* Switches went by that were of no interest, so it is not known since when it runs. */
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
