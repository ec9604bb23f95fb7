/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Threads that have to free memory before they get any: for the machine, or for their group. */
#ifndef TAILBACK_WATCH_RECLAIM_H
#define TAILBACK_WATCH_RECLAIM_H

#include "watch_tables.h"

static __always_inline void begins_to_reclaim(void)
{
	struct thread *thread = entry_of(bpf_get_current_task_btf());

	if (thread && !thread->reclaims_from)
		thread->reclaims_from = bpf_ktime_get_ns();
}

static __always_inline void ends_reclaim(bool of_group)
{
	struct thread *thread = entry_of(bpf_get_current_task_btf());
	u64 ns;

	if (!thread || !thread->reclaims_from)
		return;
	ns = bpf_ktime_get_ns() - thread->reclaims_from;
	thread->reclaims_from = 0;
	thread->reclaim += ns;
	if (of_group)
		thread->group_reclaim += ns;
	keep_worst(thread->reclaim_worst, thread->reclaim_worst_of, ns);
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int watch_reclaim(void *ctx)
{
	begins_to_reclaim();
	return 0;
}

SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int watch_reclaim_end(void *ctx)
{
	ends_reclaim(false);
	return 0;
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int watch_group_reclaim(void *ctx)
{
	begins_to_reclaim();
	return 0;
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int watch_group_reclaim_end(void *ctx)
{
	ends_reclaim(true);
	return 0;
}

#endif
