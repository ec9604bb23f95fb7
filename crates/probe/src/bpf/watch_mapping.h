/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The lock of a single mapping. From Linux 6.17 on, maps is read under it; from 7.2 on, smaps
 * too. It has no tracepoint. A waiter is recognized by its stack when it falls asleep in a call
 * that changes its memory map. The thread that wakes it is the one that released the lock. */
#ifndef TAILBACK_WATCH_MAPPING_H
#define TAILBACK_WATCH_MAPPING_H

#include "watch_lock.h"

/* Number of functions that wait for the lock, and stack frames that are checked. */
#define WAITERS 4
#define FRAMES 10

struct code {
	u64 from;
	u64 to;
};

/* Set by the loader; zeros if the kernel has no such lock or hides its addresses. */
const volatile struct code waiters[WAITERS] = {};

/* Calls that change the memory map of the caller. */
#if defined(__TARGET_ARCH_x86)
#define CHANGES_MAP(call) (((call) >= 9 && (call) <= 12) || (call) == 25 || (call) == 28)
#else
#define CHANGES_MAP(call) (((call) >= 214 && (call) <= 216) || (call) == 222 || (call) == 226 || (call) == 233)
#endif

static __always_inline bool waits_for_mapping(void *ctx, struct task_struct *task)
{
	struct pt_regs___watch *regs;
	u64 stack[FRAMES] = {};
	bool found = false;
	s64 call;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___watch, BPF_FUNC_task_pt_regs___watch))
		return false;
	regs = (void *)bpf_task_pt_regs(task);
	call = CALL_OF(regs) | other_numbers(task);
	if (!CHANGES_MAP(call) || bpf_get_stack(ctx, stack, sizeof(stack), 0) < 0)
		return false;
	for (int i = 0; i < FRAMES; i++)
		for (int j = 0; j < WAITERS; j++)
			found |= stack[i] >= waiters[j].from && stack[i] < waiters[j].to;
	return found;
}

/* The current thread falls asleep. */
static __always_inline void may_wait_for_mapping(void *ctx, struct thread *thread, struct task_struct *task,
						 u64 now)
{
	if (!waiters[0].to || thread->lock || !waits_for_mapping(ctx, task))
		return;
	thread->lock = WAITS_MAPPING;
	thread->lock_from = now;
}

/* The current thread releases the lock of a mapping that `thread` waits for. How long it held the
 * lock is not known, so the time of the wait is used. */
static __always_inline void is_given_mapping(struct thread *thread, u32 by, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *reader;
	u64 waited = now > thread->lock_from ? now - thread->lock_from : 0;

	thread->lock = NO_LOCK;
	thread->lock_ns += waited;
	thread->lock_waits++;
	if (!by || by == thread->tgid)
		return;
	thread->foreign_ns += waited;
	keep_worst(thread->lock_worst, thread->lock_worst_of, waited);
	reader = entry_of(task);
	if (!reader || reader->lock)
		return;
	__builtin_memset(reader->file, 0, FILE_NAME);
	name_file(task, reader);
	reader->target = thread->tgid;
	add_hold(task, reader, waited, 0, 0);
}

#endif
