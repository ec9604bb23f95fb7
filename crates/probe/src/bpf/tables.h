/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The tables have a fixed size and are indexed with a mask, since every switch makes a lookup. */
#ifndef TAILBACK_TABLES_H
#define TAILBACK_TABLES_H

#include "kernel.h"
#include "types.h"

/* Bits of the watched processes: one KiB that stays in the cache, since nearly every lookup is
 * for a process that is not watched. */
u64 filter[GROUPS / 64];
struct thread threads[THREADS];
struct group groups[GROUPS];
struct cpu cpus[CPUS];
struct space spaces[SPACES];

/* Events that were lost because the ring buffer was full, and kernel stacks that were lost because
 * other stacks had their slots. */
u64 lost;
/* Lookups of threads whose slot in the table was taken. */
u64 untracked;
/* Threads of victims that wait or sleep now. */
s32 waiting;

/* A thread of the loader that touches the lock of a victim on purpose, and that victim. So its
 * address space is known before the victim itself is seen on a CPU. */
u32 introducer;
u32 introduced;

/* Shorter waits are not sent, in nanoseconds. */
const volatile u64 threshold_ns = 1000000;
/* Whether the use of a group's quota is checked. */
const volatile bool quota = false;
const volatile u32 futex_number = 202;
/* Calls that wait for input. If there are fewer, an invalid number fills the place. */
const volatile u32 poll_numbers[POLLS] = { 232, 281, 7, 271, 23, 270 };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACK_DEPTH * sizeof(u64));
} stacks SEC(".maps");

static __always_inline void fill(struct thread *thread, struct task_struct *task, u8 part, u8 flags)
{
	__builtin_memset(thread, 0, sizeof(*thread));
	thread->tgid = task->tgid;
	thread->part = part;
	thread->flags = flags;
	thread->stack = -1;
	thread->nice = task->static_prio - PRIO_OF_NICE_0;
	bpf_probe_read_kernel(thread->comm, COMM, task->comm);
	thread->tid = task->pid;
}

static __always_inline void watch_space(u64 mm, u32 tgid)
{
	struct space *space = &spaces[(mm >> 6) & (SPACES - 1)];

	if (mm && space->mm != mm) {
		space->tgid = tgid;
		space->mm = mm;
	}
}

/* A slot for a thread, unless another thread has it. */
static __always_inline struct thread *claim(struct task_struct *task, u8 part, u8 flags)
{
	struct thread *thread = &threads[task->pid & (THREADS - 1)];

	if (thread->tid && thread->tid != task->pid) {
		untracked++;
		return 0;
	}
	fill(thread, task, part, flags);
	/* Read as a number: the verifier allows no arithmetic on a pointer. */
	if (flags & VICTIM)
		watch_space((u64)BPF_CORE_READ(task, mm), task->tgid);
	return thread;
}

/* The thread's entry, if the thread is watched. */
static __always_inline struct thread *known(struct task_struct *task)
{
	u32 tid = task->pid, tgid = task->tgid;
	struct thread *thread = &threads[tid & (THREADS - 1)];
	struct group *group = &groups[tgid & (GROUPS - 1)];

	if (!(filter[(tgid & (GROUPS - 1)) / 64] >> (tgid % 64) & 1) || !tid)
		return 0;
	if (thread->tid == tid && thread->tgid == tgid)
		return thread;
	if (group->tgid != tgid)
		return 0;
	return claim(task, group->part, group->flags);
}

static __always_inline struct event *event(struct thread *thread, u32 kind, u64 from, u64 to)
{
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->cpu = bpf_get_smp_processor_id();
	event->from = from;
	event->to = to;
	event->stack = -1;
	if (thread) {
		event->tid = thread->tid;
		event->tgid = thread->tgid;
		event->nice = thread->nice;
		event->part = thread->part;
		event->runnable = thread->runnable_since;
		event->running = thread->since;
		__builtin_memcpy(event->comm, thread->comm, COMM);
	}
	return event;
}

/* The number of the kernel stack; negative if it is not known. A slot keeps its first stack, so a
 * stack whose slot is taken is stored without its innermost frames, which gives it another slot.
 * Those are frames of the probe and of the scheduler, which nobody needs. */
static __always_inline s32 stack_of(void *ctx)
{
	s32 stack = SLOT_TAKEN;

#pragma unroll
	for (int skipped = 0; skipped < STACK_SLOTS; skipped++) {
		if (stack == SLOT_TAKEN)
			stack = bpf_get_stackid(ctx, &stacks, skipped);
	}
	if (stack == SLOT_TAKEN)
		__sync_fetch_and_add(&lost, 1);
	return stack;
}

/* No event wakes the loader: it polls the ring buffer about fifty times a second. */
static __always_inline void send(struct event *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
