/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* When a group is throttled on a CPU: from the switch that finds its quota used up until the
 * quota is given back. If that cannot be seen, until a thread of the group is seen unthrottled
 * there. */
#ifndef TAILBACK_QUOTA_H
#define TAILBACK_QUOTA_H

#include "tables.h"

static __always_inline u64 throttled_until(struct cpu *cpu, u64 now)
{
	u64 since = cpu->throttled_since;

	return cpu->throttled_ns + (since && now > since ? now - since : 0);
}

static __always_inline void end_throttle(struct cpu *cpu, u32 number, u64 queue, u64 now)
{
	u64 since = cpu->throttled_since;
	struct event *out;

	if (!since || cpu->queue != queue || now <= since)
		return;
	cpu->throttled_ns += now - since;
	cpu->throttled_since = 0;
	out = event(&threads[cpu->throttled_tid & (THREADS - 1)], THROTTLED, since, now);
	if (!out)
		return;
	out->cpu = number;
	send(out);
}

/* Checks whether the quota of this thread's group is used up on its CPU. */
static __always_inline void look_at_quota(struct task_struct *task, struct cpu *cpu, u32 number,
					  u64 now)
{
	u64 queue;

	if (!quota)
		return;
	queue = queue_of(task);
	if (!is_throttled(task)) {
		end_throttle(cpu, number, queue, now);
	} else if (!cpu->throttled_since) {
		cpu->queue = queue;
		cpu->throttled_tid = task->pid;
		cpu->throttled_since = now;
	}
}

/* Adds the part of a runnable time in which the quota kept the thread from running on that
 * CPU. */
static __always_inline void caught(struct thread *thread, struct cpu *there, bool moved, u64 waited,
				   u64 now)
{
	u64 until = throttled_until(there, now);
	u64 ns = until > thread->throttled_mark ? until - thread->throttled_mark : 0;

	/* It runs elsewhere while the quota of that CPU is still used up: so it was woken onto
	 * another CPU and never waited there. */
	if (!quota || !ns || (moved && there->throttled_since))
		return;
	thread->throttles++;
	thread->throttled_ns += ns < waited ? ns : waited;
}

/* Some kernels lack this function. Then the end is seen when a thread of the group runs or
 * becomes runnable again. */
SEC("fentry/unthrottle_cfs_rq")
int BPF_PROG(on_unthrottle, struct cfs_rq *queue)
{
	u32 number;

	if (!bpf_core_field_exists(queue->rq) || !bpf_core_field_exists(queue->rq->cpu))
		return 0;
	number = BPF_CORE_READ(queue, rq, cpu);
	end_throttle(&cpus[number & (CPUS - 1)], number, (u64)queue, bpf_ktime_get_ns());
	return 0;
}

#endif
