/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Threads that sleep while they move a process between control groups. For a move the kernel takes
 * a lock, which may wait for an RCU grace period. The tracepoint of a move comes when it is done,
 * so the sleep that was part of it is kept until then. */
#ifndef TAILBACK_WATCH_MOVE_H
#define TAILBACK_WATCH_MOVE_H

#include "watch_chain.h"

/* Most time between the last sleep of a move and its end, counted from when the thread last got a
 * CPU. */
#define MOVED_WITHIN 5000000

/* Tells a system call of a thread from its other ones, without seeing where they begin and end: by
 * the call's number, its first argument (here the file) and the stack where it was made. A write to
 * another file that uses the same descriptor in the same place looks the same. Only for kernels
 * that tell in which call a task is. */
static __always_inline u64 this_call(struct task_struct *task)
{
	struct pt_regs___watch *regs = (void *)bpf_task_pt_regs(task);

	return (regs->sp * 31 + FIRST_ARGUMENT(regs)) * 31 + (u64)CALL_OF(regs);
}

/* Whether an uninterruptible sleep has another cause than a move: memory, or a device. Kernel
 * threads are left out first: their idle sleep is uninterruptible too, and they wake up often. */
static __always_inline bool sleeps_for_other(struct thread *thread, struct task_struct *task)
{
	struct task_struct___watch *of = (void *)task;

	if (of->flags & KERNEL_THREAD || thread->waits_for != NO_MEMORY || thread->reclaims_from)
		return true;
	return bpf_core_field_exists(of->in_iowait) && BPF_CORE_READ_BITFIELD(of, in_iowait);
}

/* An uninterruptible sleep of `slept` nanoseconds is over. A move may have several in a row: for
 * the lock of all groups, for the grace period, and for threads that fork or end. So a sleep in the
 * same call soon after another one is added to it. If the thread waits long for a CPU between the
 * two, only the last sleep is kept. */
static __always_inline void may_have_moved(struct thread *thread, struct task_struct *task,
					   u64 slept, u64 now)
{
	u64 call;

	/* Older kernels do not load the program that uses these sleeps. */
	if (!knows_calls() || sleeps_for_other(thread, task))
		return;
	call = this_call(task);
	if (call != thread->hard_call || after(thread->since, thread->hard_to) >= SHORT_RUN)
		thread->hard_ns = 0;
	thread->hard_call = call;
	thread->hard_ns += slept;
	thread->hard_to = now;
}

/* The current thread has moved a process, or a thread. A sleep counts once, and only if it was in
 * this call and the thread has not slept again since. */
SEC("raw_tp/cgroup_attach_task")
int watch_move(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread;
	u64 ns;

	if (((struct task_struct___watch *)task)->flags & KERNEL_THREAD)
		return 0;
	thread = entry_of(task);
	if (!thread || !thread->hard_ns || thread->asleep_from > thread->hard_to)
		return 0;
	ns = thread->hard_ns;
	thread->hard_ns = 0;
	if (thread->hard_call != this_call(task) ||
	    after(bpf_ktime_get_ns(), thread->since) >= MOVED_WITHIN)
		return 0;
	thread->move_ns += ns;
	thread->moves++;
	keep_worst(thread->move_worst, thread->move_worst_of, ns);
	return 0;
}

#endif
