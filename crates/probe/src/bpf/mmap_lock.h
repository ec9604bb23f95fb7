/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Which threads wait for the lock of a watched address space, and which threads hold it. */
#ifndef TAILBACK_MMAP_LOCK_H
#define TAILBACK_MMAP_LOCK_H

#include "tables.h"

static __always_inline bool is_watched(u64 mm)
{
	return mm && spaces[(mm >> 6) & (SPACES - 1)].mm == mm;
}

/* Any thread that takes the lock is recorded, whatever its process. */
static __always_inline struct thread *toucher(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 tid = bpf_get_current_pid_tgid();
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct thread *thread = &threads[tid & (THREADS - 1)];
	struct group *group = &groups[tgid & (GROUPS - 1)];
	bool ours = group->tgid == tgid;

	if (thread->tid == tid && thread->tgid == tgid)
		return thread;
	if (thread->tid && thread->tid != tid) {
		untracked++;
		return 0;
	}
	__builtin_memset(thread, 0, sizeof(*thread));
	thread->tgid = tgid;
	thread->part = ours ? group->part : PART_OTHER;
	thread->flags = ours ? group->flags : 0;
	thread->stack = -1;
	thread->nice = BPF_CORE_READ(task, static_prio) - PRIO_OF_NICE_0;
	bpf_get_current_comm(thread->comm, COMM);
	thread->tid = tid;
	__sync_fetch_and_or(&filter[(tgid & (GROUPS - 1)) / 64], 1ULL << (tgid % 64));
	return thread;
}

static __always_inline void tell_held(struct thread *thread, u64 now)
{
	struct event *out;

	if (waiting <= 0 && now - thread->hold_from < threshold_ns)
		return;
	out = event(thread, HELD, thread->hold_from, now);
	if (!out)
		return;
	out->mm = thread->hold_mm;
	out->write = thread->hold_write;
	send(out);
}

static __always_inline void tell_waited(struct thread *thread, u64 now)
{
	struct event *out;

	if (!(thread->flags & VICTIM))
		return;
	__sync_fetch_and_add(&waiting, -1);
	if (now - thread->wait_from < threshold_ns)
		return;
	out = event(thread, WAITED, thread->wait_from, now);
	if (!out)
		return;
	out->mm = thread->wait_mm;
	out->write = thread->wait_write;
	send(out);
}

/* The loader reads a file of a victim that the kernel generates under the victim's lock. */
static __always_inline void introduce(u64 mm)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if ((u32)bpf_get_current_pid_tgid() == introducer && mm != (u64)BPF_CORE_READ(task, mm))
		watch_space(mm, introduced);
}

static __always_inline void begins_to_wait(u64 mm, bool write)
{
	struct thread *thread;

	if (introducer)
		introduce(mm);
	if (!is_watched(mm))
		return;
	thread = toucher();
	if (!thread)
		return;
	if ((thread->flags & VICTIM) && !thread->wait_mm)
		__sync_fetch_and_add(&waiting, 1);
	thread->wait_mm = mm;
	thread->wait_write = write;
	thread->granted = 0;
	thread->wait_from = bpf_ktime_get_ns();
}

static __always_inline void begins_to_hold(u64 mm, bool write, bool success)
{
	struct thread *thread;
	u64 now;

	if (!is_watched(mm))
		return;
	thread = toucher();
	if (!thread)
		return;
	now = bpf_ktime_get_ns();
	if (thread->wait_mm == mm) {
		tell_waited(thread, now);
		thread->wait_mm = 0;
	} else if (thread->hold_mm == mm) {
		/* From writing to reading without releasing the lock. */
		tell_held(thread, now);
	}
	if (!success)
		return;
	thread->hold_write = write;
	thread->hold_from = !write && thread->granted ? thread->granted : now;
	thread->granted = 0;
	thread->hold_mm = mm;
}

static __always_inline void lets_go(u64 mm)
{
	struct thread *thread;

	if (!is_watched(mm))
		return;
	thread = toucher();
	if (!thread || thread->hold_mm != mm)
		return;
	tell_held(thread, bpf_ktime_get_ns());
	thread->hold_mm = 0;
}

/* On some kernels the name of the memory group comes after the address space. A program that
 * reads a missing argument cannot be attached, so each program has a variant. */
SEC("raw_tp/mmap_lock_start_locking")
int on_lock_start(u64 *ctx)
{
	begins_to_wait(ctx[0], ctx[1] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_start_locking")
int on_lock_start_group(u64 *ctx)
{
	begins_to_wait(ctx[0], ctx[2] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_acquire_returned")
int on_lock_returned(u64 *ctx)
{
	begins_to_hold(ctx[0], ctx[1] & 1, ctx[2] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_acquire_returned")
int on_lock_returned_group(u64 *ctx)
{
	begins_to_hold(ctx[0], ctx[2] & 1, ctx[3] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_released")
int on_lock_released(u64 *ctx)
{
	lets_go(ctx[0]);
	return 0;
}

#endif
