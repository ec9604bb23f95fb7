/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Which threads a runnable thread keeps asleep. If one thread wakes another, the sleeper lost the
 * part of its sleep in which the waker was runnable, or slept itself behind a runnable thread. */
#ifndef TAILBACK_WATCH_CHAIN_H
#define TAILBACK_WATCH_CHAIN_H

#include "watch_tables.h"

/* Shorter stretches and losses are not recorded: they are the majority, and add up to little. */
#define LEAST_STRETCH 50000

/* A thread continues its sleep if a timer wakes it from a sleep of at least `LONG_SLEEP` and it
 * sleeps in the same call again after less than `SHORT_RUN`. PostgreSQL does so once in a wait,
 * to look for a deadlock. */
#define LONG_SLEEP 10000000
#define SHORT_RUN 1000000

/* Most sleeping threads in a chain. */
#define STEPS 3

#if defined(__TARGET_ARCH_x86)
#define IS_FUTEX(call) ((call) == 202 || (call) == 449 || (call) == 455)
/* Calls for reading, receiving and accepting, and calls that wait for these. */
#define IS_FOR_INPUT(call)                                                                              \
	((call) == 0 || (call) == 7 || (call) == 17 || (call) == 19 || (call) == 23 || (call) == 42 ||  \
	 (call) == 43 || (call) == 45 || (call) == 47 || (call) == 232 || (call) == 270 ||              \
	 (call) == 271 || (call) == 281 || (call) == 288 || (call) == 299 || (call) == 426 ||           \
	 (call) == 441)
/* Calls for writing, sending, connecting and closing. */
#define SENDS(call)                                                                                     \
	((call) == 1 || (call) == 3 || (call) == 20 || (call) == 40 || (call) == 42 || (call) == 44 ||  \
	 (call) == 46 || (call) == 48 || (call) == 307 || (call) == 426)
#else
#define IS_FUTEX(call) ((call) == 98 || (call) == 449 || (call) == 455)
#define IS_FOR_INPUT(call)                                                                              \
	((call) == 63 || (call) == 65 || (call) == 67 || (call) == 69 || (call) == 22 || (call) == 72 || \
	 (call) == 73 || (call) == 202 || (call) == 203 || (call) == 207 || (call) == 212 ||            \
	 (call) == 242 || (call) == 243 || (call) == 426 || (call) == 441)
#define SENDS(call)                                                                                     \
	((call) == 57 || (call) == 64 || (call) == 66 || (call) == 71 || (call) == 203 ||               \
	 (call) == 206 || (call) == 210 || (call) == 211 || (call) == 269 || (call) == 426)
#endif

/* Whether the kernel tells in which system call a task is. */
static __always_inline bool knows_calls(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___watch, BPF_FUNC_task_pt_regs___watch);
}

/* The system call that a task is in, in the numbers of its own kind of program; negative if it is
 * in none, or if the kernel does not tell. */
static __always_inline s64 any_call_of(struct task_struct *task)
{
	struct pt_regs___watch *regs;

	if (!knows_calls())
		return -1;
	regs = (void *)bpf_task_pt_regs(task);
	return CALL_OF(regs);
}

/* The same in the numbers of 64-bit programs; negative for 32-bit programs. */
static __always_inline s64 call_of(struct task_struct *task)
{
	return any_call_of(task) | other_numbers(task);
}

/* The system call of the current task. Kernels before 5.11 provide no current task with readable
 * fields; they return before that helper is called. */
static __always_inline s64 current_call(void)
{
	if (!knows_calls())
		return -1;
	return call_of(bpf_get_current_task_btf());
}

/* Whether the current task is in a system call. */
static __always_inline bool is_in_call(void)
{
	if (!knows_calls())
		return false;
	return any_call_of(bpf_get_current_task_btf()) >= 0;
}

/* Whether an interrupt makes the wake-up, and not the current task. Data that a task sends to its
 * own machine arrives in a soft interrupt that the same task serves. */
static __always_inline bool is_interrupt(void)
{
	u32 depth;

	if (!knows_interrupts())
		return !is_in_call();
	depth = interrupts();
	if (depth & (counts_later ? HARD_INTERRUPT_LATER : HARD_INTERRUPT))
		return true;
	return depth & SOFT_INTERRUPT && !SENDS(current_call());
}

/* Merges the stretch that is about to be overwritten into the next older one, if both together
 * fill a third of the time that they span. So the past of a thread that a quota of half a CPU
 * throttles is known for longer than its last four periods. */
static __always_inline void keep_older(struct stretch *oldest, struct stretch *next)
{
	u64 ns = oldest->ns + next->ns;

	if (!oldest->to || oldest->why != next->why || ns * 3 < next->to - oldest->from)
		return;
	next->from = oldest->from;
	next->ns = ns;
}

static __always_inline void note_stretch(struct thread *thread, u64 now, u64 throttled)
{
	u32 at = thread->stretch_at++;
	struct stretch *stretch = &thread->stood[at & (STRETCHES - 1)];

	keep_older(stretch, &thread->stood[(at + 1) & (STRETCHES - 1)]);
	stretch->from = thread->since;
	stretch->to = now;
	stretch->ns = now - thread->since;
	stretch->why = throttled * 2 >= stretch->ns ? STOOD_BY_QUOTA : STOOD;
	thread->owed_until = now;
}

static __always_inline u64 overlap(u64 from, u64 to, u64 other_from, u64 other_to)
{
	u64 begin = from > other_from ? from : other_from;
	u64 end = to < other_to ? to : other_to;

	return end > begin ? end - begin : 0;
}

/* How a thread ranks beside others, in the kernel's numbers of priorities: the lowest one runs
 * first. Between threads without a real-time or deadline policy, the nice values count: a lock
 * passes on no weight. */
static __always_inline s32 rank_of(s32 prio, s32 nice)
{
	return prio < REAL_TIME ? prio : nice + PRIO_OF_NICE_0;
}

/* Whether a holder has a lower priority than a sleeper of that rank. */
static __always_inline u8 inverts(struct held *held, s32 rank)
{
	if (held->rank <= rank)
		return NOT_INVERTED;
	return rank < REAL_TIME ? INVERTED_BY_POLICY : INVERTED_BY_NICE;
}

static __always_inline void add_chain(struct thread *sleeper, struct held *held, u8 inverted)
{
	struct chain_key key = {};
	struct chain *chain;

	key.sleeper = sleeper->tgid;
	key.holder = held->holder;
	key.slept = held->slept;
	key.steps = held->steps;
	key.why = held->why;
	key.inverted = inverted;
	chain = bpf_map_lookup_elem(&chains, &key);
	if (!chain) {
		bpf_map_update_elem(&chains, &key, &blank_chain, BPF_NOEXIST);
		chain = bpf_map_lookup_elem(&chains, &key);
		if (!chain)
			return;
		__builtin_memcpy(chain->comm, held->comm, COMM);
	}
	__sync_fetch_and_add(&chain->ns, held->ns);
	__sync_fetch_and_add(&chain->wakes, 1);
	keep_worst(chain->worst, chain->worst_of, held->ns);
}

/* The part of the sleep until now in which the waker itself was runnable. */
static __always_inline void owes_waker(struct thread *waker, u64 from, u64 now, struct held *held)
{
	u64 quota = 0;

	for (int i = 0; i < STRETCHES; i++) {
		struct stretch *stretch = &waker->stood[i];
		u64 ns = overlap(from, now, stretch->from, stretch->to);
		u64 span = (stretch->to - stretch->from) >> 10;

		/* For merged stretches, take their average share of this time. */
		if (stretch->ns != stretch->to - stretch->from && span)
			ns = ns * (stretch->ns >> 10) / span;
		held->ns += ns;
		if (stretch->why == STOOD_BY_QUOTA)
			quota += ns;
	}
	held->holder = waker->tgid;
	held->steps = 1;
	held->why = quota * 2 > held->ns ? STOOD_BY_QUOTA : STOOD;
	held->rank = rank_of(waker->prio, waker->nice);
	__builtin_memcpy(held->comm, waker->comm, COMM);
}

static __always_inline u8 slept_in(struct task_struct *task)
{
	s64 call = call_of(task);

	return IS_FUTEX(call) ? SLEPT_IN_FUTEX : IS_FOR_INPUT(call) ? SLEPT_FOR_INPUT : SLEPT_OTHERWISE;
}

/* Whether the waker can have kept the thread asleep. Usually it cannot, and then nothing else is
 * done. */
static __always_inline bool may_owe(struct thread *thread, struct thread *waker)
{
	return waker && waker != thread && thread->asleep_from &&
	       waker->owed_until > thread->asleep_from + LEAST_STRETCH;
}

/* Whether the thread has slept for long, as far as that is known without reading the clock: the
 * current task began to run later. */
static __always_inline bool slept_long(struct thread *thread, struct thread *waker)
{
	return !waker || waker->since > thread->since + LONG_SLEEP;
}

/* Records whether an interrupt wakes this task, or the current task does. */
static __always_inline void note_by_nobody(struct thread *thread, struct task_struct *task,
					   bool nobody)
{
	thread->by_nobody = nobody;
	if (nobody)
		thread->slept_in = call_of(task);
}

/* The thread falls asleep. */
static __always_inline void begins_to_sleep(struct thread *thread, struct task_struct *task, u64 now)
{
	bool goes_on = thread->by_nobody && thread->slept_in >= 0 &&
		       now - thread->since < SHORT_RUN && thread->slept_in == call_of(task);

	if (!goes_on)
		thread->asleep_from = now;
	thread->by_nobody = 0;
}

/* The process of the current task, from its entry if it has one, else from `both` (tgid and
 * tid). */
static __always_inline u32 process_of(struct thread *waker, u64 both)
{
	if (waker)
		return waker->tgid;
	return namespace ? process_number((void *)bpf_get_current_task()) : both >> 32;
}

/* The current task, with the entry `waker`, wakes the task. */
static __always_inline void is_woken_by(struct thread *thread, struct task_struct *task,
					struct thread *waker)
{
	u64 now = bpf_ktime_get_ns(), from = thread->asleep_from;
	struct held held = {}, behind;
	s32 rank;
	u8 slept;

	owes_waker(waker, from, now, &held);
	behind = waker->held;
	behind.ns = behind.steps < STEPS ? overlap(from, now, behind.from, behind.to) : 0;
	if (behind.ns > waker->held.ns)
		behind.ns = waker->held.ns;
	if (held.ns < LEAST_STRETCH && behind.ns < LEAST_STRETCH)
		return;
	rank = rank_of(prio_of(task), thread->nice);
	slept = slept_in(task);
	held.slept = slept;
	if (behind.slept == SLEPT_IN_FUTEX)
		behind.slept = slept;
	if (held.ns >= LEAST_STRETCH)
		add_chain(thread, &held, inverts(&held, rank));
	if (behind.ns >= LEAST_STRETCH) {
		behind.steps++;
		add_chain(thread, &behind, inverts(&behind, rank));
	}
	/* The longer of the two is passed on. */
	thread->held = held.ns >= behind.ns ? held : behind;
	thread->held.from = from;
	thread->held.to = now;
	thread->owed_until = now;
}

#endif
