/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Whom a thread that stands ready keeps asleep. A thread that is woken by another lost that part of
 * its sleep in which the other stood ready, or was asleep itself behind such a one. */
#ifndef TAILBACK_WATCH_CHAIN_H
#define TAILBACK_WATCH_CHAIN_H

#include "watch_tables.h"

/* Shorter stretches and shorter losses are not noted: they are most, and add up to little. */
#define LEAST_STRETCH 50000

/* A thread that a timer wakes from so long a sleep, and that runs for less than that before it
 * sleeps in the same call, goes on with its sleep: PostgreSQL looks for a deadlock so, once in a
 * wait. */
#define LONG_SLEEP 10000000
#define SHORT_RUN 1000000

/* A chain has at most so many threads that sleep. */
#define STEPS 3

#if defined(__TARGET_ARCH_x86)
#define IS_FUTEX(call) ((call) == 202 || (call) == 449 || (call) == 455)
/* Reading, receiving, accepting, and waiting for that. */
#define IS_FOR_INPUT(call)                                                                              \
	((call) == 0 || (call) == 7 || (call) == 17 || (call) == 19 || (call) == 23 || (call) == 42 ||  \
	 (call) == 43 || (call) == 45 || (call) == 47 || (call) == 232 || (call) == 270 ||              \
	 (call) == 271 || (call) == 281 || (call) == 288 || (call) == 299 || (call) == 426 ||           \
	 (call) == 441)
/* Writing, sending, connecting, closing. */
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

/* Whether the kernel says in which system call a task is. */
static __always_inline bool knows_calls(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___watch, BPF_FUNC_task_pt_regs___watch);
}

/* The system call that a task is in; negative where it is in none, or where the kernel does not
 * say. */
static __always_inline s64 call_of(struct task_struct *task)
{
	struct pt_regs___watch *regs;

	if (!knows_calls())
		return -1;
	regs = (void *)bpf_task_pt_regs(task);
	return CALL_OF(regs);
}

/* The same of the current task. Kernels before 5.11 do not hand it out as one whose fields may be
 * read, and do not get to that call. */
static __always_inline s64 current_call(void)
{
	if (!knows_calls())
		return -1;
	return call_of(bpf_get_current_task_btf());
}

/* Whether an interrupt wakes, and not the current task. What a task sends to its own machine
 * arrives by a soft interrupt that it serves itself. */
static __always_inline bool is_interrupt(void)
{
	u32 depth;

	if (!knows_interrupts())
		return current_call() < 0;
	depth = interrupts();
	if (depth & (counts_later ? HARD_INTERRUPT_LATER : HARD_INTERRUPT))
		return true;
	return depth & SOFT_INTERRUPT && !SENDS(current_call());
}

/* What is about to be forgotten becomes part of the next older one, where the two are two thirds of
 * the time that they span: so the past of a thread that runs little is known as far back as that
 * was so. */
static __always_inline void keep_older(struct stretch *oldest, struct stretch *next)
{
	u64 ns = oldest->ns + next->ns;

	if (!oldest->to || oldest->why != next->why || ns * 3 < (next->to - oldest->from) * 2)
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

static __always_inline void add_chain(struct thread *sleeper, struct held *held, u8 slept)
{
	struct chain_key key = {};
	struct chain *chain;

	key.sleeper = sleeper->tgid;
	key.holder = held->holder;
	key.slept = slept;
	key.steps = held->steps;
	key.why = held->why;
	key.inverted = held->nice > sleeper->nice;
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

/* What the sleep until now owes to stretches in which the waker itself stood ready. */
static __always_inline void owes_waker(struct thread *waker, u64 from, u64 now, struct held *held)
{
	u64 quota = 0;

	for (int i = 0; i < STRETCHES; i++) {
		struct stretch *stretch = &waker->stood[i];
		u64 ns = overlap(from, now, stretch->from, stretch->to);
		u64 span = (stretch->to - stretch->from) >> 10;

		/* Of several the part that this much of their time has on average. */
		if (stretch->ns != stretch->to - stretch->from && span)
			ns = ns * (stretch->ns >> 10) / span;
		held->ns += ns;
		if (stretch->why == STOOD_BY_QUOTA)
			quota += ns;
	}
	held->holder = waker->tgid;
	held->steps = 1;
	held->why = quota * 2 > held->ns ? STOOD_BY_QUOTA : STOOD;
	held->nice = waker->nice;
	__builtin_memcpy(held->comm, waker->comm, COMM);
}

static __always_inline u8 slept_in(struct task_struct *task)
{
	s64 call = call_of(task);

	return IS_FUTEX(call) ? SLEPT_IN_FUTEX : IS_FOR_INPUT(call) ? SLEPT_FOR_INPUT : SLEPT_OTHERWISE;
}

/* Whether the waker can have kept it asleep: mostly it cannot, and that is all there is to do. */
static __always_inline bool may_owe(struct thread *thread, struct thread *waker)
{
	return waker && waker != thread && thread->asleep_from &&
	       waker->owed_until > thread->asleep_from + LEAST_STRETCH;
}

/* Whether it has slept for long, as far as that is known without asking for the time: the current
 * task began to run later. */
static __always_inline bool slept_long(struct thread *thread, struct thread *waker)
{
	return !waker || waker->since > thread->since + LONG_SLEEP;
}

/* An interrupt wakes this task, or the current one does. */
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

/* The process of the current task, of these two numbers, which has this entry or none. */
static __always_inline u32 process_of(struct thread *waker, u64 both)
{
	if (waker)
		return waker->tgid;
	return namespace ? process_number((void *)bpf_get_current_task()) : both >> 32;
}

/* The current task, which is this one, wakes it. */
static __always_inline void is_woken_by(struct thread *thread, struct task_struct *task,
					struct thread *waker)
{
	u64 now = bpf_ktime_get_ns(), from = thread->asleep_from;
	struct held held = {}, behind;
	u8 slept;

	owes_waker(waker, from, now, &held);
	behind = waker->held;
	behind.ns = behind.steps < STEPS ? overlap(from, now, behind.from, behind.to) : 0;
	if (behind.ns > waker->held.ns)
		behind.ns = waker->held.ns;
	if (held.ns < LEAST_STRETCH && behind.ns < LEAST_STRETCH)
		return;
	slept = slept_in(task);
	if (held.ns >= LEAST_STRETCH)
		add_chain(thread, &held, slept);
	if (behind.ns >= LEAST_STRETCH) {
		behind.steps++;
		add_chain(thread, &behind, slept);
	}
	/* Of two the longer one is passed on. */
	thread->held = held.ns >= behind.ns ? held : behind;
	thread->held.from = from;
	thread->held.to = now;
	thread->owed_until = now;
}

#endif
