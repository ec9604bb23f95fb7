/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Threads that stop for memory. They reclaim memory before they get any, for the machine or for
 * their group; or they move other pages to get contiguous free ones (compaction); or they sleep
 * until pages that were taken from them are read back. */
#ifndef TAILBACK_WATCH_RECLAIM_H
#define TAILBACK_WATCH_RECLAIM_H

#include "watch_chain.h"

/* Kernel threads reclaim and compact memory in the background, and nothing waits for them. */
static __always_inline void begins_to_reclaim(enum reclaim_of of)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread;

	if (((struct task_struct___watch *)task)->flags & KERNEL_THREAD)
		return;
	thread = entry_of(task);
	if (!thread || thread->reclaims_from)
		return;
	thread->reclaims_of = of;
	thread->reclaims_from = bpf_ktime_get_ns();
}

static __always_inline void ends_reclaim(enum reclaim_of of)
{
	struct thread *thread = entry_of(bpf_get_current_task_btf());
	u64 ns;

	if (!thread || !thread->reclaims_from)
		return;
	ns = after(bpf_ktime_get_ns(), thread->reclaims_from);
	thread->reclaims_from = 0;
	if (of == OF_COMPACTION)
		thread->compaction += ns;
	else
		thread->reclaim += ns;
	if (of == OF_GROUP)
		thread->group_reclaim += ns;
	keep_worst(thread->memory_worst, thread->memory_worst_of, ns);
}

/* The thread begins an uninterruptible sleep. Sleep during its own reclaim is already counted
 * there. */
static __always_inline void may_wait_for_memory(struct thread *thread, struct task_struct *task)
{
	struct task_struct___watch *of = (void *)task;

	thread->waits_for = NO_MEMORY;
	if (thread->reclaims_from || of->flags & KERNEL_THREAD)
		return;
	if (bpf_core_field_exists(of->in_memstall) && BPF_CORE_READ_BITFIELD(of, in_memstall))
		thread->waits_for = MARKED_MEMORY;
	else if (knows_calls() && bpf_core_field_exists(of->in_iowait) &&
		 BPF_CORE_READ_BITFIELD(of, in_iowait) && any_call_of(task) < 0)
		thread->waits_for = PAGE_READ;
}

static __always_inline void waited_for_memory(struct thread *thread, u64 ns)
{
	if (thread->waits_for == NO_MEMORY)
		return;
	if (thread->waits_for == MARKED_MEMORY) {
		thread->memory += ns;
	} else {
		thread->fault += ns;
		thread->faults++;
	}
	keep_worst(thread->memory_worst, thread->memory_worst_of, ns);
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int watch_reclaim(void *ctx)
{
	begins_to_reclaim(OF_MACHINE);
	return 0;
}

SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int watch_reclaim_end(void *ctx)
{
	ends_reclaim(OF_MACHINE);
	return 0;
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int watch_group_reclaim(void *ctx)
{
	begins_to_reclaim(OF_GROUP);
	return 0;
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int watch_group_reclaim_end(void *ctx)
{
	ends_reclaim(OF_GROUP);
	return 0;
}

SEC("raw_tp/mm_compaction_begin")
int watch_compaction(void *ctx)
{
	begins_to_reclaim(OF_COMPACTION);
	return 0;
}

SEC("raw_tp/mm_compaction_end")
int watch_compaction_end(void *ctx)
{
	ends_reclaim(OF_COMPACTION);
	return 0;
}

#endif
