/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Threads that are runnable when watching begins. No wake-up shows such a thread, and if it never
 * gets a CPU, nothing else would show it. */
#ifndef TAILBACK_WATCH_BEGIN_H
#define TAILBACK_WATCH_BEGIN_H

#include "watch_sched.h"

struct bpf_iter_meta;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

static __always_inline bool stands_ready(struct task_struct *task)
{
	struct task_struct___watch *of = (void *)task;

	return bpf_core_field_exists(of->on_cpu) && of->on_rq == 1 && !of->on_cpu && !state_of(task);
}

/* Called once for each thread, when the other programs are attached. */
SEC("iter/task")
int watch_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread;

	if (!task || !task->pid || !stands_ready(task))
		return 0;
	thread = entry_of(task);
	if (thread && thread->state == UNKNOWN)
		becomes_ready(thread, task, cpu_of(task), bpf_ktime_get_ns());
	/* It was given a CPU in between. */
	if (thread && ((struct task_struct___watch *)task)->on_cpu)
		thread->state = UNKNOWN;
	return 0;
}

#endif
